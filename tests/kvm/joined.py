# SPDX-License-Identifier: BSD-2-Clause
"""A case of the testbeds (cases.py): the trace of a guest and its VMM, and a trace of KVM recorded
meanwhile, are read as one."""
import json
import os
import re
import subprocess
from fractions import Fraction

import cases
from cases import RINGSIDE, differ

GUEST = os.path.join(cases.bed.BUILD, "examples", "guests", "crash")
SCRIPT = os.path.join(cases.bed.tap.TOP, "examples", "scripts", "guest_exits.d")
FILES = {"g/crash": GUEST}
VM = "web-1"
NO_SPAN = "(no span)"
NS = 1_000_000_000


def clock(trace):
    """Returns the host clock from a trace's description, whose last line has the first reading."""
    with open(os.path.join(trace, "ringside", "describe"), encoding="utf-8") as file:
        clocks = [json.loads(line)["clock"] for line in file if '{"clock"' in line]
    return [each for each in clocks if each["index"] == clocks[0]["index"]][-1]


def merged(case):
    """Returns the events of both traces by time. KVM's are shifted by its later start, which is
    computed here from both start stamps."""
    first, other = clock(case.path("guest")), clock(case.path("kvm"))
    later = int(Fraction((other["origin"] - first["origin"]) * NS, first["freq_hz"]))
    events = case.events("guest") + [{**event, "ts": event["ts"] + later}
                                     for event in case.events("kvm")]
    return sorted(events, key=lambda event: event["ts"])  # stable: at equal times, the guest's come first


def spans_of(events, exit_of_kvm):
    """Returns exits by VM, innermost open span and reason, as guest_exits.d must count them."""
    spans, want = {}, {}
    for event in events:
        args, vcpu = event["args"], (event.get("vm"), event.get("vcpu"))
        if event["probe"] == "guest:span::begin":
            spans[vcpu] = spans.get(vcpu, [])[:args["depth"]] + [args["name"]]
        elif event["probe"] == "guest:span::end":
            spans[vcpu] = spans.get(vcpu, [])[:args["depth"]]
        elif event["probe"] in ("vmm:vcpu::exit", exit_of_kvm):
            open_ = spans.get(vcpu) or [NO_SPAN]
            key = vcpu[0], open_[-1], str(args["reason"])
            want[key] = want.get(key, 0) + 1
    return want


def run(*arguments):
    done = subprocess.run([RINGSIDE, *arguments], capture_output=True, text=True, errors="replace",
                          check=False)
    return done.returncode, done.stdout, done.stderr


def counted(text):
    """Returns the table of guest_exits.d."""
    rows = {}
    for line in filter(None, text.splitlines()[1:]):
        vm, span, reason, n = re.match(r"(\S+) +(.*\S) +(\S+) +(\d+) +\d+$", line).groups()
        rows[vm, span.strip(), reason] = int(n)
    return rows


# The guest loops in a span until it is stopped, and the host's timer causes exits. KVM's trace
# begins and ends meanwhile, each time after the kernel has counted more exits.
@cases.script(f"""
hits() {{ sed -n 's/.*Hits: *//p' $KVM_EXIT/hist; }}
reached() {{ [ $(hits) -ge $1 ]; }}
/bin/ringside run --name {VM} --record guest /g/crash endless >vmm.out 2>vmm.err </dev/null &
echo $! >vmm.pid; echo ringside run >vmm.command
until_true reached 101
start record /bin/ringside record --kvm -o kvm
until_true reached $(($(hits) + 101))
stop record
until_true reached $(($(hits) + 11))
stop vmm
""")
def joined(case):
    """guest_exits.d attributes KVM's exits, from another trace, to the guest's spans, under one
    name"""
    for name, status in (("record", 0), ("vmm", 1)):  # it was stopped
        yield from differ(f"exit status of {name}", case.status(name), status)
    guest, kvm = case.path("guest"), case.path("kvm")
    events, name = merged(case), f"kvm:{case.isa}::exit"
    both = run("print", "--json", guest, kvm)
    yield from differ("print's status", both[0], 0)
    yield from differ("events of both", [(each["ts"], each["probe"])
                                         for each in map(json.loads, both[1].splitlines())],
                      [(each["ts"], each["probe"]) for each in events])
    if not re.search(rf"{kvm} begins [0-9.]+ s after {guest}, aligned by the TSC, to within [0-9]+ ns",
                     both[2]):
        yield f"{both[2]!r}: not the expected alignment"
    exits = [event for event in events if event["probe"] == name]
    if not exits or {(each.get("vm"), each.get("vcpu")) for each in exits} != {(VM, 0)}:
        yield f"{len(exits)} KVM exits, not all of vCPU 0 of {VM}"
    status, out, err = run("script", "-s", SCRIPT, "--on", guest, "--on", kvm)
    want = spans_of(events, name)
    yield from differ("guest_exits.d", (status, counted(out)), (0, want))
    yield from differ("all exits", sum(want.values()),
                      len(exits) + sum(each["probe"] == "vmm:vcpu::exit" for each in events))
    if not any(span != NO_SPAN for _, span, reason in want if reason == "INTR"):
        yield f"{want}: no exit for an interrupt in a span; messages: {err}"
    yield from differ("report exits --vm", report(guest, kvm), len(exits))
    yield from differ("print --vm", len(run("print", "-q", "--vm", VM, "-p", name, guest,
                                            kvm)[1].splitlines()), len(exits))


def report(*traces):
    """Returns the VM's exits in KVM's report of both traces."""
    status, out, err = run("report", "exits", "--json", "--vm", VM, *traces)
    return sum(row["count"] for row in json.loads(out)["rows"]) if status == 0 else err
