# SPDX-License-Identifier: BSD-2-Clause
"""A real guest for the testbeds: QEMU boots Linux with KVM inside. Totals equal those of `perf stat`,
and per reason those of `perf kvm stat`, which leaves out exits that no entry followed: the last of
each vCPU. Another guest spins where it is known (guest_spin.c), and is profiled."""
import os
import re
import tempfile

import cases
import oracle
from cases import bed, by_reason, differ, report_faults

FIRMWARE = {"/usr/share/seabios": ("bios-256k.bin",),
            "/usr/share/qemu": ("kvmvapic.bin", "linuxboot_dma.bin")}
GUEST_INIT = b"""#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox md5sum /bin/busybox
/bin/busybox poweroff -f
"""
KVM_STAT_ROW = re.compile(r"^ *(\S.*?) +(\d+) +[\d.]+% +[\d.]+%")


@cases.script("""
start stat /bin/perf stat -a -x , -e kvm:kvm_exit -o counted
start kvmstat /bin/perf kvm stat record -a -o /tmp/perf.data
start exits /bin/ringside exits --json
run qemu /usr/bin/qemu-system-x86_64 -name guest=linux,debug-threads=on -accel kvm -cpu host -smp 1 \\
	-m 192 -nodefaults -display none -no-reboot -serial file:console -kernel /guest/vmlinuz \\
	-initrd /guest/initramfs -append "console=ttyS0 quiet panic=-1 mitigations=off"
stop exits kvmstat stat
run perf /bin/perf kvm -i /tmp/perf.data stat report --event=vmexit
""")
def linux(case):
    """exits of a Linux guest: as perf stat, perf kvm stat and the kernel's histogram count them"""
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
            yield f"{reason}: {ours.get(reason)} exits, perf kvm stat says {theirs.get(reason)}"
    yield from differ("exits that perf kvm stat has not", sum(ours.values()) - sum(theirs.values()),
                      len(vcpus))


SPUN = "--vm spun --symfs /guest/root"
READY = re.compile(r"READY (\d+) (\d+)")
# Where read() of /dev/zero is nearly all the time: read_zero() in drivers/char/mem.c, and what
# clears user memory, by the kernel's version and the processor.
ZEROS = {"read_zero", "read_iter_zero", "clear_user_rep_good", "clear_user_erms", "__clear_user",
         "clear_user_original", "rep_stos_alternative"}
IDLES = {"native_safe_halt", "pv_native_safe_halt", "default_idle", "acpi_safe_halt"}


@cases.script(f"""
echo qemu spun >qemu.command
/usr/bin/qemu-system-x86_64 -name guest=spun,debug-threads=on -accel kvm -cpu host -smp 3 \\
	-m 192 -nodefaults -display none -no-reboot -serial file:console -kernel /guest/vmlinuz \\
	-initrd /guest/spun -append "console=ttyS0 quiet panic=-1 mitigations=off pti=on" \\
	>qemu.out 2>qemu.err </dev/null &
echo $! >qemu.pid
until_true grep -q READY console
run profile /bin/ringside profile --json --top 0 {SPUN} 4
run plain /bin/ringside profile --json --top 0 --vm spun 1
stalled() {{
	run stall /bin/ringside profile --stall --json {SPUN} 1
	grep -q '"state":"halted"' stall.out
}}
until_true stalled
run folded /bin/ringside profile -p $(cat qemu.pid) --to folded -o /tmp/folded --symfs /guest/root 3
cp /tmp/folded paths
run other /bin/ringside profile --vm other 1
run doctor /bin/ringside doctor --json
stop qemu
""")
def spun(case):
    """profile: tasks and functions of a Linux guest that runs, by name, as the guest has them"""
    yield from differ("QEMU's exit status", case.status("qemu"), 0)
    ready = READY.search(case.read("console"))
    if not ready:
        yield f"the guest is not ready: {case.read('console')}"
        return
    spinner, zeroer = map(int, ready.groups())
    for name in ("profile", "plain", "stall"):
        yield from profile_faults(case, name)
    yield from rows_faults(case.json("profile")["rows"], spinner, zeroer)
    files = {(row["function"], row["module"]) for row in case.json("plain")["rows"]
             if row["mode"] == "user" and row["pid"] == spinner}
    yield from differ("functions without --symfs, of the page cache", files,
                      {("spin_inner", "/init")})
    yield from stall_faults(case.json("stall")["rows"], spinner, zeroer)
    yield from path_faults(case.read("paths").splitlines(), spinner, zeroer)
    yield from differ("status for a VM that is not there", case.status("other"), 1)
    doctor = {row["verb"]: row["works"] for row in case.json("doctor")["rows"]}
    yield from differ("doctor's row of profile", doctor["profile"], True)


def profile_faults(case, name):
    """What each profile says of itself. The machine's own kernel is the guest's, too."""
    report = case.json(name)
    yield from differ(f"exit status of {name}", case.status(name), 0)
    with open(os.path.join(os.path.dirname(case.directory), "dmesg"), errors="replace") as file:
        if report["kernel"] not in file.read():
            yield f"{name}: the kernel is {report['kernel']!r}"
    parts = sum(report[part] for part in ("changed", "unread", "encrypted", "refused"))
    yield from differ(f"{name}: parts of what was dropped", parts, report["dropped"])
    yield from differ(f"{name}: ticks", report["ticks"], report["samples"] + report["dropped"])
    yield from differ(f"{name}: vCPUs, whether they were stopped",
                      (report["vcpus"], report["stopped"]), (3, False))
    if report["dropped"] * 20 > report["ticks"] or not report["cost_ns"]:
        yield f"{name}: {report['dropped']} of {report['ticks']} dropped"


def rows_faults(rows, spinner, zeroer):
    """Nearly all of user mode is the one function; the other process is nearly always in read()."""
    user = [row for row in rows if row["mode"] == "user"]
    inner = samples(row for row in user if (row["pid"], row["task"], row["function"], row["module"])
                    == (spinner, "spinner", "spin_inner", "/init"))
    if inner < 20 or inner * 20 < samples(user) * 19:
        yield f"spin_inner has {inner} samples of {samples(user)} in user mode"
    theirs = [row for row in rows if row["pid"] == zeroer]
    zeros = samples(row for row in theirs if row["function"] in ZEROS)
    if zeros < 20 or zeros * 2 < samples(theirs):
        yield f"read() of /dev/zero has {zeros} samples of {samples(theirs)}"
    yield from differ("names of that process", {row["task"] for row in theirs}, {"zeroer"})
    yield from (f"a task that is not known: {row}" for row in rows if row["task"] is None)


def samples(rows):
    return sum(row["samples"] for row in rows)


def stall_faults(rows, spinner, zeroer):
    """Where each vCPU spins, and that the third is halted."""
    first = {vcpu: next((row for row in rows if row["vcpu"] == vcpu), {}) for vcpu in range(3)}
    at = [tuple(first[vcpu].get(key) for key in ("state", "pid", "task")) for vcpu in range(3)]
    yield from differ("the vCPUs that spin", at[:2],
                      [("runs", spinner, "spinner"), ("runs", zeroer, "zeroer")])
    yield from differ("the function of the first", first[0].get("function"), "spin_inner")
    if first[1].get("function") not in ZEROS:
        yield f"the second spins in {first[1].get('function')}"
    halted = [row for row in rows if row["vcpu"] == 2 and not row["samples"]]
    yield from differ("where the third is halted",
                      [(row["state"], row["pid"], row["task"], row["mode"]) for row in halted],
                      [("halted", 0, "swapper/2", "kernel")])
    if halted and halted[0]["function"] not in IDLES:
        yield f"the third is halted in {halted[0]['function']}"


def path_faults(lines, spinner, zeroer):
    """A path with its time: the task, callers of user mode, those of the kernel, the function."""
    times = {path: int(time) for path, time in (line.rsplit(" ", 1) for line in lines)}
    whole = [path for path in times if ";[callers not known]" not in path]
    most = max(times, key=times.get, default="")
    for task, pid, function in (("spinner", spinner, "spin"), ("zeroer", zeroer, "read_zeros")):
        theirs = [path for path in whole if path.startswith(f"{task} ({pid});")]
        if not theirs:
            yield f"folded: no whole stack of {task}: {times}"
        yield from (f"folded: a stack that is none of {task}'s: {path}" for path in theirs
                    if not re.match(rf"\S+ \(\d+\);_start;.*;main;{function}(;|$)", path))
    yield from (f"folded: not in a system call: {path}" for path in whole if ";vfs_read" in path
                and not re.search(r";read_zeros;.*read;entry_SYSCALL_64\w*;do_syscall_64;.*vfs_read",
                                  path))
    if not most.endswith((";spin;spin_outer;spin_inner", *(";" + name for name in ZEROS))):
        yield f"folded: the most is {most}"
    if sum(map(times.get, whole)) * 10 < sum(times.values()) * 9:
        yield f"folded: many stacks that are not whole: {times}"


def spun_programs(directory):
    """What the guest `spun` boots: one program, which the host has in a folder of its own, too."""
    program, spun_guest = (os.path.join(directory, name) for name in ("spin", "spun"))
    bed.build(program, os.path.join(bed.tap.TOP, "tests", "kvm", "guest_spin.c"), "-static-pie",
              "-g")
    bed.initramfs({"init": program}, spun_guest)
    return {"guest/spun": spun_guest, "guest/root/init": program}


def programs(directory):
    """QEMU with its firmware, perf, and what the guest boots."""
    kernel = bed.fetch(bed.kernel_package())
    initramfs = os.path.join(directory, "guest")
    bed.initramfs({**bed.busybox(), "init": GUEST_INIT}, initramfs)
    data = {os.path.join(folder, name).lstrip("/"): bed.one(name, folder)
            for folder, names in FIRMWARE.items() for name in names}
    return {**data, "guest/initramfs": initramfs,
            "guest/vmlinuz": bed.one("boot/vmlinuz-*", kernel),
            "bin/perf": bed.need("perf", "linux-perf"),
            "usr/bin/qemu-system-x86_64": bed.need("qemu-system-x86_64", "qemu-system-x86")}


def test(modules, foot, boot, isa, where, profiled=False):
    """All of a test: the machine that boots with these, and what came of it."""
    chosen = [linux, spun] if profiled else [linux]
    with tempfile.TemporaryDirectory() as directory:
        try:
            inside = programs(directory) | (spun_programs(directory) if profiled else {})
            out = boot(cases.files(modules, chosen, foot, inside), directory)
        except bed.Missing as missing:
            print(f"1..0 # SKIP {missing}")
            return
        cases.check_all(chosen, out, isa, where)
    bed.tap.end()
