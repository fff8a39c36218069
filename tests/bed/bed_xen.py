# SPDX-License-Identifier: BSD-2-Clause
"""The real Xen under QEMU: Debian's hypervisor, a Debian kernel as dom0 with an initramfs made
here, and guests that xl creates in it. Boots in half a minute.

The processor is emulated, so that any host can run it. Features that Xen or dom0 would use and the
emulation lacks are off: SMAP (dom0 dies at an iretq), MONITOR (Xen dies in mwait), RDTSCP and XSAVE
(guests fault).
"""
import glob
import gzip
import os
import shutil

import bed

QEMU = ["qemu-system-x86_64", "-M", "q35", "-accel", bed.TCG_SMP, "-cpu",
        "EPYC,-smap,-smep,-monitor,-xsave,-rdtscp", "-m", "2G", "-nodefaults", "-display", "none",
        "-net", "none", "-no-reboot", "-serial", "stdio"]
XEN_APPEND = "console=com1 com1=115200,8n1 loglvl=all dom0_mem=1024M,max:1024M"
DOM0_APPEND = f"console=hvc0 earlyprintk=xen {bed.QUIET} panic=-1"
DOM0_KERNEL = "linux-image-amd64"  # the cloud kernel is no dom0
MODULES = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "virtio_blk", "xen-privcmd", "xen-evtchn", "xenfs", "xen-gntdev", "xen-gntalloc")
RESULTS = "/dev/vda"
VERSION = "4.17"
PACKAGES = ("xen-hypervisor-4.17-amd64", "xen-utils-4.17", "libxenmisc4.17", "libxencall1",
            "libxendevicemodel1", "libxenevtchn1", "libxenforeignmemory1", "libxengnttab1",
            "libxenhypfs1", "libxenstore4", "libxentoolcore1", "libxentoollog1", "libyajl2")
TOOLS = ("xentrace", "xl", "xenstored", "xen-init-dom0", "xenconsoled")
LIMIT_S = 1500

# The beginning of /init: devices, results folder, and with a toolstack for guests.
HEAD = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/lib/xen-{version}/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /tmp/out /var/lib/xen /var/log/xen /run/xen /var/lib/xenstored /dev/pts /etc/xen
mount -t devpts devpts /dev/pts
: >/etc/xen/xl.conf
ln -s /run /var/run
ln -s /run /var/lock
for module in {modules}; do insmod /modules/$module.ko; done
mount -t xenfs xenfs /proc/xen
"""
TOOLSTACK = """
xenstored --pid-file /run/xenstored.pid
xen-init-dom0
xenconsoled --pid-file=/run/xenconsoled.pid
"""
FOOT = """
cd /tmp/out
dmesg >dmesg
tar cf {results} . && sync
echo '{done}'
poweroff -f
"""


def packages():
    """Xen's hypervisor and tools, unpacked into one folder with their dependencies."""
    return bed.fetch_all("xen-" + VERSION, PACKAGES)


def tool(name):
    return bed.one(f"usr/lib/xen-{VERSION}/bin/{name}", packages())


def libraries(*programs):
    """Returns the libraries that programs need, and Xen's libraries, which Ringside may load, where
    the loader searches."""
    root, found = packages(), {}
    # pthread_cancel(), which xl uses, loads this library at run time.
    at_run_time = [bed.one("libgcc_s.so.1", "/lib/x86_64-linux-gnu")]
    shared = glob.glob(os.path.join(root, "usr/lib/x86_64-linux-gnu", "lib*.so.*"))
    for program in (*programs, *shared):
        for path in (*bed.loaded(program, root), *at_run_time):
            inside = path.lstrip("/")
            if path.startswith(root):
                inside = "lib/x86_64-linux-gnu/" + os.path.basename(path)
            found[inside] = path
    for path in shared:
        if len(os.path.basename(path).split(".so.")[1].split(".")) <= 2:
            found["lib/x86_64-linux-gnu/" + os.path.basename(path)] = path
    return found


def init(body, toolstack=True):
    """Returns /init, with these lines of shell in the middle. It writes /tmp/out as the results."""
    head = HEAD.format(version=VERSION, modules=" ".join(MODULES))
    return (head + (TOOLSTACK if toolstack else "") + body
            + FOOT.format(results=RESULTS, done=bed.DONE)).encode()


def boot_xen(files, directory, cpus=2, xen_append="", limit_s=LIMIT_S):
    """
    Boots an initramfs of these files as dom0, with a busybox, Xen's tools and their libraries.
    /init comes from init(). Returns the folder of the unpacked results, which also has the console,
    as `console`.
"""
    qemu = bed.need(QEMU[0], "qemu-system-x86")
    kernel = bed.fetch(bed.kernel_package(DOM0_KERNEL))
    tools = {f"usr/lib/xen-{VERSION}/bin/{name}": tool(name) for name in TOOLS}
    programs = [path for name, path in files.items() if name.startswith("bin/")]
    image, disk = os.path.join(directory, "initramfs"), os.path.join(directory, "disk")
    xen, out = os.path.join(directory, "xen"), os.path.join(directory, "out")
    bed.initramfs({**bed.busybox(), **bed.modules(kernel, MODULES), **tools,
                   **libraries(*tools.values(), *programs), **files}, image)
    with gzip.open(bed.one(f"boot/xen-{VERSION}-amd64.gz", packages())) as packed, \
            open(xen, "wb") as file:
        shutil.copyfileobj(packed, file)
    with open(disk, "wb") as file:
        file.truncate(bed.DISK_BYTES)
    command = [qemu, *QEMU[1:], "-smp", str(cpus), "-kernel", xen, "-append",
               f"{XEN_APPEND} dom0_max_vcpus={cpus} {xen_append}", "-initrd",
               f"{bed.one('boot/vmlinuz-*', kernel)} {DOM0_APPEND},{image}",
               "-drive", f"file={disk},format=raw,if=none,id=disk0",
               "-device", "virtio-blk-pci,drive=disk0"]
    output = bed.boot(command, limit_s)
    os.makedirs(out, exist_ok=True)
    bed.results(disk, out)
    with open(os.path.join(out, "console"), "w", encoding="utf-8") as file:
        file.write(output)
    return out
