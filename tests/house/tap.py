# SPDX-License-Identifier: BSD-2-Clause
"""TAP for the house tests, and their shared code: the tree's files, and running a command."""
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
    """Prints one test's result. It passes if there are no faults (lines that describe what is
    wrong)."""
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
    """Returns status and output; 127 if the command does not exist."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    except FileNotFoundError as error:
        return 127, str(error)
    return done.returncode, done.stdout


def faults_of(command, **options):
    """Returns nothing if the command succeeds, otherwise the command and its output."""
    status, output = run(command, **options)
    return [] if status == 0 else [" ".join(command), output or f"exit status {status}"]


def rows(table):
    """Returns the rows of one of the program's tables (ringside list --table)."""
    status, output = run([os.path.join(os.path.abspath(BUILD), "ringside"), "list", "--json",
                        "--table", table])
    if status:
        raise RuntimeError(output)
    return [json.loads(line) for line in output.splitlines()]


HEXADECIMAL = re.compile("0x[0-9a-f]+")


def event(line):
    """Returns an event of print --json, with hex strings in its arguments as numbers."""
    shown = json.loads(line)
    for name, value in shown["args"].items():
        if isinstance(value, str) and HEXADECIMAL.fullmatch(value):
            shown["args"][name] = int(value, 16)
    return shown


def files(*folders, ends=(".c", ".h")):
    """Yields paths, from the top, of files under these folders with these endings."""
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(TOP, folder)):
            inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
            for name in sorted(names):
                if name.endswith(tuple(ends)):
                    yield os.path.relpath(os.path.join(where, name), TOP)


def lines(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")
