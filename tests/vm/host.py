# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of this host's own KVM share: whether it can be seen, guests whose exits are known
beforehand (tests/kvm/workload.c), and waits that end. Processes that a test has begun end with it,
however it ends: one that stayed would hold its output open, and a reader of that would wait."""
import atexit
import json
import os
import subprocess
import sys
import tempfile
import time

import machine
from machine import BUILD, LIMIT_S, RINGSIDE
from tracefs import see_the_kernel

WORKLOAD = os.path.join(BUILD, "tests", "kvm", "workload")


def skip(why):
    """Ends the test here."""
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def need(verb, command=None):
    """Ends the test here where this verb cannot work, and prints what is missing. `command`: what the
    test runs, where that needs the same as the verb."""
    see_the_kernel()
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
    """A process in the background, without input if not told otherwise."""
    process = subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **options})
    atexit.register(end, process)
    return process


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait(LIMIT_S)


class Workload:
    """Guests that wait for the command to go, and stay until the command to quit. Their VMs' names
    are this test's own, and end with -vm0, -vm1: this host may have other VMs."""

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

    def say(self, name):
        with open(os.path.join(self.where, name), "w", encoding="utf-8"):
            pass

    def run(self):
        self.say("go")
        wait_for("end of the guests", lambda: self.has("done"))

    def end(self):
        self.say("quit")
        self.process.wait(LIMIT_S)

    def vcpus(self):
        for vm in self.vms:
            for vcpu in vm["vcpus"]:
                yield vm, vcpu
