# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest for the testbeds: QEMU boots Linux on the KVM in the machine. Totals equal those of
`perf stat`, and counts by reason those of `perf kvm stat`, which leaves out exits that no entry
followed: the last of each vCPU. Another guest spins in known functions (guest_spin.c) and is
profiled."""
import math
import os
import re
import subprocess

import cases
import oracle
from cases import bed, by_reason, differ, report_faults

FIRMWARE = {"/usr/share/seabios": ("bios-256k.bin",),
            "/usr/share/qemu": ("kvmvapic.bin", "linuxboot_dma.bin")}
CRASH = os.path.join(bed.BUILD, "examples", "guests", "crash")
GUEST_INIT = b"""#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox md5sum /bin/busybox
/bin/busybox poweroff -f
"""
KVM_STAT_ROW = re.compile(r"^ *(\S.*?) +(\d+) +[\d.]+% +[\d.]+%")


@cases.script(f"""
start stat /bin/perf stat -a -x , -e kvm:kvm_exit -o counted
start kvmstat /bin/perf kvm stat record -a -o /tmp/perf.data
start exits /bin/ringside exits --json
run qemu /usr/bin/qemu-system-x86_64 -name guest=linux,debug-threads=on -accel kvm -cpu host -smp 1 \\
	-m 192 -nodefaults -display none -no-reboot -serial file:console -kernel /guest/vmlinuz \\
	-initrd /guest/initramfs -append "console=ttyS0 {bed.QUIET} panic=-1 mitigations=off"
stop exits kvmstat stat
run perf /bin/perf kvm -i /tmp/perf.data stat report --event=vmexit
""")
def linux(case):
    """exits of a Linux guest equal those of perf stat, perf kvm stat and the kernel's histogram"""
    hist = case.hist()
    yield from differ("QEMU's exit status", case.status("qemu"), 0)
    if sum(hist.values()) < 1000:
        yield f"{sum(hist.values())} exits: no Linux booted; its console: {case.read('console')}"
    yield from report_faults(case, "exits")
    yield from differ("the VM's name", {row["vm"] for row in case.json("exits")["rows"]}, {"linux"})
    counted = re.search(r"^(\d+),[^,]*,kvm:kvm_exit", case.read("counted"), re.M)
    yield from differ("perf stat's total", counted and int(counted.group(1)), sum(hist.values()))
    numbers = oracle.kernel_names(case.isa)
    theirs = {numbers.get(row.group(1), row.group(1)): int(row.group(2)) for row in
              filter(None, map(KVM_STAT_ROW.match, (case.read("perf.out")
                                                   + case.read("perf.err")).splitlines()))}
    ours, vcpus = by_reason(hist), {key[:2] for key in hist}
    for reason in set(ours) | set(theirs):
        more = ours.get(reason, 0) - theirs.get(reason, 0)
        if not 0 <= more <= len(vcpus):
            yield f"{reason}: {ours.get(reason)} exits, perf kvm stat has {theirs.get(reason)}"
    yield from differ("exits that perf kvm stat lacks", sum(ours.values()) - sum(theirs.values()),
                      len(vcpus))


SPUN = "--vm spun --symfs /guest/root"
READY = re.compile(r"READY (\d+) (\d+)")
# The spinner's functions and their shares: guest_spin.c. A share must be right within 3 %; with few
# samples, within what chance exceeds once in a million.
DROPPED = ("changed", "unread", "encrypted", "refused")  # why samples are dropped
PARTS = {"spin_inner": 5003, "spin_framed": 3001}
SHARE_PERCENT, SHARE_DEVIATIONS = 3, 5
# The functions where read() of /dev/zero spends nearly all its time: read_zero() in
# drivers/char/mem.c, and the one that clears user memory, by kernel version and processor.
ZEROS = {"read_zero", "read_iter_zero", "clear_user_rep_good", "clear_user_erms", "__clear_user",
         "clear_user_original", "rep_stos_alternative"}
UNKNOWN = "[callers not known]"
IDLES = {"native_safe_halt", "pv_native_safe_halt", "default_idle", "acpi_safe_halt"}


SPUN_BEGIN = """
echo qemu spun >qemu.command
/usr/bin/qemu-system-x86_64 -name guest=spun,debug-threads=on -accel kvm -cpu host -smp {smp} \\
	-m 192 -nodefaults -display none -no-reboot -serial file:console -kernel /guest/vmlinuz \\
	-initrd /guest/spun -append "console=ttyS0 {quiet} panic=-1 mitigations=off pti=on {append}" \\
	{more} >qemu.out 2>qemu.err </dev/null &
echo $! >qemu.pid
until_true grep -q READY console
"""


@cases.script(f"""
{SPUN_BEGIN.format(quiet=bed.QUIET, smp=3, append='', more='')}
run profile /bin/ringside profile --json --top 0 --interval 4ms {SPUN} 12
run plain /bin/ringside profile --json --top 0 --interval 4ms --vm spun 4
stalled() {{
	run stall /bin/ringside profile --stall --json --interval 4ms {SPUN} 2
	grep -q '"state":"halted"' stall.out
}}
until_true stalled
run folded /bin/ringside profile -p $(cat qemu.pid) --to folded -o /tmp/folded --interval 4ms \\
	--symfs /guest/root 3
cp /tmp/folded paths
run other /bin/ringside profile --vm other 1
run doctor /bin/ringside doctor --json
stop qemu
""")
def spun(case):
    """profile shows tasks and functions of a running Linux guest by the guest's names"""
    yield from differ("QEMU's exit status", case.status("qemu"), 0)
    spinner, zeroer = pids(case)
    for name in ("profile", "plain", "stall"):
        yield from profile_faults(case, name)
    yield from rows_faults(case.json("profile")["rows"], spinner, zeroer)
    files = {(row["function"], row["module"]) for row in case.json("plain")["rows"]
             if row["mode"] == "user" and row["pid"] == spinner and row["function"] in PARTS}
    yield from differ("functions without --symfs, of the page cache", files,
                      {(name, "/init") for name in PARTS})
    yield from stall_faults(case.json("stall")["rows"], spinner, zeroer)
    yield from path_faults(case.read("paths").splitlines(), spinner, zeroer)
    yield from differ("status for a missing VM", case.status("other"), 1)
    doctor = {row["verb"]: row["works"] for row in case.json("doctor")["rows"]}
    yield from differ("doctor's row of profile", doctor["profile"], True)


def pids(case):
    """Returns the numbers of the guest's processes, which it prints when both run."""
    ready = READY.search(case.read("console"))
    if not ready:
        raise ValueError(f"the guest is not ready: {case.read('console')}")
    return map(int, ready.groups())


def profile_faults(case, name, vcpus=3):
    """Checks the header of each profile. The machine's own kernel is also the guest's."""
    report = case.json(name)
    yield from differ(f"exit status of {name}", case.status(name), 3 if report["refused"] else 0)
    with open(os.path.join(os.path.dirname(case.directory), "dmesg"), errors="replace") as file:
        if report["kernel"] not in file.read():
            yield f"{name}: the kernel is {report['kernel']!r}"
    parts = sum(report[part] for part in DROPPED)
    yield from differ(f"{name}: parts of what was dropped", parts, report["dropped"])
    yield from differ(f"{name}: ticks", report["ticks"], report["samples"] + report["dropped"])
    yield from differ(f"{name}: vCPUs, and whether they were stopped",
                      (report["vcpus"], report["stopped"]), (vcpus, False))
    # How many samples are dropped depends on when the command runs.
    if (report["dropped"] - report["refused"]) * 20 > report["ticks"] or not report["cost_ns"]:
        yield f"{name}: {report['dropped']} of {report['ticks']} dropped"


def rows_faults(rows, spinner, zeroer):
    """User mode is nearly always in two functions, in known shares; the other process is nearly
    always in read()."""
    user = [row for row in rows if row["mode"] == "user"]
    parts = {name: samples(row for row in user
                           if (row["pid"], row["task"], row["function"], row["module"])
                           == (spinner, "spinner", name, "/init")) for name in PARTS}
    if min(parts.values()) < 10 or sum(parts.values()) * 20 < samples(user) * 19:
        yield f"{parts} samples of {samples(user)} in user mode"
    all_samples = max(1, sum(parts.values()))
    for name, part in PARTS.items():
        share, right = parts[name] / all_samples, part / sum(PARTS.values())
        chance = SHARE_DEVIATIONS * math.sqrt(right * (1 - right) / all_samples)
        output = (f"{name} has {100 * share:.2f} % of {all_samples} samples, and {100 * right:.2f} % "
                "of the instructions")
        print(f"# {output}")
        if abs(share - right) > max(SHARE_PERCENT / 100, chance):
            yield output
    theirs = [row for row in rows if row["pid"] == zeroer]
    zeros = samples(row for row in theirs if row["function"] in ZEROS)
    if zeros < 20 or zeros * 2 < samples(theirs):
        yield f"read() of /dev/zero has {zeros} samples of {samples(theirs)}"
    yield from differ("names of that process", {row["task"] for row in theirs}, {"zeroer"})
    yield from (f"an unknown task: {row}" for row in rows if row["task"] is None)


def samples(rows):
    return sum(row["samples"] for row in rows)


def stall_faults(rows, spinner, zeroer):
    """Where each vCPU spins; the third is halted."""
    first = {vcpu: next((row for row in rows if row["vcpu"] == vcpu), {}) for vcpu in range(3)}
    at = [tuple(first[vcpu].get(key) for key in ("state", "pid", "task")) for vcpu in range(3)]
    yield from differ("the vCPUs that spin", at[:2],
                      [("runs", spinner, "spinner"), ("runs", zeroer, "zeroer")])
    if first[0].get("function") not in PARTS:
        yield f"the first spins in {first[0].get('function')}"
    if first[1].get("function") not in ZEROS:
        yield f"the second spins in {first[1].get('function')}"
    halted = [row for row in rows if row["vcpu"] == 2 and not row["samples"]]
    yield from differ("where the third is halted",
                      [(row["state"], row["pid"], row["task"], row["mode"]) for row in halted],
                      [("halted", 0, "swapper/2", "kernel")])
    if halted and halted[0]["function"] not in IDLES:
        yield f"the third is halted in {halted[0]['function']}"


def times_of(lines):
    """Paths and their times: a path has the task, user callers, kernel callers and the function."""
    return {path: int(time) for path, time in (line.rsplit(" ", 1) for line in lines)}


def path_faults(lines, spinner, zeroer):
    """Stacks of both processes, nearly all of them complete."""
    times = times_of(lines)
    whole = [path for path in times if UNKNOWN not in path]
    for task, pid, function in (("spinner", spinner, "spin"), ("zeroer", zeroer, "read_zeros")):
        if not any(path.startswith(f"{task} ({pid});") for path in whole):
            yield f"folded: no complete stack of {task}: {times}"
        yield from foreign_stacks(times, task, pid, function)
    most = max(times, key=times.get, default="")
    yield from (f"folded: not in a system call: {path}" for path in whole if ";vfs_read" in path
                and not re.search(r";read_zeros;.*read;entry_SYSCALL_64\w*;do_syscall_64;.*vfs_read",
                                  path))
    if not most.endswith((*(";spin;spin_outer;" + name for name in PARTS),
                          *(";" + name for name in ZEROS))):
        yield f"folded: the most is {most}"
    if sum(map(times.get, whole)) * 10 < sum(times.values()) * 9:
        yield f"folded: many incomplete stacks: {times}"


def foreign_stacks(times, task, pid, function):
    """Yields stacks of a process that do not belong to its program."""
    yield from (f"folded: a stack that does not belong to {task}: {path}" for path in times
                if path.startswith(f"{task} ({pid});") and path.split(";")[1] != UNKNOWN
                and not re.match(rf"\S+ \(\d+\);_start;.*;main;{function}(;|$)", path))


# In this machine a second has 3.5 G cycles, an instruction each: times are short.
@cases.script(f"""
WAIT_US=5000
{SPUN_BEGIN.format(quiet=bed.QUIET, smp=1, append='', more='')}
run profile /bin/ringside profile --json --top 0 --interval 300us {SPUN} 150ms
run folded /bin/ringside profile --interval 300us --to folded -o /tmp/folded {SPUN} 100ms
cp /tmp/folded paths
run doctor /bin/ringside doctor --json
stop qemu
WAIT_US=50000
""")
def spun_vmx(case):
    """profile of a Linux guest whose stack pointer and page table KVM keeps in the VMCS"""
    yield from differ("QEMU's exit status", case.status("qemu"), 0)
    spinner, zeroer = pids(case)
    yield from profile_faults(case, "profile", 1)
    rows = case.json("profile")["rows"]
    yield from rows_faults(rows, spinner, zeroer)
    yield from (f"no function: {row}" for row in rows if row["function"] is None)
    yield from bare_path_faults(case.read("paths").splitlines(), spinner, zeroer)
    doctor = {row["verb"]: row["works"] for row in case.json("doctor")["rows"]}
    yield from differ("doctor's row of profile", doctor["profile"], True)


def bare_path_faults(lines, spinner, zeroer):
    """Callers are known of a function with a frame pointer, and up to the entry of a system
    call."""
    times = times_of(lines)
    for task, pid, function in (("spinner", spinner, "spin"), ("zeroer", zeroer, "read_zeros")):
        yield from foreign_stacks(times, task, pid, function)
    called = {path.rpartition(";")[2]: path.partition(";")[2] for path in times
              if path.startswith((f"spinner ({spinner});", f"zeroer ({zeroer});"))}
    yield from differ("spin_inner()", called.get("spin_inner"), f"{UNKNOWN};spin_inner")
    for name, words in (("spin_framed", r"_start;.*;main;spin;spin_outer;spin_framed"),
                        *((name, rf"_start;.*;main;read_zeros;.*read;{re.escape(UNKNOWN)};{name}")
                          for name in ZEROS if name in called)):
        if not re.fullmatch(words, called.get(name, "")):
            yield f"folded: callers of {name}: {called.get(name)}"
    if not ZEROS & set(called):
        yield f"folded: {times}"


# Memory of VMMs that share it with other processes.
MEMFD = "-object memory-backend-memfd,id=ram,size=192M,share=on -machine memory-backend=ram"


@cases.script(f"""
{SPUN_BEGIN.format(quiet=bed.QUIET, smp=3, append='', more=MEMFD)}
run profile /bin/ringside profile --json {SPUN} 3
stop qemu
""")
def memfd(case):
    """profile of a guest with memory in a memfd"""
    yield from differ("QEMU's exit status", case.status("qemu"), 0)
    report = case.json("profile")
    print(f"# a sample costs {report['cost_ns'] // report['ticks']} ns in the vCPU's thread, "
          f"{report['read_ns'] // report['ticks']} ns in the command; {report['dropped']} of "
          f"{report['ticks']} dropped")
    yield from profile_faults(case, "profile")
    seen = {(row["task"], row["function"]) for row in report["rows"]}
    yield from (f"no sample of {name}" for name in PARTS if ("spinner", name) not in seen)


def place_of(program, function):
    """Returns where a function begins and its size, as nm prints them."""
    nm = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    return next((int(row[0], 16), int(row[1], 16))
                for row in map(str.split, nm.splitlines()) if row[-1] == function)


# A VMM that is not QEMU, with anonymous memory, and a guest that is not Linux.
@cases.script("""
/bin/ringside run --name tiny /guest/crash endless >vmm.out 2>vmm.err </dev/null &
echo $! >vmm.pid; echo ringside run >vmm.command
has_vcpu() { ls -l /proc/$(cat vmm.pid)/fd | grep -q kvm-vcpu; }
until_true has_vcpu
run rows /bin/ringside profile --json --top 0 --vm tiny 2
run folded /bin/ringside profile --vm tiny --to folded -o /tmp/tiny 2
cp /tmp/tiny paths
stop vmm
""")
def micro(case):
    """profile of a guest in the micro-VM, which has no kernel: addresses and a page table"""
    for name in ("rows", "folded"):  # no Linux is found
        yield from differ(f"exit status of {name}", case.status(name), 3)
    report = case.json("rows")
    yield from differ("kernel, vCPUs", (report["kernel"], report["vcpus"]), (None, 1))
    if not report["samples"]:
        yield "no samples"
    rows = {(row["task"], row["function"], row["module"]) for row in report["rows"]}
    yield from differ("names without a kernel", rows, {(None, None, None)})
    yield from differ("page tables", len({row["cr3"] for row in report["rows"]}), 1)
    begin, size = place_of(CRASH, "endless")
    paths = [re.fullmatch(r"page table 0x[0-9a-f]+;0x([0-9a-f]+)", path)
             for path in times_of(case.read("paths").splitlines())]
    if not paths or not all(paths):
        yield f"folded: {case.read('paths')}"
    yield from (f"{path[0]} is not in endless()" for path in paths
                if path and not begin <= int(path[1], 16) < begin + size)


def spun_programs(directory):
    """What the guest `spun` boots: one program, which the host also has in a folder."""
    program, spun_guest = (os.path.join(directory, name) for name in ("spin", "spun"))
    bed.build(program, os.path.join(bed.tap.TOP, "tests", "kvm", "guest_spin.c"), "-static-pie",
              "-g")
    bed.initramfs({"init": program}, spun_guest)
    return {"guest/spun": spun_guest, "guest/root/init": program, "guest/crash": CRASH}


def programs(directory):
    """QEMU with its firmware, and its guests."""
    kernel = bed.fetch(bed.kernel_package())
    initramfs = os.path.join(directory, "guest")
    bed.initramfs({**bed.busybox(), "init": GUEST_INIT}, initramfs)
    data = {os.path.join(folder, name).lstrip("/"): bed.one(name, folder)
            for folder, names in FIRMWARE.items() for name in names}
    return {**data, **spun_programs(directory), "guest/initramfs": initramfs,
            "guest/vmlinuz": bed.one("boot/vmlinuz-*", kernel),
            "usr/bin/qemu-system-x86_64": bed.need("qemu-system-x86_64", "qemu-system-x86")}


def programs_and_perf(directory):
    """The same, and perf, with which linux() compares."""
    return {**programs(directory), "bin/perf": bed.need("perf", "linux-perf")}
