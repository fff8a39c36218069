# SPDX-License-Identifier: BSD-2-Clause
"""A real guest for the testbeds: QEMU boots Linux with KVM inside. Totals equal those of `perf stat`,
and per reason those of `perf kvm stat`, which leaves out exits that no entry followed: the last of
each vCPU."""
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


def test(modules, foot, boot, isa, where):
    """All of a test: the machine that boots with these, and what came of it."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            out = boot(cases.files(modules, [linux], foot, programs(directory)), directory)
        except bed.Missing as missing:
            print(f"1..0 # SKIP {missing}")
            return
        cases.check_all([linux], out, isa, where)
    bed.tap.end()
