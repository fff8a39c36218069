# SPDX-License-Identifier: BSD-2-Clause
"""The cases of the testbeds: what runs in the machine (a script over inside.sh), and the expected
result."""
import collections
import csv
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bed"))
import bed  # noqa: E402
import oracle  # noqa: E402
from oracle import Case, vcpus, workload_faults  # noqa: E402

RINGSIDE = os.path.join(bed.BUILD, "ringside")
WORKLOAD = os.path.join("tests", "kvm", "workload")  # in a build directory
INSIDE = os.path.join(bed.tap.TOP, "tests", "kvm", "inside.sh")
COMPARE = os.path.join(bed.tap.TOP, "tests", "trace", "compare_bt2.py")

HEAD = """#!/bin/busybox sh
MODULES='{modules}'
. /inside.sh
"""


def files(modules, cases, foot, programs=(), build=bed.BUILD, libraries=bed.libraries):
    """
    The initramfs of a bed that runs these cases. A program: its path in the machine, and its path
    here. `build`: the folder of the programs for the machine, with the libraries that `libraries`
    finds for them.
"""
    programs = {"bin/ringside": os.path.join(build, "ringside"),
                "bin/workload": os.path.join(build, WORKLOAD), **dict(programs)}
    for path in programs.values():
        if not os.path.exists(path):
            raise bed.Missing(f"no {path} (make)")
    return {**init(modules, cases, foot), **programs, **libraries(*programs.values())}


def init(modules, cases, foot):
    """Returns the script for the machine: these cases in order."""
    lines = HEAD.format(modules=" ".join(modules)) + "".join(
        f"begin {case.__name__}\n{case.script}\nend\n" for case in cases) + foot
    return {"init": lines.encode(), "inside.sh": INSIDE}


def script(text):
    """Registers a case's script, for the function that checks its results."""
    def bind(function):
        function.script = text.strip()
        return function
    return bind


def check_all(cases, out, isa, where):
    for each in cases:
        case = Case(os.path.join(out, each.__name__), isa)
        faults = [f"a wait timed out: {line}" for line in case.hung()]
        try:
            faults += list(each(case))
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            faults.append(f"{type(error).__name__}: {error}")
        bed.tap.check(f"{where}: {each.__doc__.splitlines()[0]}",
                      [*faults, *case.all_output()] if faults else [])


def test(boot, modules, foot, isa, where, chosen, inside=lambda directory: {}):
    """A complete test: boots a machine with these cases and programs (a function that may write to a
    folder returns them), and checks the results."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            out = boot(files(modules, chosen, foot, inside(directory)), directory)
        except bed.Missing as missing:
            print(f"1..0 # SKIP {missing}")
            return
        check_all(chosen, out, isa, where)
    bed.tap.end()


def test_amd(*chosen, **more):
    test(bed.boot_amd, bed.AMD_MODULES, bed.FOOT, "svm", "SVM in QEMU", chosen, **more)


def test_intel(*chosen, **more):
    test(bed.boot_intel, bed.INTEL_MODULES, bed.SERIAL_FOOT, "vmx", "VMX in Bochs", chosen, **more)


def differ(what, got, expected):
    if got != expected:
        yield f"{what}: {got!r}, expected {expected!r}"


def same_counts(what, got, expected):
    """Compares two tables of counts by key."""
    for key in sorted(set(got) | set(expected)):
        if got.get(key) != expected.get(key):
            yield f"{what}: {key}: {got.get(key)}, expected {expected.get(key)}"


# ---- the workload and the kernel alone --------------------------------------------------------

@script("prepare vms --vms 2 --vcpus 2; go vms")
def guests(case):
    """the kernel counts the exits that the guests cause; HLT in user space"""
    yield from workload_faults(case)


@script("prepare vms --vms 2 --vcpus 2 --irqchip --move --yield; go vms")
def sleepers(case):
    """the same, with HLT in the kernel, and threads that change their CPU"""
    yield from workload_faults(case)


# ---- exits ------------------------------------------------------------------------------------

def by_reason(table, chosen=lambda tid, vcpu: True):
    """Returns a kernel table, with its threads added up."""
    sums = {}
    for (tid, vcpu, reason), count in table.items():
        if chosen(tid, vcpu):
            sums[reason] = sums.get(reason, 0) + count
    return sums


def rows_of(report, case, sums=False):
    """Returns the rows of a report as such a table; dropped or lost events are a fault."""
    table = {}
    for row in report["rows"]:
        key = row["code"] if sums else (row["tid"], row["vcpu"], row["code"])
        if row["isa"] != case.isa or row["nested"]:
            raise ValueError(f"not a row of {case.isa}: {row}")
        table[key] = table.get(key, 0) + row["count"]
    return table


def report_faults(case, name, expected=None, sums=False):
    """Checks that a report, which a tool printed as JSON, equals the kernel's table."""
    yield from differ(f"exit status of {name}", case.status(name), 0)
    report = case.json(name)
    yield from differ(f"dropped or lost by {name}", (report["dropped"], report["lost"]), (0, 0))
    yield from same_counts(name, rows_of(report, case, sums),
                           case.hist() if expected is None else expected)


def tids_of(vm):
    return [vcpu["tid"] for vcpu in vm["vcpus"]]


def only(case, *tids):
    """Returns the kernel's table of these threads."""
    return {key: count for key, count in case.hist().items() if key[0] in tids}


CHOSEN = """
start pid /bin/ringside exits --json -p $pid0
start vcpu /bin/ringside exits --json -p $pid1 -v 1
start alltids /bin/ringside exits --json -p $pid1 -a
start tid /bin/ringside exits --json -t $tid0_1
start tids /bin/ringside exits --json -T $tid0_0,$tid1_1
start vm /bin/ringside exits --json --vm bed-vm1
"""
CHOSEN_NAMES = "pid vcpu alltids tid tids vm"


def chosen_faults(case):
    one, two = (tids_of(vm) for vm in case.vms())
    yield from report_faults(case, "pid", by_reason(only(case, *one)), sums=True)
    yield from report_faults(case, "vcpu", by_reason(only(case, two[1])), sums=True)
    yield from report_faults(case, "alltids", only(case, *two))
    yield from report_faults(case, "tid", by_reason(only(case, one[1])), sums=True)
    yield from report_faults(case, "tids", only(case, one[0], two[1]))
    yield from report_faults(case, "vm", by_reason(only(case, *two)), sums=True)


@script(f"""
prepare vms --vms 2 --vcpus 2; . vms/ids
{CHOSEN}
go vms
stop {CHOSEN_NAMES}
""")
def chosen(case):
    """exits: -p, -v, -a, -t, -T, --vm each equal the kernel's count"""
    yield from workload_faults(case)
    yield from chosen_faults(case)


@script(f"""
prepare vms --vms 2 --vcpus 2 --irqchip; . vms/ids
start all /bin/ringside exits --json
{CHOSEN}
start text /bin/ringside exits -p $pid0
run no_vcpu /bin/ringside exits -p $pid0 -v 4
start recorded /bin/ringside record --kvm --exits --json -t $tid1_0 -o trace --duration 10
start timed /bin/ringside exits --json --than 1ns --tids $tid1_0 10
go vms
stop all {CHOSEN_NAMES} text
finish recorded
finish timed
""")
def forms(case):
    """exits: -p, -v, -a, -t, -T, --vm and a duration each equal the kernel's count"""
    yield from workload_faults(case)
    (one, two) = case.vms()
    yield from chosen_faults(case)
    yield from report_faults(case, "all")
    of_first = only(case, tids_of(two)[0])
    yield from timed_faults(case, of_first)
    yield from timed_record_faults(case, of_first)
    yield from text_faults(case, "text", by_reason(only(case, *tids_of(one))))
    yield from differ("status for a missing vCPU", case.status("no_vcpu"), 1)
    yield from differ("its message", case.read("no_vcpu.err"),
                      f"ringside exits: There's no vCPU 4 for PID {one['pid']}.\n")


def part_faults(case, name, counts, events, expected):
    """Compares the counts of a tool that has a duration with events that the same gate let through.
    The tool may end before the guests do, and count a part of the exits. The events then count the
    same part."""
    yield from same_counts(f"{name}: events, and counts of the same time", events, counts)
    for key, count in counts.items():
        if count > expected.get(key, 0):
            yield f"{name}: {key}: {count}, of {expected.get(key)}"


def timed_faults(case, expected):
    """exits DURATION, with a line for each exit that an entry ended: at most all but the last
    one."""
    yield from differ("exit status of timed", case.status("timed"), 0)
    lines, report = long_lines(case, "timed")
    yield from differ("dropped or lost by timed", (report["dropped"], report["lost"]), (0, 0))
    counts, entered = rows_of(report, case), {key: 0 for key in rows_of(report, case)}
    for row in report["rows"]:
        entered[row["tid"], row["vcpu"], row["code"]] += row["entered"]
    yield from same_counts("timed: lines of --than", added(
        {(line["tid"], line["vcpu"], line["code"]): 1} for line in lines),
        {key: count for key, count in entered.items() if count})
    open_ended = {key: 1 for key in counts if counts[key] == entered[key] + 1}
    if len(open_ended) > 1:
        yield f"timed: {open_ended} exits without an entry: more than one per vCPU"
    yield from part_faults(case, "timed", counts, added([entered, open_ended]), expected)


def timed_record_faults(case, expected):
    """record --kvm --exits --duration: the trace, read back, and the table."""
    yield from differ("exit status of recorded", case.status("recorded"), 0)
    tables = [line for line in map(json.loads, case.read("recorded.out").splitlines())
              if line.get("report") == "exits"]
    report = trace_report(case, "trace")
    yield from differ("tables of recorded, and losses", (len(tables), report["lost"]), (1, 0))
    yield from part_faults(case, "recorded", rows_of(tables[0], case), rows_of(report, case),
                           expected)


def text_faults(case, name, expected):
    """kvmexit's table of one process: KVM_EXIT_REASON COUNT, the largest first."""
    numbers, got, counts = oracle.reason_numbers(case.isa), {}, []
    lines = case.read(name + ".out").splitlines()
    head = [at for at, line in enumerate(lines) if line.split() == ["KVM_EXIT_REASON", "COUNT"]]
    if not head:
        yield f"no table heading in {name}"
        return
    for line in lines[head[0] + 1:]:
        reason, count = line.split()
        got[numbers.get(reason.split("EXIT_REASON_")[-1], reason)] = int(count)
        counts.append(int(count))
    yield from same_counts(name, got, expected)
    yield from differ(f"order of {name}", counts, sorted(counts, reverse=True))


@script("""
prepare vms --vms 1 --vcpus 11; . vms/ids
start one /bin/ringside exits --json -p $pid0 -v 1
start ten /bin/ringside exits --json -p $pid0 -v 10
go vms
stop one ten
""")
def eleven(case):
    """exits: vCPU 1 is not confused with vCPU 10"""
    yield from workload_faults(case)
    for name, number in (("one", 1), ("ten", 10)):
        yield from report_faults(case, name, by_reason(
            case.hist(), lambda tid, vcpu, number=number: vcpu == number), sums=True)


# Causes whose number no guest controls: a page of memory may fault, a WFI may have nothing to wait
# for.
VARYING = ("interrupt", "page fault", "guest fault", "wfx")


@script("""
prepare vms --vms 2 --vcpus 2 --irqchip --move
start exits /bin/ringside exits --json --latency --detail
go vms
stop exits
""")
def latency(case):
    """exits --latency --detail: times add up, and causes are those of the guests"""
    yield from workload_faults(case)
    yield from report_faults(case, "exits")
    report = case.json("exits")
    for vm, vcpu in vcpus(case.vms()):
        label = f"{vm['name']} vCPU {vcpu['vcpu']}"
        rows = [row for row in report["rows"] if row["tid"] == vcpu["tid"]]
        yield from differ(f"{label}: VM of its rows", {row["vm"] for row in rows}, {vm["name"]})
        # No entry follows the last exit.
        yield from differ(f"{label}: exits that an entry ended", sum(r["entered"] for r in rows),
                          sum(r["count"] for r in rows) - 1)
        for row in (row for row in rows if row["entered"]):
            parts = sum(row[part + "_ns"] for part in ("kernel", "user", "poll", "off"))
            yield from differ(f"{label}: parts of {row['reason']}", parts, row["total_ns"])
        yield from time_faults(label, [v for v in report["vcpus"] if v["tid"] == vcpu["tid"]])
        got = {(c["kind"], c["key"]): c["count"] for c in report["causes"]
               if c["tid"] == vcpu["tid"] and c["kind"] not in VARYING}
        yield from same_counts(f"{label}: causes", got, {(kind, key): count
                                                       for kind, key, count in vcpu["causes"]})


STATES = ("unknown", "guest", "kernel", "user", "poll", "halted", "blocked", "wait")
ON_CPU = ("guest", "kernel", "user", "poll")
SLACK_NS = 50_000_000
UNKNOWN_MAX = 0.01


def time_faults(label, found):
    """A vCPU's states add up to the time that it was observed, and equal the scheduler's figures.
    Run and wait are compared together: the scheduler ends a preempted thread's run at the wake-up
    that preempts it (rq_clock_skip_update in kernel/sched/), which an emulator makes long. It also
    lets sleeps begin and end earlier than they are traced. The command itself knows how much earlier
    they may begin, and whether it missed an event, and fails if that doesn't explain a difference."""
    if len(found) != 1:
        yield f"{label}: {len(found)} rows of its time"
        return
    v = {key[:-3]: value for key, value in found[0].items() if key.endswith("_ns")}
    yield from differ(f"{label}: sum of its states", sum(v[state] for state in STATES), v["wall"])
    yield from differ(f"{label}: each switch of its thread was observed", found[0]["complete"], True)
    if v["unknown"] > UNKNOWN_MAX * v["wall"]:
        yield f"{label}: {v['unknown']} ns of {v['wall']} are unknown"
    ours = sum(v[state] for state in (*ON_CPU, "wait"))
    theirs = v.get("sched_run", 0) + v.get("sched_wait", 0)
    slack = SLACK_NS + max(ours, theirs) // 100 + v["unknown"]
    on_cpu = sum(v[state] for state in ON_CPU)
    if not -slack - on_cpu <= theirs - ours <= slack + v["halted"] + v["blocked"]:
        yield f"{label}: {ours} ns on CPUs or waiting, by schedstat {theirs}"


@script("""
prepare early --vms 1 --vcpus 2 --dies 1; . early/ids
start exits /bin/ringside exits --json --latency
go early
prepare late --vms 1 --vcpus 2
go late
quit early
prepare again --vms 1 --vcpus 3 --last-pid $((pid0 - 1)) --last-tid $((tid0_0 - 1))
go again
stop exits
""")
def thread_lifetimes(case):
    """exits: a vCPU thread that ends, a VM that starts later, and reused pids"""
    yield from workload_faults(case, "early", "late", "again")
    yield from report_faults(case, "exits")
    early, late, again = case.vms("early", "late", "again")
    yield from differ("pid of the third VM, which was to be the first VM's", again["pid"],
                      early["pid"])
    if not {v["tid"] for v in early["vcpus"]} & {v["tid"] for v in again["vcpus"]}:
        yield "no tid was used again"
    report = case.json("exits")
    for vm in (early, late, again):
        for vcpu in vm["vcpus"]:
            rows = [v for v in report["vcpus"] if v["tid"] == vcpu["tid"]]
            times = sum(vcpu["tid"] == v["tid"] for each in (early, late, again)
                        for v in each["vcpus"])
            yield from differ(f"threads that had tid {vcpu['tid']}", len(rows), times)
            yield from differ("VM of their rows", {v["vm"] for v in rows}, {"bed-vm0"})
    for vcpu in early["vcpus"]:
        if not any(v["ended"] for v in report["vcpus"] if v["tid"] == vcpu["tid"]):
            yield f"thread {vcpu['tid']} ended, which the report does not show"


@script("""
mkdir /tmp/btf; cp /sys/kernel/btf/vmlinux /tmp/btf; mount -o bind /tmp/btf /sys/kernel/btf
run exits /bin/ringside exits 1
run doctor /bin/ringside doctor
umount /sys/kernel/btf
""")
def absent(case):
    """exits, doctor: a kernel with BTF, but without its modules' BTF, is reported in one line"""
    line = ("the kernel has no BTF of KVM: no /sys/kernel/btf/kvm: "
            "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF_MODULES\n")
    yield from differ("exits", (case.status("exits"), case.read("exits.out"), case.read("exits.err")),
                      (1, "", f"ringside exits: {line}"))
    yield from differ("exit status of doctor", case.status("doctor"), 3)
    if line not in case.read("doctor.out"):
        yield "doctor does not report it"


# ---- exits in other forms ----------------------------------------------------------------------

CODE_RIP = range(0x1000, 0x2000)  # of two guests; workload.h, CODE_GPA
HANDLERS_RIP = range(0x800, 0x820)  # of interrupts and exceptions, on x86


def is_code(rip):
    return rip in CODE_RIP or rip in HANDLERS_RIP


USER_EXITS = {"io": 2, "hlt": 5, "mmio": 6}  # KVM_EXIT_ of linux/kvm.h, without an irqchip


@script("""
prepare vms --vms 1 --vcpus 2
start than /bin/ringside exits --json --than 1ns
start tables /bin/ringside exits --json --interval 500ms
start csv /bin/ringside exits --csv --latency --interval 0.5
start user /bin/ringside exits --json --user
go vms
stop than tables csv user
""")
def shapes(case):
    """exits --than, --interval, --csv and --user: the same counts in other forms"""
    yield from workload_faults(case)
    for name in ("than", "tables", "csv", "user"):
        yield from differ(f"exit status of {name}", case.status(name), 0)
    yield from long_faults(case, "than")
    tables = [json.loads(line) for line in case.read("tables.out").splitlines()]
    if len(tables) < 2:
        yield f"--interval: {len(tables)} tables"
    yield from same_counts("--interval", added(rows_of(table, case) for table in tables),
                           case.hist())
    yield from differ("--interval: each table begins where the one before ended",
                      [table["from_ns"] for table in tables[1:]],
                      [table["to_ns"] for table in tables[:-1]])
    rows = csv.DictReader(case.read("csv.out").splitlines())
    yield from same_counts("--csv", added(
        {tuple(int(row[key]) for key in ("tid", "vcpu", "code")): int(row["count"])}
        for row in rows), case.hist())
    returns = {(row["tid"], row["vcpu"], row["code"]): row["count"]
               for row in case.json("user")["rows"] if row["isa"] == "user"}
    for _, vcpu in vcpus(case.vms()):
        for kind, code in USER_EXITS.items():
            yield from differ(f"--user: {kind} of vCPU {vcpu['vcpu']}",
                              returns.get((vcpu["tid"], vcpu["vcpu"], code)), vcpu["counts"][kind])


def added(tables):
    sums = {}
    for table in tables:
        for key, count in table.items():
            sums[key] = sums.get(key, 0) + count
    return sums


def long_lines(case, name):
    """Returns the lines of --than, and the report after them."""
    lines = [json.loads(line) for line in case.read(name + ".out").splitlines()]
    return [line for line in lines if line["report"] == "long-exit"], lines[-1]


def long_faults(case, name):
    """Each exit that an entry followed took longer than 1 ns; the line has its time, place and
    cause."""
    lines, report = long_lines(case, name)
    yield from same_counts(name, rows_of(report, case), case.hist())
    yield from same_counts("exits of --than", added(
        {(line["tid"], line["vcpu"], line["code"]): 1} for line in lines), {
            (row["tid"], row["vcpu"], row["code"]): row["entered"]
            for row in report["rows"] if row["entered"]})
    for line in lines:
        parts = sum(line[part + "_ns"] for part in ("kernel", "user", "poll", "off"))
        if parts != line["total_ns"] or parts <= 1 or not is_code(int(line["rip"], 16)):
            yield f"--than: {line}"
    for vm, vcpu in vcpus(case.vms()):
        got = added({(line["kind"], line["key"]): 1} for line in lines
                    if line["tid"] == vcpu["tid"] and line.get("kind") not in (None, *VARYING))
        # The first cause is the guest's end, which no entry follows.
        yield from same_counts(f"--than: causes of {vm['name']} vCPU {vcpu['vcpu']}", got, {
            (kind, key): count for kind, key, count in vcpu["causes"][1:]})


@script("""
prepare vms --vms 1 --vcpus 1 --rounds 7
start exits /bin/ringside exits --json --than 1ns
kill -STOP $(cat exits.pid)
go vms
kill -CONT $(cat exits.pid)
stop exits
""")
def overrun(case):
    """exits --than: lines for which the ring had no room are counted and reported, with exit status
    3"""
    yield from workload_faults(case)
    yield from differ("exit status", case.status("exits"), 3)
    lines, report = long_lines(case, "exits")
    yield from same_counts("the counts", rows_of(report, case), case.hist())
    yield from differ("long exits and lost ones", len(lines) + report["lost"],
                      sum(row["entered"] for row in report["rows"]))
    if not lines or not report["lost"]:
        yield f"{len(lines)} long exits, {report['lost']} lost"
    yield from differ("messages", case.read("exits.err"),
                      f"ringside exits: incomplete: {report['lost']} records lost\n")


# ---- record -----------------------------------------------------------------------------------

@script("""
prepare vms --vms 2 --vcpus 2 --irqchip --move
start record /bin/ringside record --kvm --exits --json --buffer 4M -o trace
start exits /bin/ringside exits --json
go vms
stop record exits
""")
def record(case):
    """record --kvm: the trace has the exits that the kernel counted"""
    yield from workload_faults(case)
    yield from differ("record's exit status", case.status("record"), 0)
    yield from report_faults(case, "exits")
    beside = [line for line in map(json.loads, case.read("record.out").splitlines())
              if line.get("report") == "exits"]
    yield from differ("reports of record --exits", len(beside), 1)
    for report in beside:
        yield from same_counts("record --exits", rows_of(report, case), case.hist())
    yield from trace_faults(case, "trace")
    exits, entries, numbers = {}, {}, oracle.reason_numbers(case.isa)
    complete, exceptions = {}, collections.Counter()
    for event in case.events("trace"):
        args = event["args"]
        if event["probe"] == f"kvm:{case.isa}::exit":
            reason = args["reason"]
            key = (args["tid"], event["vcpu"], numbers.get(reason, reason))
            exits[key] = exits.get(key, 0) + 1
        elif event["probe"] == "kvm:vcpu::entry":
            entries[args["tid"]] = entries.get(args["tid"], 0) + 1
        elif event["probe"] == "kvm:session::thread":
            complete[args["tid"]] = args["complete"]
        elif event["probe"] == "kvm:cpu::exception" and not args["again"]:
            exceptions[args["tid"], args["vector"], args["has_error"]] += 1
    # In real mode an exception has no error code.
    yield from same_counts("exceptions in the trace", dict(exceptions), {
        (vcpu["tid"], "GP", 0): count for _, vcpu in vcpus(case.vms())
        for kind, key, count in vcpu["causes"] if (kind, key) == NO_SUCH_MSR})
    yield from same_counts("exits in the trace", exits, case.hist())
    for vm, vcpu in vcpus(case.vms()):
        total = sum(count for key, count in exits.items() if key[0] == vcpu["tid"])
        # The first entry, after the gate opened, and the last exit, without an entry.
        yield from differ(f"entries of {vm['name']} vCPU {vcpu['vcpu']}",
                          entries.get(vcpu["tid"]), total)
        yield from differ(f"{vm['name']} vCPU {vcpu['vcpu']}: each switch of its thread was recorded",
                          complete.get(vcpu["tid"]), 1)
    yield from bt2_faults(case.path("trace"))


NO_SUCH_MSR = "msr read", 0x12345678  # of workload_x86.c, each read is a #GP

SCRIPT = """kvm:svm::exit { @[tid, vcpu, (int)args.reason] = count(); }
	END { printa("%d %d %d %@d\\n", @); }"""


@script(f"""
prepare vms --vms 2 --vcpus 2 --irqchip --move
start sums /bin/ringside script --kvm -q -n '{SCRIPT}'
start events /bin/ringside script --kvm -q -x nopushdown --buffer 4M -n '{SCRIPT}'
go vms
stop sums events
""")
def scripted(case):
    """script --kvm: sums in BPF and events both equal the kernel's count"""
    yield from workload_faults(case)
    for name in ("sums", "events"):
        yield from differ(f"exit status of {name}", case.status(name), 0)
        yield from differ(f"message of {name}", case.read(f"{name}.err"), "")
        rows = [tuple(map(int, line.split())) for line in case.read(f"{name}.out").splitlines()
                if line.strip()]
        yield from same_counts(name, {row[:3]: row[3] for row in rows}, case.hist())


def trace_report(case, trace, *options):
    """Returns the output of report exits for a trace."""
    done = subprocess.run([RINGSIDE, "report", "exits", "--json", *options, case.path(trace)],
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise RuntimeError(f"report exits: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def trace_faults(case, trace):
    """Checks that report exits counts in a trace what the kernel counted."""
    report = trace_report(case, trace)
    yield from differ("lost in the trace", report["lost"], 0)
    yield from same_counts("report exits", rows_of(report, case), case.hist())


@script("""
prepare vms --vms 2 --vcpus 2 --irqchip --move
echo trace-cmd >trace-cmd.command
/bin/trace-cmd record -b 8192 -e kvm -e sched:sched_switch -e sched:sched_waking \\
	-o trace.dat >trace-cmd.out 2>trace-cmd.err </dev/null &
echo $! >trace-cmd.pid
until_true grep -q '^1' $KVM_EXIT/enable # tracing is off until all events are enabled
until_true grep -q 1 /sys/kernel/tracing/tracing_on
go vms
stop trace-cmd
""")
def imported(case):
    """import: trace-cmd's trace.dat has the exits that the kernel counted"""
    yield from workload_faults(case)
    yield from differ("trace-cmd's exit status", case.status("trace-cmd"), 0)
    done = subprocess.run([RINGSIDE, "import", "-o", case.path("trace"), case.path("trace.dat")],
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        yield f"import: exit {done.returncode}: {done.stderr}"
        return
    yield from trace_faults(case, "trace")
    yield from bt2_faults(case.path("trace"))


@script("""
prepare vms --vms 1 --vcpus 2 --irqchip
start flight /bin/ringside record --kvm -o kept --once --flight 60s --when 'exit IOIO > 1us'
go vms
finish flight
run printed /bin/ringside print --json --probe kvm:::exit --probe kvm:::entry kept
""")
def flight(case):
    """record --flight --when: the trace has the events that led to a long exit, and that exit"""
    yield from differ("exit status of record", case.status("flight"), 0)
    yield from differ("exit status of print", case.status("printed"), 0)
    events = [bed.tap.event(line) for line in case.read("printed.out").splitlines()]
    begun, longest = {}, 0
    for event in events:
        tid, is_exit = event["tid"], event["probe"].endswith(":exit")
        if not is_exit and tid in begun:
            longest = max(longest, event["ts"] - begun.pop(tid))
        elif is_exit and event["args"]["reason"] == "IOIO":
            begun[tid] = event["ts"]
    if longest <= 1000:
        yield f"the longest of {len(events)} exits and entries is {longest} ns"


def bt2_faults(trace):
    """Checks that babeltrace2, if installed, reads the same events."""
    done = subprocess.run([sys.executable, COMPARE, RINGSIDE, trace], capture_output=True,
                          text=True, errors="replace", check=False, timeout=bed.LIMIT_S)
    if done.returncode not in (0, 77):
        yield done.stdout + done.stderr

