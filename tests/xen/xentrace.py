# SPDX-License-Identifier: BSD-2-Clause
"""A reader of xentrace's files that is independent of Ringside's, the captures in the corpus, and
shared code of their tests."""
import collections
import json
import lzma
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "house"))
import tap  # noqa: E402

CORPUS = os.path.join(tap.TOP, "tests", "corpus", "xen")
RINGSIDE = os.path.join(os.path.abspath(tap.BUILD), "ringside")
HZ = 2596125000
CPU_CHANGE, WRAP = 0x1f003, 0x1f002
CAPTURES = ("P1-credit1-4s", "L2-lost-tbuf1-credit", "S0-dom0-all-4s-lostatstart",
            "N-hvm-steady-4s", "4cpu-E-pvh-pv-dom0-5s")


def unpacked(name):
    """Returns the bytes of a file of the corpus."""
    with lzma.open(os.path.join(CORPUS, name + ".xz")) as file:
        return file.read()


def windows(data):
    """Yields (cpu, offset, bytes) of each window, without its head."""
    at = 0
    while at < len(data):
        head, cpu, size = struct.unpack_from("<III", data, at)
        if head != 0x20000000 | CPU_CHANGE:
            raise ValueError(f"no window at {at:#x}")
        yield cpu, at + 12, data[at + 12:at + 12 + size]
        at += 12 + size


def records(data):
    """Yields (cpu, event, words, TSC or None) of each record, in the file's order; WRAP without its
    words."""
    for cpu, _, window in windows(data):
        yield cpu, CPU_CHANGE, (cpu, len(window)), None
        at = 0
        while at < len(window):
            head, = struct.unpack_from("<I", window, at)
            n, stamped, event = head >> 28 & 7, head >> 31, head & 0x0fffffff
            at += 4
            tsc = struct.unpack_from("<Q", window, at)[0] if stamped else None
            at += 8 * stamped
            words = struct.unpack_from(f"<{n}I", window, at)
            at += 4 * n
            yield cpu, event, words if event != WRAP else (0,) * n, tsc


def in_babeltrace(trace):
    """Returns babeltrace2's counts for a trace directory, by probe and Xen's number."""
    done = subprocess.run(["babeltrace2", "--no-delta", trace], capture_output=True, text=True,
                          check=False)
    return collections.Counter(
        re.search(r"(xdt|xen):[^ ]+(?=: \{)", line).group(0) + " "
        + str(int(re.search(r"xen = \{ event = 0x([0-9A-F]+)", line).group(1), 16))
        for line in done.stdout.splitlines())


def restamped(data, stamp):
    """Returns the file with other stamps: stamp(cpu, TSC)."""
    made, at = bytearray(data), 0
    while at < len(made):
        _, cpu, size = struct.unpack_from("<III", made, at)
        end = at + 12 + size
        at += 12
        while at < end:
            head, = struct.unpack_from("<I", made, at)
            if head >> 31:
                tsc, = struct.unpack_from("<Q", made, at + 4)
                struct.pack_into("<Q", made, at + 4, stamp(cpu, tsc))
            at += 4 + 8 * (head >> 31) + 4 * (head >> 28 & 7)
    return bytes(made)


def printed(path, *options, stdin=None):
    """Returns status, events and warnings of ringside print --json. With --tsc, ts is the raw
    stamp."""
    done = subprocess.run([RINGSIDE, "print", "--json", *options, path], input=stdin,
                          capture_output=True, check=False)
    events = [tap.event(line) for line in done.stdout.splitlines()]
    for event in events:
        event["ts"] = event.pop("tsc", event["ts"])
    return done.returncode, events, done.stderr.decode()
