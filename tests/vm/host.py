# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of this host's own KVM: whether it can be used, guests with known exits
(tests/kvm/workload.c), and waits with a limit. Processes that a test has started end with it,
however it ends, because a remaining one would hold its output open, and a reader of that would
block."""
import atexit
import json
import os
import subprocess
import sys
import tempfile
import time

import machine
from machine import BUILD, LIMIT_S, RINGSIDE
from tracefs import mount_in_namespace

WORKLOAD = os.path.join(BUILD, "tests", "kvm", "workload")


def skip(why):
    """Ends the test here."""
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def need(verb, command=None):
    """Ends the test if this verb cannot work, and prints what is missing. `command`: what the test
    runs, if it needs the same as the verb."""
    mount_in_namespace()
    machine.need_kvm()
    done = subprocess.run([RINGSIDE, "doctor", "--json"], stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, timeout=LIMIT_S)
    doctor = json.loads(done.stdout)
    row = next(row for row in doctor["rows"] if row["verb"] == verb)
    if not row["works"]:
        missing = dict.fromkeys(check["missing"] for check in doctor["checks"] if check["vital"]
                                and not check["met"] and verb in check["needed_by"])
        skip(f"{command or verb} cannot work here: {'; '.join(missing)}")


def wait_for(what, good):
    end = time.monotonic() + LIMIT_S
    while not good():
        if time.monotonic() > end:
            raise RuntimeError(f"no {what} after {LIMIT_S} s")
        time.sleep(0.01)


def begin(command, **options):
    """A process in the background, by default without input."""
    process = subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **options})
    atexit.register(end, process)
    return process


HOG = """import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
parent = os.getppid()
print(flush=True)
while os.getppid() == parent:
    pass"""


def hog(cpu):
    """A process that has this CPU before all others. Linux leaves them a twentieth of its time."""
    process = begin([sys.executable, "-c", HOG, str(cpu)], stdout=subprocess.PIPE)
    if not process.stdout.readline():
        raise RuntimeError(f"no real-time process on CPU {cpu}")
    return process


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait(LIMIT_S)


class Workload:
    """Guests that wait for the command to go, and stay until the command to quit. Their VMs' names
    contain the test's PID, and end with -vm0, -vm1, because this host may have other VMs."""

    def __init__(self, folder, *options):
        self.where = tempfile.mkdtemp(dir=folder)
        self.process = begin([WORKLOAD, "--no-hypercall", "--prefix", f"t{os.getpid() % 10 ** 6}",
                              *options, self.where])
        wait_for("workload", lambda: self.has("workload.json"))
        with open(os.path.join(self.where, "workload.json"), encoding="utf-8") as file:
            self.vms = json.load(file)["vms"]

    def has(self, name):
        if self.process.poll():
            raise RuntimeError(f"workload: exit {self.process.returncode}")
        return os.path.exists(os.path.join(self.where, name))

    def send(self, name):
        with open(os.path.join(self.where, name), "w", encoding="utf-8"):
            pass

    def run(self):
        self.send("go")
        wait_for("end of the guests", lambda: self.has("done"))

    def end(self):
        self.send("quit")
        self.process.wait(LIMIT_S)

    def vcpus(self):
        for vm in self.vms:
            for vcpu in vm["vcpus"]:
                yield vm, vcpu
