# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of faults: runs the emitter, and checks invariants of its trace."""
import os
import re
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "house"))
import tap  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
RINGSIDE = os.path.join(BUILD, "ringside")
EMITTER = os.path.join(BUILD, "tests", "faults", "emitter")
FAILING = os.path.join(BUILD, "tests", "faults", "failing.so")
BAD_DISK = os.path.join(BUILD, "tests", "faults", "bad_disk.so")
COMPARE = os.path.join(TESTS, "trace", "compare_bt2.py")
LOST = "app:trace::records-lost"
UNSAID = re.compile(r"(\d+) records? lost at its end")
DESCRIPTORS = 1024  # a reader's message


def command(trace, **options):
    return [EMITTER, trace, *(f"{name}={value}" for name, value in options.items())]


class Run:
    """The result of an emitter."""

    def __init__(self, status, out, err):
        self.status, self.err = status, err
        words = out.split("emitted", 1)[-1].split()
        self.figures = dict(zip(("emitted", "kept", "lost", "streams"), map(int, words[0:8:2]))) \
            if words else {}
        self.resident = [int(word) for word in words[8:]] if words else []
        self.emitted, self.kept, self.lost, self.streams = (
            self.figures.get(name, -1) for name in ("emitted", "kept", "lost", "streams"))

    def adds_up(self):
        return [] if self.figures and self.kept + self.lost == self.emitted else [
            f"exit {self.status}, {self.figures}", self.err]


def run(trace, preload=None, between=None, **options):
    """Runs the emitter to its end. Calls `between` after half of the waves."""
    env = {**os.environ, **({"LD_PRELOAD": preload} if preload else {})}
    with subprocess.Popen(command(trace, **options, **({"ask": 1} if between else {})), env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        if between:
            process.stdout.readline()
            between(process)
        out, err = process.communicate("\n" if between else None)
    return Run(process.returncode, out, err)


def read(trace):
    """Returns what print shows: records by thread, losses in and beside the streams, faults, the
    exit status and the messages."""
    limited = f"ulimit -n {DESCRIPTORS} && exec \"$@\""
    done = subprocess.run(["sh", "-c", limited, "sh", RINGSIDE, "print", "--json", "--quiet", trace],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    shown, lost, faults, last = 0, 0, [], {}
    for line in done.stdout.splitlines():
        event = tap.event(line)
        args = event["args"]
        if event["probe"] == LOST:
            lost += args["count"]
        elif event["probe"] == "app:seq::numbered":
            shown += 1
            if args["self"] != event["tid"]:
                faults.append(f"an event of thread {args['self']} is shown as {event['tid']}'s")
            if args["n"] and args["n"] <= last.get(event["tid"], -1):
                faults.append(f"thread {event['tid']}: {args['n']} after {last[event['tid']]}")
            last[event["tid"]] = args["n"]
    unsaid = UNSAID.search(done.stderr)
    return shown, lost + (int(unsaid[1]) if unsaid else 0), faults[:5], done.returncode, done.stderr


def readable(trace, ran):
    """Faults of a trace as print shows it."""
    shown, lost, faults, status, output = read(trace)
    if shown != ran.kept:
        faults.append(f"print shows {shown} records, {ran.kept} were kept")
    if lost != ran.lost:
        faults.append(f"print reports {lost} lost records, {ran.lost} were")
    if status not in (0, 3):
        faults.append(f"print: exit {status}: {output}")
    return faults


def babeltrace2(name, trace):
    """Checks that babeltrace2 reads the same events."""
    done = subprocess.run([sys.executable, COMPARE, RINGSIDE, trace], capture_output=True,
                          text=True, check=False)
    if done.returncode == 77:
        tap.skip(f"{name}: babeltrace2 reads the same events", "no python3-bt2")
    else:
        tap.check(f"{name}: babeltrace2 reads the same events",
                  [done.stdout + done.stderr] if done.returncode else [])


def whole(name, trace, ran, failed=None):
    """The checks that every run must pass. failed: part of the recorder's expected error; None: no
    error."""
    tap.check(f"{name}: {ran.kept} kept and {ran.lost} lost equal {ran.emitted} emitted",
              ran.adds_up())
    good = ran.status == 0 if failed is None else ran.status == 1 and failed in ran.err
    tap.check(f"{name}: the recorder " + ("succeeds" if failed is None else "reports the failure"),
              [] if good else [f"exit {ran.status}", ran.err])
    tap.check(f"{name}: print shows kept records and reports lost ones",
              readable(trace, ran))
