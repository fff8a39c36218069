# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of the micro-VM: runs guests and reads their traces. guests.py checks their
content."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "house"))
import tap  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
RINGSIDE = os.path.join(BUILD, "ringside")
COMPARE = os.path.join(tap.TOP, "tests", "trace", "compare_bt2.py")
GUESTS = os.path.join(BUILD, "examples", "guests")
HAND_OVERS = ("doorbell", "shared")
OK, FAILED, USAGE, PARTIAL = 0, 1, 2, 3  # exit statuses
LIMIT_S = 900  # no test times anything; this limit ends a test that hangs
LOST = "guest:trace::records-lost"


def need_kvm():
    """Ends the test if this machine has no usable KVM."""
    try:
        with open("/dev/kvm", "r+b", buffering=0):
            return
    except OSError as error:
        print(f"1..0 # SKIP no /dev/kvm to boot guests with: {error.strerror}")
        sys.exit(0)


def events_of(trace, status=OK):
    """Returns a trace's events, in the order of print, which must end with this status."""
    done = subprocess.run([RINGSIDE, "print", "--json", trace], capture_output=True, text=True,
                          errors="replace", timeout=LIMIT_S, check=False)
    if done.returncode != status:
        raise RuntimeError(f"print {trace}: exit {done.returncode}\n{done.stderr}")
    return [tap.event(line) for line in done.stdout.splitlines()]


class Ran:
    """A run that ended: its status, output, --json object and trace."""

    def __init__(self, command, trace, status, out, err):
        self.trace, self.status, self.out, self.err = trace, status, out, err
        self.summary = None
        if "--json" in command and self.out:
            self.summary = json.loads(self.out)
        self.output = f"{' '.join(command)}: exit {self.status}\n{self.out}{self.err}"

    def events(self, status=OK):
        return events_of(self.trace, status)


def execute(command, trace):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=LIMIT_S, check=False)
    return Ran(command, trace, done.returncode, done.stdout, done.stderr)


class Machine:
    """Runs guests; their traces are removed at its end."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.runs = 0

    def __enter__(self):
        return self

    def __exit__(self, raised, *_):
        if not raised:
            self.compare()
        self.directory.cleanup()

    def compare(self):
        """babeltrace2 must read each trace of these runs as print does."""
        name = "babeltrace2 reads each trace as print does"
        traces = sorted(path for path in glob.glob(self.path("*"))
                        if os.path.exists(os.path.join(path, "metadata")))
        if not traces:
            return
        done = subprocess.run([sys.executable, COMPARE, RINGSIDE, *traces], capture_output=True,
                              text=True, errors="replace", timeout=LIMIT_S, check=False)
        if done.returncode == 77:
            tap.skip(name, done.stdout.strip())
        else:
            tap.check(f"{name}: {len(traces)}",
                      [done.stdout + done.stderr] if done.returncode else [])

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def command(self, guest, *call, options=(), record=True):
        """Returns the command line, and the trace that it makes."""
        self.runs += 1
        trace = self.path(f"trace{self.runs}") if record else None
        path = guest if "/" in guest else os.path.join(GUESTS, guest)
        return ([RINGSIDE, "run", *(["--record", trace] if record else []), *options, path,
                 *map(str, call)], trace)

    def run(self, guest, *call, options=(), record=True, json_too=True):
        command, trace = self.command(guest, *call, options=options, record=record)
        return execute(command[:2] + (["--json"] if json_too else []) + command[2:], trace)


def of_vcpu(events, vcpu):
    """Returns the guest's own events on a vCPU; events of the VMM's thread have the same vcpu."""
    return [event for event in events
            if event["vcpu"] == vcpu and event["probe"].startswith("guest:")]


def named(events, probe):
    return [event for event in events if event["probe"] == probe]


def number(value):
    """Returns a number, also from a text in hex."""
    return int(value, 0) if isinstance(value, str) else value


def lost(events):
    """Returns the number of lost records in the trace, in all streams."""
    return sum(number(event["args"]["count"]) for event in events
               if event["probe"].endswith(":trace::records-lost"))


def unsorted(events):
    """Yields faults in the order of time."""
    for one, next_one in zip(events, events[1:]):
        if next_one["ts"] < one["ts"]:
            yield f"goes back in time: {one} {next_one}"


def differ(what, got, expected):
    if got != expected:
        yield f"{what}: {got!r}, expected {expected!r}"
