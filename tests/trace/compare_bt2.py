#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_bt2.py RINGSIDE DIR...: compares babeltrace2 and ringside on each trace.

Reads each trace directory with babeltrace2's own decoder and with `RINGSIDE print --json`, and
compares event by event, stream by stream: number, order, names, every field, the clock in cycles.
Then it compares Ringside's times in nanoseconds with exact arithmetic, and the losses of both.

Only CTF has the `X_length` before a text X. A name or an enumeration is a label in both, or a
number if it has no label. A label or a text that is not UTF-8 is compared as JSON requires: each
invalid byte is a '?'. babeltrace2 ends a text at a NUL.

Exit status: 0 they agree, 1 they differ (or one cannot read it), 2 usage error, 77 no babeltrace2
for Python here. print may exit with 3, because a repaired trace may still report losses.
"""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction

DEBIANS = "/usr/bin/python3"
REPORTS_MAX = 20
# babeltrace2 converts cycles to ns in double: this many ns off at 2e18.
DOUBLE_NS = 512
# Traces of a recorder whose first packet could have lost something, as those of our examples.
OLDER = os.environ.get("OLDER_TRACES")
UNNAMED = re.compile("0x[0-9a-f]+|#?-?[0-9]+")

try:
    import bt2
except ImportError:
    # Debian's package only works with Debian's interpreter.
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIANS) and os.path.exists(DEBIANS):
        os.execv(DEBIANS, [DEBIANS, *sys.argv])
    print("there is no babeltrace2 for Python (Debian: python3-bt2)")
    sys.exit(77)


class Differ(Exception):
    """A difference between the two."""


def mended(data):
    """Converts bytes as our JSON does: each byte that is not UTF-8 becomes '?'."""
    out, at = "", 0
    while at < len(data):
        for length in (1, 2, 3, 4):
            try:
                out += data[at:at + length].decode("utf-8")
                at += length
                break
            except UnicodeDecodeError:
                continue
        else:
            out += "?"
            at += 1
    return out


def raw(text):
    """Returns the bytes from which babeltrace2's bindings made a str."""
    return text.encode("utf-8", "surrogateescape")


# ---- the two readers -----------------------------------------------------------------------


class Description:
    """Reads ringside/describe, as far as needed to distinguish streams."""

    def __init__(self, directory):
        self.clocks, self.classes, self.streams = {}, {}, {}
        self.owners, self.joins = {}, {}  # by stream: the lines of its later owners; by identity
        self.threads = {}  # by provider and tid: (from, number of the line, vm, vcpu)
        with open(os.path.join(directory, "ringside", "describe"), encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    break
                for kind, what in json.loads(line).items():
                    table = {"clock": self.clocks, "class": self.classes,
                             "stream": self.streams}.get(kind)
                    if table is not None:
                        table[what["index"]] = what
                    if kind == "owner":
                        self.owners.setdefault(what["stream"], []).append(what)
                    if kind == "thread":
                        provider = self.classes[what["class"]]["provider"]
                        of_tid = self.threads.setdefault(provider, {}).setdefault(what["tid"], [])
                        of_tid.append((what["from"], len(of_tid), what["vm"], what["vcpu"]))

        self.join_owners()

    def clock(self, stream):
        return self.clocks[self.classes[self.streams[stream]["class"]]["clock"]]

    def identity(self, stream, owner=None):
        """Returns the part of an identity that a line of print --json, or an owner of the stream,
        has."""
        s = {**self.streams[stream], **(owner or {})}
        provider = self.classes[s["class"]]["provider"]
        if provider in self.threads:
            return (provider, "cpu", None if s["cpu"] < 0 else s["cpu"])
        return (provider, s["vm"], *(None if s[key] < 0 else s[key] for key in ("vcpu", "tid")))

    def joined(self, identity):
        """Returns one identity for all that share a stream, because babeltrace2 does not
        distinguish them."""
        while self.joins.get(identity, identity) != identity:
            identity = self.joins[identity]
        return identity

    def join_owners(self):
        for stream, owners in self.owners.items():
            for owner in owners:
                one, other = (self.joined(self.identity(stream, of)) for of in (None, owner))
                self.joins[one] = other

    def line_identity(self, line, tsc):
        """Returns the same for a line of print --json. If a stream holds events of several threads,
        each line must have its own thread's VM and vCPU."""
        provider = line["probe"].split(":")[0]
        if provider not in self.threads:
            return (provider, line["vm"], line["vcpu"], line["tid"])
        tid = line["args"].get("tid") if next(iter(line["args"]), None) == "tid" else None
        known = sorted(self.threads[provider].get(tid, []))
        known = [one for one in known if one[0] <= tsc][-1:] or known[:1]
        vm, vcpu = known[0][2:] if known else (None, -1)
        idle = tid == 0 and line["tid"] == 0  # a CPU's idle thread has no line
        if (line["vm"], line["vcpu"], None if idle else line["tid"]) != (
                vm, None if vcpu < 0 else vcpu, tid or None):
            raise Differ(f"{line}: the description has {vm}'s vCPU {vcpu}")
        return (provider, "cpu", line["cpu"])


class Event:
    """One event from either reader."""

    def __init__(self, tsc, probe, args, **more):
        self.tsc, self.probe, self.args = tsc, probe, args
        self.more = more

    def __str__(self):
        return f"{self.tsc} {self.probe} {self.args}"


def ours(ringside, directory, description):
    """Returns by identity the events, in order, and the time in ns of each."""
    runs = []
    for options in ((), ("--tsc",)):
        done = subprocess.run([ringside, "print", "--json", "--quiet", *options, directory],
                              capture_output=True, check=False)
        if done.returncode not in (0, 3):
            raise Differ(f"print ends with {done.returncode}: {done.stderr.decode()}")
        runs.append([json.loads(line) for line in done.stdout.splitlines()])
    if len(runs[0]) != len(runs[1]):
        raise Differ("print --json gives another number of events with --tsc")
    found, last = {}, None
    for in_ns, line in zip(*runs):
        identity = description.joined(description.line_identity(line, line["tsc"]))
        ns = in_ns["ts"]
        if last is not None and ns < last:
            raise Differ(f"print goes back in time: {ns} after {last}")
        last = ns
        found.setdefault(identity, []).append(
            Event(line["tsc"], line["probe"], line["args"], ns=ns, cpu=line["cpu"]))
    return found


def theirs(directory):
    """Returns by stream the events, in order, and babeltrace2's number of discarded events."""
    found, discarded = {}, {}
    for message in bt2.TraceCollectionMessageIterator(directory):
        if isinstance(message, bt2._EventMessageConst):
            event, snapshot = message.event, message.default_clock_snapshot
            context = event.packet.context_field
            cpu = context["cpu_id"] if "cpu_id" in context else context["cpu"]
            found.setdefault(event.stream.id, []).append(
                Event(snapshot.value, event.name, fields_of(event),
                      cpu=int(cpu), wall_ns=snapshot.ns_from_origin))
        elif isinstance(message, bt2._DiscardedEventsMessageConst):
            at = message.stream.id
            discarded[at] = discarded.get(at, 0) + (message.count or 0)
        elif isinstance(message, bt2._StreamBeginningMessageConst):
            found.setdefault(message.stream.id, [])
    return found, discarded


def labels_of(field):
    try:
        return field.labels
    except AssertionError:  # of bt2 2.0.4's, where there is none
        return []


def fields_of(event):
    """Maps a name to its possible labels, or its text, its number, or a stack's numbers."""
    payload, out = event.payload_field or {}, {}
    for name, field in payload.items():
        base = name.removesuffix("_length")
        if base != name and base in payload and isinstance(
                payload[base], (bt2._StringFieldConst, bt2._DynamicArrayFieldConst)):
            continue
        if isinstance(field, bt2._StringFieldConst):
            out[name] = raw(str(field))
        elif isinstance(field, bt2._DynamicArrayFieldConst):
            out[name] = tuple(int(element) for element in field)
        elif isinstance(field, (bt2._UnsignedEnumerationFieldConst,
                                bt2._SignedEnumerationFieldConst)):
            out[name] = [mended(raw(label)) for label in labels_of(field)] or int(field)
        else:
            out[name] = int(field)
    return out


# ---- comparing -----------------------------------------------------------------------------


def same_value(our, their):
    if isinstance(their, bytes):
        return isinstance(our, str) and our.split("\0")[0] == mended(their)
    if isinstance(their, tuple):
        return isinstance(our, list) and their == tuple(int(element, 0) for element in our)
    if isinstance(their, list):
        return our in their
    if isinstance(our, str):  # in hex, or of an enumeration or a name without a text for it
        return UNNAMED.fullmatch(our) is not None and int(our.lstrip("#"), 0) == their
    return not isinstance(our, bool) and our == their


def same_event(our, their):
    return (our.tsc == their.tsc and our.probe == their.probe
            and list(our.args) == list(their.args)
            and all(same_value(our.args[name], their.args[name]) for name in our.args)
            and (our.more["cpu"] is None or their.more["cpu"] in (0xffffffff, our.more["cpu"])))


def check_times(event, clock, wall):
    """Compares our times exactly, except for one ns of a rounded factor; babeltrace2's as
    doubles."""
    cycles = event.tsc - clock["offset"] - clock["origin"]
    exact = Fraction(cycles * 10**9, clock["freq_hz"])
    if not exact - 2 < event.more["ns"] <= exact + 1:
        raise Differ(f"{event}: {event.more['ns']} ns, exactly {float(exact)}")
    if not clock["wall_ns"]:  # the time of day is unknown: times count from the counter's zero
        exact = Fraction(event.tsc * 10**9, clock["freq_hz"])
    if abs(clock["wall_ns"] + exact - wall) > DOUBLE_NS:
        raise Differ(f"{event}: babeltrace2 has {wall} ns of Unix time,"
                     f" ringside {clock['wall_ns'] + float(exact)}")


def compare_lists(where, our, their, clock):
    wrong = []
    for at, (mine, other) in enumerate(zip(our, their)):
        if not same_event(mine, other):
            wrong.append(f"{where}, event {at}:\n  ringside    {mine}\n  babeltrace2 {other}")
        else:
            check_times(mine, clock, other.more["wall_ns"])
    if len(our) != len(their):
        wrong.append(f"{where}: ringside has {len(our)} events, babeltrace2 {len(their)}")
    if wrong:
        raise Differ("\n".join(wrong[:REPORTS_MAX]))


def order_key(event):
    return (event.tsc, event.probe)


def compare_losses(where, events, output):
    """babeltrace2 computes losses from the difference of two packets' counts; ours begin with 0."""
    counted = sum(event.args["count"] for event in events
               if event.probe.endswith(":trace::records-lost"))
    if output != counted and (output > counted or not OLDER):
        raise Differ(f"{where}: babeltrace2 reports {output} discarded, our records {counted}")


def compare(ringside, directory):
    description = Description(directory)
    mine = ours(ringside, directory, description)
    other, discarded = theirs(directory)
    by_identity = {}
    for stream in sorted(other):
        identity = description.joined(description.identity(stream))
        by_identity.setdefault(identity, []).append(stream)
    for identity in set(mine) - set(by_identity):
        raise Differ(f"babeltrace2 has no stream of {identity}")
    count = 0
    for identity, streams in by_identity.items():
        our = mine.get(identity, [])
        their = [event for stream in streams for event in other[stream]]
        if len(streams) > 1:  # print does not distinguish these, but the order of each was checked
            our, their = sorted(our, key=order_key), sorted(their, key=order_key)
        where = f"stream {', '.join(map(str, streams))}"
        compare_lists(where, our, their, description.clock(streams[0]))
        compare_losses(where, our, sum(discarded.get(stream, 0) for stream in streams))
        count += len(our)
    return count, len(other)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    ringside, *directories = sys.argv[1:]
    if len(directories) > 1:  # babeltrace2 aborts when it is used again after an error
        ends = [subprocess.run([sys.executable, __file__, ringside, directory], check=False)
                for directory in directories]
        return max(end.returncode != 0 for end in ends)
    try:
        count, streams = compare(ringside, directories[0])
    except Differ as why:
        print(f"{directories[0]}: {why}")
        return 1
    except bt2._Error as why:
        print(f"{directories[0]}: babeltrace2 can't read it:", *str(why).splitlines()[-8:],
              sep="\n  ")
        return 1
    print(f"{directories[0]}: {count} events of {streams} streams agree")
    return 0


sys.exit(main())
