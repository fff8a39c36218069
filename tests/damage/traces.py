# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of damaged traces: makes and reads traces, and checks invariants."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "house"))
import tap  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
RINGSIDE = os.path.join(BUILD, "ringside")
PRODUCER = os.path.join(BUILD, "tests", "damage", "producer")
COMPARE = os.path.join(tap.TOP, "tests", "trace", "compare_bt2.py")
LOST = "app:trace::records-lost"
PARTIAL = 3
GOLDEN = 0x9e3779b97f4a7c15
PER_RECORD = 4  # span begin, numbered, bare, span end


def read(trace):
    """Returns print's exit status, its events by thread in order, and its messages."""
    done = subprocess.run([RINGSIDE, "print", "--json", trace], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False)
    threads = {}
    for line in done.stdout.splitlines():
        event = tap.event(line)
        threads.setdefault(event["tid"], []).append(event)
    return done.returncode, threads, done.stderr


def lost(events):
    return sum(event["args"]["count"] for event in events if event["probe"] == LOST)


def sequence_faults(threads):
    """Each number occurs once, in order, with the right checksum; a number is missing only next to
    a loss."""
    for tid, events in threads.items():
        expected, losses = 0, 0
        for event in events:
            if event["probe"] == LOST:
                losses += event["args"]["count"]
            elif event["probe"] == "app:seq::numbered":
                n = event["args"]["n"]
                if int(event["args"]["check"]) != n * GOLDEN % 2 ** 64:
                    yield f"thread {tid}: record {n} has another's check"
                if n < expected:
                    yield f"thread {tid}: record {n} after {expected - 1}"
                if n - expected > losses:
                    yield f"thread {tid}: {expected} to {n - 1} are missing, {losses} lost are reported"
                if n > expected:
                    losses = 0
                expected = n + 1


def agree(trace):
    """Returns whether babeltrace2 reads the same events; None without babeltrace2."""
    done = subprocess.run([sys.executable, COMPARE, RINGSIDE, trace], capture_output=True,
                          text=True, check=False)
    return None if done.returncode == 77 else [done.stdout + done.stderr] if done.returncode else []


def repair(trace):
    return tap.faults_of([RINGSIDE, "repair", trace])
