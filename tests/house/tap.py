# SPDX-License-Identifier: BSD-2-Clause
"""TAP for the house tests, and what they share: the tree's files and how to run a command."""
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

_results = []


def check(name, faults):
    """One test: it passed when there are no faults (lines that say what is wrong)."""
    faults = list(faults)
    for fault in faults:
        for line in str(fault).splitlines():
            print("#", line)
    _results.append(not faults)
    print(f"{'not ' if faults else ''}ok {len(_results)} - {name}")
    sys.stdout.flush()


def skip(name, why):
    _results.append(True)
    print(f"ok {len(_results)} - {name} # SKIP {why}")


def end():
    print(f"1..{len(_results)}")
    sys.exit(not all(_results))


def run(command, **options):
    """Status and what was said; 127 when there is no such command."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    except FileNotFoundError as error:
        return 127, str(error)
    return done.returncode, done.stdout


def faults_of(command, **options):
    """Nothing when the command succeeded, else the command and what it said."""
    status, said = run(command, **options)
    return [] if status == 0 else [" ".join(command), said or f"exit status {status}"]


def rows(table):
    """The rows of a table of the program's own (ringside list --table)."""
    status, said = run([os.path.join(os.path.abspath(BUILD), "ringside"), "list", "--json",
                        "--table", table])
    if status:
        raise RuntimeError(said)
    return [json.loads(line) for line in said.splitlines()]


HEXADECIMAL = re.compile("0x[0-9a-f]+")


def event(line):
    """An event of print --json. Its arguments in hex are strings there; here they are numbers."""
    shown = json.loads(line)
    for name, value in shown["args"].items():
        if isinstance(value, str) and HEXADECIMAL.fullmatch(value):
            shown["args"][name] = int(value, 16)
    return shown


def files(*folders, ends=(".c", ".h")):
    """Paths, from the top, of the tree's files under folders whose names end so."""
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(TOP, folder)):
            inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
            for name in sorted(names):
                if name.endswith(tuple(ends)):
                    yield os.path.relpath(os.path.join(where, name), TOP)


def lines(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")
