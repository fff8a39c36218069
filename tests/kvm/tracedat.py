# SPDX-License-Identifier: BSD-2-Clause
"""Writes a trace.dat of version 6, as trace-cmd.dat.v6(5) describes it, for hosts that are not
available here. The caller gives the formats of the kernel and the bytes of each record."""
import struct

PAGE = 4096
DATA_AT = 16  # of a page: a stamp and the length of what follows
COMMON = ("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0), \
    ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1)
HEADER_PAGE = "".join(f"\tfield: {field};\toffset:{at};\tsize:{size};\tsigned:{signed};\n"
                      for field, at, size, signed in (
                          ("u64 timestamp", 0, 8, 0), ("local_t commit", 8, 8, 1),
                          ("int overwrite", 8, 1, 1), ("char data", DATA_AT, PAGE - DATA_AT, 0)))
HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""


def event_format(name, number, fields, text):
    """fields: (declaration, offset, size, signed); text: the print format."""
    def lines(rows):
        return "".join(f"\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:{signed};\n"
                       for field, at, size, signed in rows)
    return f"name: {name}\nID: {number}\nformat:\n{lines(COMMON)}\n{lines(fields)}\n" \
        f"print fmt: {text}\n"


def sized(text, width="<Q"):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(width, len(data)) + data


def record(number, pid, payload):
    """Returns a record's bytes after its header."""
    return struct.pack("<HBBi", number, 0, 0, pid) + payload


def page(events):
    """Returns a page of (stamp, record); all must fit."""
    first, data, last = events[0][0], b"", events[0][0]
    for stamp, body in events:
        body += bytes(-len(body) % 4)
        data += struct.pack("<I", len(body) // 4 | (stamp - last) << 5) + body
        last = stamp
    return (struct.pack("<QQ", first, len(data)) + data).ljust(PAGE, b"\0")


def pages(events):
    """Returns the data of a CPU: each page has as many events as fit."""
    out, some, room = b"", [], 0
    for event in events:
        need = 4 + len(event[1]) + 3
        if some and (room < need or event[0] - some[-1][0] >= 1 << 27):
            out, some = out + page(some), []
        if not some:
            room = PAGE - DATA_AT
        some.append(event)
        room -= need
    return out + page(some) if some else out


def write(path, systems, commands, cpus, clock="mono"):
    """systems: {name: [format]}; commands: {pid: name}; cpus: a list of (stamp in ns, record) each."""
    saved = "".join(f"{pid} {name}\n" for pid, name in commands.items())
    head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
    head += b"header_page\0" + sized(HEADER_PAGE) + b"header_event\0" + sized(HEADER_EVENT)
    head += struct.pack("<I", 0)  # ftrace's own events
    head += struct.pack("<I", len(systems))
    for name, formats in systems.items():
        head += name.encode() + b"\0" + struct.pack("<I", len(formats))
        head += b"".join(map(sized, formats))
    head += sized("", "<I") + sized("", "<I") + sized(saved)  # kallsyms, printk, command names
    head += struct.pack("<I", len(cpus))
    head += b"options  \0" + struct.pack("<H", 4) + sized(f"local [{clock}]\n", "<I") + bytes(2)
    head += b"flyrecord\0"
    data = [pages(events) for events in cpus]
    at = -(-(len(head) + 16 * len(data)) // PAGE) * PAGE
    table = b""
    body = b""
    for part in data:
        table += struct.pack("<QQ", at + len(body), len(part))
        body += part
    with open(path, "wb") as file:
        file.write((head + table).ljust(at, b"\0") + body)


# An x86 host with VMX: the fields of arch/x86/kvm/trace.h and include/trace/events/sched.h.
VMX_EXIT, ENTRY, SWITCH, END = range(501, 505)
VMX_HOST = {
    "kvm": [
        event_format("kvm_exit", VMX_EXIT, [
            ("unsigned int exit_reason", 8, 4, 0), ("unsigned int isa", 12, 4, 0),
            ("unsigned long guest_rip", 16, 8, 0), ("u64 info1", 24, 8, 0),
            ("u64 info2", 32, 8, 0), ("u32 intr_info", 40, 4, 0), ("u32 error_code", 44, 4, 0),
            ("unsigned int vcpu_id", 48, 4, 0)], '"reason %u", REC->exit_reason'),
        event_format("kvm_entry", ENTRY, [
            ("unsigned int vcpu_id", 8, 4, 0), ("unsigned long rip", 16, 8, 0)],
            '"vcpu %u", REC->vcpu_id')],
    "sched": [
        event_format("sched_switch", SWITCH, [
            ("char prev_comm[16]", 8, 16, 0), ("pid_t prev_pid", 24, 4, 1),
            ("int prev_prio", 28, 4, 1), ("long prev_state", 32, 8, 1),
            ("char next_comm[16]", 40, 16, 0), ("pid_t next_pid", 56, 4, 1),
            ("int next_prio", 60, 4, 1)], '"%d", REC->prev_pid'),
        event_format("sched_process_exit", END, [
            ("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1)],
            '"%d", REC->pid')]}


def vmx_exit(stamp, tid, vcpu, reason):
    return stamp, record(VMX_EXIT, tid, struct.pack("<IIQQQIII", reason, 1, 0x1000, 0, 0, 0, 0,
                                                    vcpu))


def entry(stamp, tid, vcpu):
    return stamp, record(ENTRY, tid, struct.pack("<IIQ", vcpu, 0, 0x1000))


def switch(stamp, before, after, state=0):
    return stamp, record(SWITCH, before, struct.pack("<16siiq16sii", b"a", before, 120, state,
                                                     b"b", after, 120))


def end(stamp, tid):
    return stamp, record(END, tid, struct.pack("<16sii", b"a", tid, 120))
