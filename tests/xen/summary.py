# SPDX-License-Identifier: BSD-2-Clause
"""Compares `report summary` with `xenalyze --summary` for the same trace. Known differences, for
which this file allows by their exact amounts:

1. xenalyze counts a running vCPU again each time that the scheduler lets it continue. Ringside
counts it once, and shows the continuations separately. 2. At the end of the trace, xenalyze counts
a running vCPU once more, with its time until its physical CPU's last record, and leaves out any
other unfinished state. Ringside has the time of both in total_ns, and counts neither. 3. xenalyze
ignores a vCPU until it is on a physical CPU. A vCPU whose first record lets it continue has run
since its physical CPU's first record, not since the trace's. 4. After a loss on one physical CPU, a
vCPU that ran there is known to xenalyze again when it runs or continues, and others that sleep are
assumed to sleep on. For Ringside their states are lost, too, because their wake-ups may be among
the lost records. So the times of states in such captures (L2, S0) are only compared by bounds:
states that are lost for xenalyze are lost for Ringside. 5. xenalyze counts calls within a multicall
as subcalls and as hypercalls, in total and by number. 6. xenalyze does not count an exit that does
not end in the trace. 7. Its volume has LOST_RECORDS twice, and WRAP with its padding, so "gen" is
not compared. 8. xenalyze measures the time to a halt from the entry after the injection, Ringside
from the injection. 9. Its affinity is the time that a vCPU stayed on a physical CPU, running or
not; Ringside's is the time that it ran there. Its percentiles are of a sample of 1024. Neither is
compared.
"""
import collections
import json
import re
import subprocess

from xentrace import HZ, RINGSIDE, records

# Ringside's and xenalyze's names.
PV = {"page-fault": "page_fault", "emulate-priv-op": "emulate privop", "pte-write-emul": "ptwr",
      "math-state-restore": "math state restore", "forced-invalid-op": "forced_invalid_op"}
CALLS = {"event_channel_op": "evtchn_op"}
VOLUMES = {"sched": ("sched (runstates)", "sched (scheduler's own)", "sched (verbose)"),
           "hvm": ("hvm (entry, exit)", "hvm (handlers)", "hvm (emulation)"), "+-handler": ("hvm (handlers)",),
           "pv": ("pv (entry)", "pv (subcalls)")}
TIMES = r"(\d+) +([\d.]+)s +(?:([\d.]+)% +)?(-?\d+) (?:cyc )?\{"


# ---- xenalyze's summary
# ---------------------------------------------------------------------------

def xenalyzed(text, hz=HZ):
    """Returns {(table, owner..., what): (count, ns)}; ns is None where there is only a count."""
    cycle = 1e9 / hz
    output, dom, vcpu, part, cpu = {}, None, None, "volume", None
    for line in text.splitlines():
        if found := re.match(r" - cpu (\d+) -", line):
            cpu = int(found[1])
        elif found := re.match(r"\|-- Domain (\d+) --\|", line):
            dom, vcpu, part = int(found[1]), None, None
        elif found := re.match(r"-- v(\d+) --", line):
            vcpu, part = int(found[1]), None
        elif found := re.match(r" ?(Runstates|Exit reasons|PV events|Guest interrupt counts|"
                               r"IO address summary| cpu affinity)\b", line):
            part = found[1]
        elif part == "volume" and (found := re.match(r" ([\w+-]+) *: +(\d+)$", line)):
            output["volume", cpu, found[1]] = int(found[2]), None
        elif part == "Runstates" and (found := re.match(r" +([\w ]+): +" + TIMES, line)):
            key = ("domains", dom) if vcpu is None else ("vcpus", dom, vcpu)
            output[key + (found[1].replace("_", " "),)] = int(found[2]), int(found[2]) * int(found[5]) * cycle
        elif part == "Exit reasons" and (found := re.match(r" (VMEXIT_\w+) +" + TIMES, line)):
            output["exits", dom, vcpu, found[1]] = int(found[2]), int(found[2]) * int(found[5]) * cycle
        elif part == "Exit reasons" and (found := re.match(r"    \[ *(\w+)\] +" + TIMES, line)):
            output["hvm", dom, vcpu, found[1]] = int(found[2]), int(found[2]) * int(found[5]) * cycle
        elif part == "PV events" and (found := re.match(r"  (\w[\w ()]+)  (\d+)$", line)):
            output["pv", dom, vcpu, found[1]] = int(found[2]), None
        elif part == "PV events" and (found := re.match(r"    (\w+) +\[ *(\d+)\]: +(\d+)$", line)):
            output["calls", dom, vcpu, found[1]] = int(found[3]), None
        elif part == "Guest interrupt counts" and (found := re.match(r"  \[(\d+)\] (\d+)$", line)):
            vector = int(found[1])
            output["interrupts", dom, vcpu, vector, "inject to entry"] = int(found[2]), None
        elif part == "Guest interrupt counts" and (
                found := re.match(r"   \* (wake to halt any|intr to halt) +: +" + TIMES, line)):
            what = "wake to halt" if found[1].startswith("wake") else "inject to halt"
            output["interrupts", dom, vcpu, vector, what] = (
                int(found[2]), int(found[2]) * int(found[5]) * cycle)
        elif part == "IO address summary" and (
                found := re.match(r" +(\w+):\[(\w)\] +" + TIMES, line)):
            output["io", dom, vcpu, int(found[1], 16), found[2]] = (int(found[3]),
                                                                  int(found[3]) * int(found[6]) * cycle)
    return output


# ---- Ringside's summary
# ---------------------------------------------------------------------------

def report(what, path, *options, hz=HZ):
    """hz None: the trace has its frequency."""
    done = subprocess.run([RINGSIDE, "report", what, "--json", *(["--freq", str(hz)] if hz else []),
                           *options, path], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise ValueError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def table(output, name):
    return [row for row in output["rows"] if row["table"] == name]


# ---- states ---------------------------------------------------------------------------------------

class Ends:
    """Returns the amounts of differences 1 to 3, from the file."""

    def __init__(self, data, hz=HZ):
        self.cycle = 1e9 / hz
        self.first, self.end, self.last = {}, {}, 0
        self.changes = collections.defaultdict(list)
        for cpu, event, words, tsc in records(data):
            if tsc is None:
                continue
            self.first.setdefault(cpu, tsc)
            self.end[cpu] = tsc
            self.last = max(self.last, tsc)
            if event & ~0x330 == 0x21001 or event == 0x21002:
                old, new = (event >> 8 & 3, event >> 4 & 3) if event & 1 else (0, 0)
                self.changes[words[0] >> 16, words[0] & 0xffff].append((tsc, old, new, cpu))
        for changes in self.changes.values():
            changes.sort()
        self.start = min(self.first.values())

    def states(self, dom, vcpu):
        """Returns {state: [count, ns]} by xenalyze's rules, of states that it leaves out or
        adds."""
        names = ("running", "runnable", "blocked", "offline")
        changes = self.changes[dom, vcpu]
        off = collections.defaultdict(lambda: [0, 0])
        tsc, old, new, cpu = changes[0]
        goes_on = old == 0 and new == 0
        off[names[old]][1] -= (self.first[cpu] if goes_on else tsc) - self.start # 3
        for (at, _, now, _), (then, *_) in zip(changes, changes[1:]):
            if now == 0:
                break
            off[names[now]][0] -= 1
            off[names[now]][1] -= then - at
        tsc, _, new, cpu = changes[-1]
        off[names[new]][0] += new == 0 and self.end[cpu] > tsc # 2
        off[names[new]][1] -= self.last - (self.end[cpu] if new == 0 else tsc)
        return {state: (count, cycles * self.cycle) for state, (count, cycles) in off.items()}


def close(ns, theirs, count):
    """Returns whether a time equals xenalyze's, whose mean is rounded, within `within` ns each."""
    return abs(ns - theirs) <= 2 * count + 2000


def runnable(state):
    return state.split(" ")[0]


def states(output, theirs, ends):
    ours = collections.defaultdict(lambda: [0, 0])
    for row in table(output, "vcpus"):
        mine = ours[row["domain"], row["vcpu"], runnable(row["state"])]
        mine[0] += row["count"] + (row["continued"] or 0)
        mine[1] += row["total_ns"]
    compared = 0
    for dom, vcpu in ends.changes:
        off = ends.states(dom, vcpu)
        for state in ("running", "runnable", "blocked", "offline"):
            count, ns = ours[dom, vcpu, state]
            more = off.get(state, (0, 0))
            count, ns = count + more[0], ns + more[1]
            wanted = theirs.get(("vcpus", dom, vcpu, state), (0, 0))
            compared += wanted[0]
            if count != wanted[0] or not close(ns, wanted[1], wanted[0]):
                yield (f"d{dom}v{vcpu} {state}: {count} {ns:.0f} ns, "
                       f"not {wanted[0]} {wanted[1]:.0f} ns")
    if not compared:
        yield "nothing was compared"


def domains(output, theirs, ends):
    """Times, except those that 2 and 3 assign to no state or to another; counts are by pieces."""
    apart = collections.Counter()
    for dom, vcpu in ends.changes:
        apart[dom] += sum(abs(ns) for _, ns in ends.states(dom, vcpu).values())
    ours = {("domains", row["domain"], row["state"]): row["total_ns"]
            for row in table(output, "domains")}
    wanted = {key: ns for key, (_, ns) in theirs.items() if key[0] == "domains"}
    for key in set(ours) | set(wanted):
        if abs(ours.get(key, 0) - wanted.get(key, 0)) > apart[key[1]] + 5000:
            yield f"{key}: {ours.get(key)} ns, not {wanted.get(key)}"


def add_up(output):
    sums = collections.defaultdict(int)
    for row in output["rows"]:
        if row["table"] in ("vcpus", "domains", "pcpus"):
            sums[row["table"], row.get("domain"), row.get("vcpu"), row.get("pcpu")] += row["total_ns"]
    yield from (f"{who}: {ns}, not {output['duration_ns']}" for who, ns in sums.items()
                if ns != output["duration_ns"])
    if not sums:
        yield "nothing was compared"


def lost(output, theirs):
    """4"""
    for row in table(output, "vcpus"):
        if row["state"] == "lost":
            wanted = theirs.get(("vcpus", row["domain"], row["vcpu"], "lost"), (0, 0))
            if row["total_ns"] < wanted[1] - 2000:
                yield f"d{row['domain']}v{row['vcpu']}: {row['total_ns']} ns lost, not {wanted}"


# ---- counts ---------------------------------------------------------------------------------------

def exits(output, theirs):
    ours = {("exits", row["domain"], row["vcpu"], row["reason"]): row
            for row in table(output, "exits") if row["domain"] is not None}
    for key, (count, ns) in theirs.items():
        if key[0] == "exits":
            row = ours.pop(key[:3] + (key[3].removeprefix("VMEXIT_").replace("EXCEPTION", "EXCP"),),
                           None)
            if not row or row["timed"] != count or not close(row["total_ns"], ns, count):
                yield f"{key}: {count} {ns:.0f} ns, not {row}"
    yield from (f"xenalyze has no {row}" for row in ours.values() if row["timed"]) # 6


def hypercalls(output, theirs):
    ours = collections.Counter()
    for row in table(output, "hypercalls"):
        if row["domain"] is None:
            continue
        who = row["domain"], row["vcpu"]
        if row["from"] == "hvm":
            wanted = theirs.get(("hvm", *who, CALLS.get(row["hypercall"], row["hypercall"])))
            if wanted and (row["timed"] != wanted[0] or not close(row["total_ns"], wanted[1],
                                                                  wanted[0])):
                yield f"{row}, not {wanted[0]} {wanted[1]:.0f} ns"
            continue
        ours["calls", *who, CALLS.get(row["hypercall"], row["hypercall"])] += row["count"] # 5
        ours["pv", *who, "hypercall"] += row["count"]
        ours["pv", *who, "hypercall (subcall)"] += row["count"] * (row["from"] != "pv")
    for row in table(output, "pv"):
        if row["domain"] is not None:
            ours["pv", row["domain"], row["vcpu"], PV[row["event"]]] = row["count"]
    wanted = {key: count for key, (count, _) in theirs.items() if key[0] in ("pv", "calls")}
    for key in sorted(set(wanted) | {key for key, count in ours.items() if count}, key=str):
        if ours[key] != wanted.get(key, 0):
            yield f"{key}: {ours[key]}, not {wanted.get(key, 0)}"


def interrupts(output, theirs):
    ours = {("interrupts", row["domain"], row["vcpu"], row["vector"], row["what"]): row
            for row in table(output, "interrupts") if row["domain"] is not None}
    wanted = {key: value for key, value in theirs.items() if key[0] == "interrupts"}
    counts = [{key: row["count"] for key, row in ours.items()},
              {key: count for key, (count, _) in wanted.items()}]
    if counts[0] != counts[1]:
        yield f"{counts[0]}, not {counts[1]}"
        return
    for key, (count, ns) in wanted.items():
        if ns is not None: # 8
            more = ours[key]["total_ns"] - ns
            if not -2 * count - 2000 <= more <= ours[key[:4] + ("inject to entry",)]["total_ns"]:
                yield f"{key}: {more} ns more"


def io(output, theirs):
    ours = {("io", row["domain"], row["vcpu"], row["address"], row["access"].split(" ")[1][0]): row
            for row in table(output, "io") if row["domain"] is not None}
    for key, (count, ns) in theirs.items():
        if key[0] == "io":
            row = ours.get(key)
            if not row or row["count"] != count or not close(row["total_ns"], ns, count):
                yield f"{key}: {count} {ns:.0f} ns, not {row}"


def volume(output, theirs):
    sizes = {(row["pcpu"], row["class"]): row["bytes"] for row in table(output, "volume")}
    compared = 0
    for key, (size, _) in theirs.items():
        if key[0] == "volume" and key[2] in VOLUMES:
            ours = sum(sizes.get((key[1], part), 0) for part in VOLUMES[key[2]])
            compared += 1
            if ours != size:
                yield f"{key[1:]}: {ours} bytes, not {size}"
    if not compared:
        yield "nothing was compared"


