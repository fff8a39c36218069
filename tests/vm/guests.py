# SPDX-License-Identifier: BSD-2-Clause
"""The expected actions of each example guest, and its trace: functions that yield faults. The
numbers are written here again, and not read from the guests' sources."""
from machine import LOST, differ, lost, named, number, of_vcpu, unsorted

# The kit's own records: when a vCPU starts (init_idt on vCPU 0 only), and around one call.
BOOT_RECORDS = 2 + 2 + 2 + 1 + 1  # entrypoint, load_gdt, load_idt, guest-main, halt
INIT_IDT_RECORDS = 2
# dispatch_function, internal_dispatch_function, the arguments, call_guest_function, the result, halt
CALL_RECORDS = 2 + 2 + (2 + 2) + (2 + 1) + (2 + 2) + 1


def kit_records(vcpu):
    return BOOT_RECORDS + (INIT_IDT_RECORDS if vcpu == 0 else 0) + CALL_RECORDS


# ---- hello ----------------------------------------------------------------------------------

# Spans by name with their content; "=x" is an event.
POP = ("try_pop_shared_input_data_into", ["=guest:call::start-converting-buffer",
                                         "=guest:call::finish-converting-buffer"])
PUSH = ("push_shared_output_data", ["=guest:call::start-copy-of-data",
                                    "=guest:call::finish-copy-of-data"])
CALL_HOST = ("call_host_function_without_returning_result", [PUSH, ("out32", [])])
# The guest of Hyperlight's example, with `hello` as its function.
HELLO_TREE = [
    ("entrypoint", [("load_gdt", []), ("load_idt", [("init_idt", [])]),
                    "=guest:boot::guest-main"]),
    "=guest:boot::halt",
    ("dispatch_function", [
        ("internal_dispatch_function", [
            POP,
            ("call_guest_function", [
                "=guest:call::calling-guest-function",
                ("hello", [
                    ("call_host_function", [CALL_HOST, ("get_host_return_value", [POP])]),
                    "=guest:greeting::greeted"])]),
            PUSH])]),
    "=guest:boot::halt",
]


def tree(events):
    """Returns the guest's spans, nested; checks depths and ends."""
    root = []
    open_spans = [(None, root)]
    for event in events:
        name = event["args"].get("name")
        if event["probe"] == "guest:span::begin":
            inner = []
            open_spans[-1][1].append((name, inner))
            assert event["args"]["depth"] == len(open_spans) - 1, event
            open_spans.append((name, inner))
        elif event["probe"] == "guest:span::end":
            assert open_spans.pop()[0] == name, event
            assert event["args"]["depth"] == len(open_spans) - 1, event
        else:
            open_spans[-1][1].append("=" + event["probe"])
    assert len(open_spans) == 1, open_spans
    return root


def timeline(events):
    """On one vCPU, each guest event is between a run of it and the following exit, after the VM's
    begin and before its end."""
    inside = False
    for event in events:
        if event["probe"] == "vmm:vcpu::run":
            inside = True
        elif event["probe"] == "vmm:vcpu::exit":
            inside = False
        elif event["probe"].startswith("guest:") and not inside:
            yield f"outside of its vCPU's runs: {event}"
    if events[0]["ts"] < 0:
        yield f"before time zero: {events[0]}"
    order = [event["probe"] for event in events if event["probe"].startswith("vmm:vm::")]
    yield from differ("the VM's life", order, [
        "vmm:vm::create", "vmm:vm::vcpu-create", "vmm:vm::load", "vmm:vm::destroy"])
    if events[-1]["probe"] != "vmm:vm::destroy":
        yield f"after the VM's end: {events[-1]}"


def hello_calls(events):
    """The VMM's side of the call to print, and of the call to main."""
    for probe, args in (("vmm:call::host-begin", {"vcpu": 0, "function": "print"}),
                        ("vmm:call::host-end", {"vcpu": 0, "result": 21}),
                        ("vmm:call::guest-begin", {"vcpu": 0, "function": "main"}),
                        ("vmm:call::guest-end", {"vcpu": 0, "result": 0})):
        yield from differ(probe, [event["args"] for event in named(events, probe)], [args])


# ---- primes ---------------------------------------------------------------------------------

SPANS = [97, 101]
TICKS = [1009, 1013]
WORD = 2 ** 64 - 1


def checksum(sequence, vcpu):
    return ((sequence + 1) * 0x9e3779b97f4a7c15 & WORD) ^ ((vcpu + 1) * 0xc2b2ae3d27d4eb4f & WORD)


def ticks(events, vcpu, expected):
    got = [(number(e["args"]["sequence"]), number(e["args"]["checksum"]))
           for e in named(events, "guest:work::tick")]
    yield from differ("number of ticks", len(got), expected)
    for sequence, one in enumerate(got):
        if one != (sequence, checksum(sequence, vcpu)):
            yield f"tick {sequence} of vCPU {vcpu} is {one}"
            return


def laps(events, vcpu):
    """Begin and end alternate, with the lap's number at the begin."""
    got = [(e["probe"], e["args"]["arg"]) for e in events if e["args"].get("name") == "lap"]
    expected = [record for lap in range(SPANS[vcpu])
                for record in (("guest:span::begin", lap), ("guest:span::end", 0))]
    yield from differ("laps", got, expected)


def primes(events, vcpu, result):
    """Each of the vCPU's records once, in order, intact."""
    of_this = of_vcpu(events, vcpu)
    made = 2 * SPANS[vcpu] + TICKS[vcpu]
    yield from differ("result", result, made)
    yield from ticks(of_this, vcpu, TICKS[vcpu])
    yield from laps(of_this, vcpu)
    yield from unsorted(of_this)
    yield from differ("records", len(of_this), made + kit_records(vcpu))
    yield from differ("losses", named(of_this, LOST), [])


def gaps(events):
    """Between two ticks that were kept, the losses equal the missing numbers. (Before the first
    one, records of the kit may have been lost, too.)"""
    last, missing = None, 0
    for event in events:
        if event["probe"] == LOST:
            missing += number(event["args"]["count"])
        elif event["probe"] == "guest:work::tick":
            sequence = number(event["args"]["sequence"])
            if last is not None and sequence - last - 1 != missing:
                yield f"{missing} lost between ticks {last} and {sequence}"
            last, missing = sequence, 0


def partial(events, vcpu, flooded, may_be_whole=False):
    """Kept and counted losses add up to the emitted records, and neither is 0."""
    of_this = of_vcpu(events, vcpu)
    kept = len(of_this) - len(named(of_this, LOST))
    yield from differ("kept + lost", kept + lost(of_this), flooded + kit_records(vcpu))
    yield from gaps(of_this)
    yield from unsorted(of_this)
    if kept == 0 or (lost(of_this) == 0 and not may_be_whole):
        yield f"kept {kept}, lost {lost(of_this)}"


# ---- crash ----------------------------------------------------------------------------------

STEPS, HALF_WAY = 29, 13
FIRST, SECOND = 0x1111111111111111, 0x2222222222222222
INVALID_OPCODE, PAGE_FAULT = 6, 14

# Function: the message, and the vector of the guest's own exception event (None: none).
CRASHES = {
    "main": ("triple fault", None),
    "wild_write": ("write to 0xd0000000, where there is no memory", None),
    "null_write": ("exception 14 (page fault), error 0x2, address 0x0", PAGE_FAULT),
    "wild_out": ("output to port 0x5eed, where the VM has no device", None),
    "halts": ("the guest halted before the call returned", None),
    "panics": ("panic: out of patience", None),
    "fault_in_put": ("exception 6 (invalid opcode), error 0x0, address 0x0", INVALID_OPCODE),
    "fault_after_handler": ("exception 14 (page fault), error 0x2, address 0x0", PAGE_FAULT),
}
# Puts that exceptions end: the one record that cannot be kept.
GIVEN_UP = {"fault_in_put": 1, "fault_after_handler": 1}
# Records of handlers that returned, in the middle of such a put.
HANDLED = {"fault_after_handler": 1}


def steps(events, expected):
    got = [e["args"] for e in named(events, "guest:step::step")]
    yield from differ("steps", got, [{"number": i, "of": STEPS} for i in range(expected)])


def crash_event(events, why):
    crashes = named(events, "vmm:vm::crash")
    yield from differ("crash", [e["args"]["why"] for e in crashes], [why])
    yield from differ("its vCPU", [e["args"]["vcpu"] for e in crashes], [0])


def crash(events, function):
    """All records before the crash, and the crash."""
    why, vector = CRASHES[function]
    guest = of_vcpu(events, 0)
    yield from steps(guest, HALF_WAY)
    yield from crash_event(events, why)
    yield from differ("exceptions", [e["args"]["vector"] for e in
                                     named(guest, "guest:irq::exception")],
                      [] if vector is None else [vector])
    yield from differ("handled", len(named(guest, "guest:step::handled")),
                      HANDLED.get(function, 0))
    yield from differ("panics", len(named(guest, "guest:boot::panic")),
                      1 if vector or function == "panics" else 0)
    yield from unsorted(events)
    yield from differ("lost", lost(events), GIVEN_UP.get(function, 0))


def resumed(events):
    """In each round: the put, the handler that interrupted it, and the step after both."""
    rest = [e for e in of_vcpu(events, 0) if e["probe"].startswith("guest:step:") or
            e["args"].get("name") == "handle"]
    expected = []
    for i in range(STEPS):
        expected += [("interrupted", {"first": FIRST, "second": SECOND}), ("begin", None),
                     ("handled", INVALID_OPCODE), ("end", None),
                     ("step", {"number": i, "of": STEPS})]
    for event, (name, args) in zip(rest, expected):
        got = event["args"]
        if name == "handled":
            got = got["vector"]
        elif name == "interrupted":
            got = {key: number(value) for key, value in got.items()}
        if event["probe"].rsplit(":", 1)[1] != name or (args is not None and got != args):
            yield f"{event}, expected {name} {args}"
            return
    yield from differ("records", len(rest), len(expected))
    yield from unsorted(events)
    yield from differ("lost", lost(events), 0)
