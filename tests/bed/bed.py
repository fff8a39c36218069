# SPDX-License-Identifier: BSD-2-Clause
"""Machines for tests: a Debian kernel, unpacked and not installed, with an initramfs that we make,
under an emulator that has what this machine may lack. What runs inside writes its results to a
disk, as a tar archive, or to the serial console.

Packages come from `apt-get download`, once, and stay below the build directory. What can't be
fetched or booted raises Missing, which a test makes a skip of. Those of another architecture come
by an apt state of our own, also there: the host's knows nothing of it.
"""
import base64
import contextlib
import fcntl
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "house"))
import tap  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
BED = os.path.join(BUILD, "testbed")
CLOUD_KERNEL = "linux-image-cloud-amd64"
DISK_BYTES = 64 << 20
LIMIT_S = 1500  # no test times anything; this ends a machine that hangs, before tests/run would
LOOK_S, STILL_LOOKS = 10, 6  # a minute without a tick of CPU time: the emulator stands still
BOOTS = 3
DONE = "testbed: done"  # what each machine says before it powers itself off
BEGIN, END = "testbed: results", "testbed: end of results"
# The end of an /init whose results, below /tmp/out, go to a disk; and, in base64, to the serial port
# of Bochs, which drops what that has not written yet when the machine is powered off.
SERIAL_PAD_BYTES = 10240
FOOT = f"""
cd /tmp/out; dmesg >dmesg
tar cf /dev/nvme0n1 . && sync
echo '{DONE}'
poweroff -f
"""
SERIAL_FOOT = f"""
cd /tmp/out; dmesg >dmesg
echo '{BEGIN}'; tar cz . | base64; echo '{END}'
echo '{DONE}'
head -c {SERIAL_PAD_BYTES} /dev/zero | tr '\\0' ' '; echo; sleep 1
poweroff -f
"""
SAID_BYTES = 4000  # of a console, in an error
# readelf: what a program is started by, and the libraries that it names.
NEEDED = re.compile(r"(?:interpreter: |\(NEEDED\).*\[)([^\]]+)\]")

# KVM for AMD, as QEMU emulates it. tsc=reliable: without an invariant TSC the kernel inside would
# move the guests' TSC at will.
AMD = ["qemu-system-x86_64", "-M", "q35", "-cpu", "EPYC,+svm", "-m", "1G", "-display", "none",
       "-nodefaults", "-no-reboot", "-serial", "stdio"]
# no_timer_check: the kernel's own look whether its timer ticks fails where the host is busy, and then it
# panics: "IO-APIC + timer doesn't work!".
APPEND = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check"
AMD_MODULES = ("irqbypass", "kvm", "kvm-amd")

# KVM for arm64, as QEMU emulates EL2 (virtualization=on); no GICv2, of which a guest of KVM's could
# not be given a part.
ARM64 = ["qemu-system-aarch64", "-M", "virt,virtualization=on,gic-version=3", "-cpu", "cortex-a72",
         "-m", "512", "-smp", "1", "-display", "none", "-nic", "none", "-no-reboot", "-serial",
         "stdio"]
ARM64_APPEND = "console=ttyAMA0 rdinit=/init quiet panic=-1"
ARM64_KERNEL = "linux-image-cloud-arm64"


def tsc_khz():
    """
    A kernel's argument: this machine's rate, which is that of the TSC inside, too. A kernel on a
    busy machine measures it badly at first and again a second later; if KVM was loaded in between,
    by more than 250 ppm apart, its vCPUs have a scaling ratio and so a TSC offset of 0
    (kvm_set_tsc_khz()).
    """
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            rates = [line.split(":")[1] for line in file if line.startswith("cpu MHz")]
    except OSError:
        rates = []
    return f" tsc_early_khz={int(float(rates[0]) * 1000)}" if rates else ""


class Missing(Exception):
    """What the testbed lacks here."""


class Hung(RuntimeError):
    """The machine did not power itself off."""


class StoodStill(Hung):
    """Its emulator had nothing to do any more, not even a timer."""


class Apt:
    """Debian's packages of the host's architecture, by the host's own apt."""

    def __init__(self, directory=BED):
        self.directory = directory  # where they are unpacked

    def ask(self, *words, good=lambda done: not done.returncode, cwd=None):
        """What apt-get or apt-cache says; None where that is not good."""
        done = self.run(*words, cwd=cwd)
        if not good(done) and self.refresh():
            done = self.run(*words, cwd=cwd)
        return done.stdout if good(done) else None

    def run(self, command, *words, cwd=None):
        try:
            return subprocess.run([command, *self.options(), *words], cwd=cwd, text=True,
                                  capture_output=True, check=False, timeout=LIMIT_S)
        except FileNotFoundError as error:
            raise Missing(f"no {command} to fetch packages with") from error
        except subprocess.TimeoutExpired as error:
            raise Missing(f"{command} did not end in {LIMIT_S} s") from error

    def options(self):
        return []

    def refresh(self):
        """Is there more to know? The host's state is not ours to change."""
        return False

    def download(self, packages, to):
        """Their .deb files, in `to`."""
        os.makedirs(to, exist_ok=True)
        if self.ask("apt-get", "-q", "download", *packages, cwd=to) is None:
            raise Missing(f"apt-get download of {', '.join(packages)} failed (apt-get update?)")


class OtherApt(Apt):
    """
    Those of another architecture, or of another of Debian's suites. The state is ours, and has nothing
    installed: what packages depend on is all that they depend on. Where packages come from, the host's
    apt says.
    """

    def __init__(self, name, config, suite=None):
        super().__init__(os.path.join(BED, name))
        self.config, self.suite, self.refreshed = config, suite, False
        self.state = os.path.join(self.directory, "apt")

    def options(self):
        config = os.path.join(self.state, "apt.conf")
        sources = os.path.join(self.state, "sources.list")
        for inner in ("lists", "archives"):
            os.makedirs(os.path.join(self.state, inner, "partial"), exist_ok=True)
        if self.suite and not os.path.exists(sources):
            with open(sources, "w", encoding="utf-8") as file:
                file.write(f"deb {debian_mirror()} {self.suite} main\n")
        with open(config, "w", encoding="utf-8") as file:
            file.write(OTHER_APT.format(state=self.state) + self.config.format(state=self.state))
        return ["-c", config]

    def refresh(self):
        """Where there are no lists yet, or they have grown old and name what is gone: once."""
        if self.refreshed:
            return False
        self.refreshed = True
        # A source that has nothing for this architecture does not matter; what is asked next does.
        self.run("apt-get", "-q", "update")
        return True


def debian_mirror():
    """Where the host has Debian's main packages from."""
    said = HOST.run("apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)",
                    "Created-By: Packages").stdout
    for line in said.splitlines():
        words = line.split()
        if words[:2] == ["Debian", "main"] and words[2].rstrip("/").endswith("/debian"):
            return words[2]
    raise Missing("apt-get knows no source of Debian's packages (apt-get update?)")


# A host's hooks after an update are about the host's caches.
OTHER_APT = """
Dir::State "{state}";
Dir::State::Lists "{state}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{state}";
#clear APT::Update;
Acquire::Languages "none";
"""
OF_ARM64 = """
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures {{ "arm64"; }};
"""
OF_SUITE = """
Dir::Etc::SourceList "{state}/sources.list";
Dir::Etc::SourceParts "/dev/null";
"""
HOST = Apt()
ARM64_APT = OtherApt("arm64", OF_ARM64)


def suite_apt(suite):
    """The packages of another of Debian's suites: "trixie", "sid"."""
    return OtherApt(suite, OF_SUITE, suite)


@contextlib.contextmanager
def alone(to):
    """Holds the lock of what is made below the build directory: suites run side by side."""
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(to + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(to, packages, apt):
    """Downloads these packages and unpacks them at `to`, whole or not at all."""
    debs, new = to + ".debs", to + ".new"
    for left in (debs, new):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    apt.download(packages, debs)
    for deb in glob.glob(os.path.join(debs, "*.deb")):
        subprocess.run(["dpkg", "-x", deb, new], check=True)
    shutil.rmtree(debs)
    os.rename(new, to)


def fetch(package, apt=HOST):
    """Unpacks one Debian package, once. Returns where it is."""
    to = os.path.join(apt.directory, package)
    with alone(to):
        if not os.path.isdir(to):
            unpack(to, [package], apt)
    return to


def fetch_all(name, packages, apt=HOST):
    """Unpacks packages, with what they depend on and is not installed, into one place, once. Returns
    where that is."""
    to = os.path.join(apt.directory, name)
    with alone(to):
        if os.path.isdir(to):
            return to
        said = apt.ask("apt-get", "install", "-s", "-qq", "--no-install-recommends", *packages)
        if said is None:
            raise Missing(f"apt-get knows no {', '.join(packages)} (apt-get update?)")
        # "Inst NAME (VERSION ...": what an installation would add; nothing is installed here.
        unpack(to, sorted({line.split()[1] for line in said.splitlines()
                           if line.startswith("Inst ")} | set(packages)), apt)
    return to


def kernel_package(meta=CLOUD_KERNEL, apt=HOST):
    """The newest kernel that a meta package stands for."""
    needs = "Depends: linux-image-"
    said = apt.ask("apt-cache", "depends", meta, good=lambda done: needs in done.stdout)
    for line in (said or "").splitlines():
        if needs in line:
            return line.split()[-1]
    raise Missing(f"apt-cache knows no {meta} (apt-get update?)")


def kernel_image(meta=CLOUD_KERNEL, apt=HOST):
    """The file vmlinuz of that kernel."""
    package = kernel_package(meta, apt)
    # Since Linux 7, Debian has it in a package that the kernel's own depends on.
    needs = apt.ask("apt-cache", "depends", package) or ""
    binary = package.replace("linux-image-", "linux-binary-")
    return one("**/vmlinuz*", fetch(binary if f"Depends: {binary}" in needs else package, apt))


def one(pattern, *where):
    found = glob.glob(os.path.join(*where, pattern), recursive=True)
    if not found:
        raise Missing(f"no {pattern} in {os.path.join(*where)}")
    return found[0]


def need(program, package):
    """The path of a program that has to be installed."""
    found = shutil.which(program)
    if not found:
        raise Missing(f"no {program} (package {package})")
    return found


def build(program, source, *words):
    """Builds a guest's program. Missing: what this machine has can't link it (a static libc lacks);
    a source that does not compile is no such thing, but an error."""
    command = [need("cc", "gcc"), "-O2", *words, source]
    done = subprocess.run([*command, "-fsyntax-only"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{source}: {done.stderr}")
    done = subprocess.run([*command, "-o", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{os.path.basename(program)} can't be linked here: {done.stderr[-200:]}")


def library_path(root):
    """Where the libraries of packages that are unpacked at `root` are, for LD_LIBRARY_PATH."""
    return ":".join(path for folder in ("lib", "usr/lib") for path in
                    glob.glob(os.path.join(root, folder, "*-linux-gnu")))


def loaded(program, root=None):
    """Paths of the libraries that a program is started with, its loader among them; where they are
    not installed, those at `root`."""
    env = {**os.environ, "LD_LIBRARY_PATH": library_path(root)} if root else None
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env=env)
    for line in done.stdout.splitlines():
        if line.endswith("not found"):
            raise RuntimeError(f"{program} needs {line.split()[0]}, which is not there")
        yield from (word for word in line.split() if word.startswith("/"))


def libraries(*programs):
    """The shared objects that programs are started with, as files of an initramfs."""
    return {path.lstrip("/"): path for program in programs for path in loaded(program)}


def libraries_in(root, *programs):
    """The same of programs that can't be started here: `root` has their libraries, unpacked."""
    there = {os.path.basename(path): path for folder in ("lib", "usr/lib")
             for path in glob.glob(os.path.join(root, folder, "*-linux-gnu", "*.so*"))}
    found, todo = {}, list(programs)
    while todo:
        done = subprocess.run([need("readelf", "binutils"), "-l", "-d", todo.pop()], check=True,
                              capture_output=True, text=True)
        for name in {os.path.basename(name) for name in NEEDED.findall(done.stdout)} - set(found):
            if name not in there:
                raise Missing(f"no {name} in {root}")
            found[name] = there[name]
            todo.append(there[name])
    return {"lib/" + name: path for name, path in found.items()}


def modules(kernel, names):
    return {f"modules/{name}.ko": one(f"**/{name}.ko", kernel) for name in names}


def busybox(apt=HOST):
    return {"bin/busybox": one("bin/busybox", fetch("busybox-static", apt))}


def initramfs(files, path):
    """Writes files (name inside: path or bytes) as a newc cpio archive, with their folders."""
    folders = {"/".join(name.split("/")[:depth]) for name in files
               for depth in range(1, name.count("/") + 1)} | {"proc", "sys", "dev", "tmp"}
    with open(path, "wb") as archive:
        def entry(number, name, mode, data):
            fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
            head = b"070701" + b"".join(b"%08X" % field for field in fields)
            for part in (head + name.encode() + b"\0", data):
                archive.write(part + b"\0" * (-len(part) % 4))

        number = 0
        for number, name in enumerate(sorted(folders), 1):
            entry(number, name, 0o040755, b"")
        for number, (name, source) in enumerate(sorted(files.items()), number + 1):
            if not isinstance(source, bytes):
                with open(source, "rb") as file:
                    source = file.read()
            entry(number, name, 0o100755, source)
        entry(0, "TRAILER!!!", 0, b"")


def cpu_ticks(pid):
    """What a process has had of the CPU; None: it has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


def console(process, limit_s):
    """What it says, to its end; it is killed when it has not come to one, or stands still."""
    had, looks = None, 0
    for _ in range(0, limit_s, LOOK_S):
        try:
            return process.communicate(timeout=LOOK_S)[0], False
        except subprocess.TimeoutExpired:
            ticks = cpu_ticks(process.pid)
            looks = looks + 1 if ticks == had else 0
            had = ticks
        if looks == STILL_LOOKS:
            break
    process.kill()
    return process.communicate()[0], looks == STILL_LOOKS


def boot(command, limit_s=LIMIT_S, env=None):
    """Runs a machine until it powers itself off, having said that it is done; its console."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", env=env)
    said, still = console(process, limit_s)
    if DONE not in said:
        raise (StoodStill if still else Hung)(
            f"the testbed did not end; its console: {said[-SAID_BYTES:]}")
    return said


def boot_again(command, limit_s):
    """
    The same, for a machine whose emulated processor stops for ever now and then: QEMU's, with SVM,
    halts with interrupts off (GIF) and waits for one. Not even a timer comes any more, so its
    process needs no CPU at all; what runs inside looks 20 times a second whether a wait has ended.
    """
    for attempt in range(BOOTS):
        try:
            return boot(command, limit_s)
        except StoodStill as still:
            if attempt == BOOTS - 1:
                raise
            print("# the emulated processor stood still, and the machine is booted again:",
                  str(still).splitlines()[-1])


def boot_amd(files, directory, cpus=1, limit_s=LIMIT_S, disks=()):
    """
    Boots an initramfs of these files, and a busybox, on a machine with AMD's SVM. /init loads
    /modules/*.ko (AMD_MODULES, in order) and writes its results as a tar archive to /dev/nvme0n1;
    `disks`, read-only, follow as nvme1n1 and so on. Where the results are, unpacked.
    """
    qemu = need(AMD[0], "qemu-system-x86")
    kernel = fetch(kernel_package())
    return boot_qemu([qemu, *AMD[1:], "-accel", "tcg" if cpus == 1 else "tcg,thread=multi",
                      "-smp", str(cpus), "-append", APPEND + tsc_khz()], kernel,
                     {**busybox(), **modules(kernel, AMD_MODULES), **files}, directory, limit_s,
                     disks)


# What a program is built against here for arm64, and a file that tells meson of it.
ARM64_LIBRARIES = ("libc6-dev", "libelf-dev", "libxxhash-dev", "libjansson-dev", "libssl-dev",
                   "libseccomp-dev", "libbpf-dev", "libtraceevent-dev", "libtracefs-dev",
                   "libtracecmd-dev", "libncurses-dev", "libdw-dev", "libiberty-dev",
                   "libprotobuf-c-dev", "libcapstone-dev")
ARM64_CROSS = """
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot={root}']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[properties]
sys_root = '{root}'
pkg_config_libdir = ['{root}/usr/lib/aarch64-linux-gnu/pkgconfig', '{root}/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def build_arm64(*targets):
    """Builds targets of meson for arm64: where they are, and where the libraries are."""
    for program, package in (("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                             ("meson", "meson"), ("ninja", "ninja-build")):
        need(program, package)
    which = f"{zlib.crc32(' '.join(ARM64_LIBRARIES).encode()):x}"  # of another list, others are kept
    root = fetch_all(f"sysroot-{which}", ARM64_LIBRARIES, ARM64_APT)
    cross, to = (os.path.join(ARM64_APT.directory, name)
                 for name in (f"cross-{which}.ini", f"build-{which}"))
    with open(cross, "w", encoding="utf-8") as file:
        file.write(ARM64_CROSS.format(root=root))
    steps = [["ninja", "-C", to, *targets]]
    if not os.path.exists(os.path.join(to, "build.ninja")):
        steps.insert(0, ["meson", "setup", "--cross-file", cross, "-Doptimization=0", to, tap.TOP])
    for step in steps:
        faults = tap.faults_of(step)
        if faults:
            raise RuntimeError("\n".join(faults))
    return to, root


def boot_arm64(files, directory, limit_s=LIMIT_S):
    """
    The same on a machine with arm64's EL2, where KVM is in the kernel: no modules. What is in
    `files` is for arm64; a busybox comes along.
    """
    qemu = need(ARM64[0], "qemu-system-arm")
    kernel = fetch(kernel_package(ARM64_KERNEL, ARM64_APT), ARM64_APT)
    return boot_qemu([qemu, *ARM64[1:], "-append", ARM64_APPEND], kernel,
                     {**busybox(ARM64_APT), **files}, directory, limit_s)


def boot_qemu(command, kernel, files, directory, limit_s, disks=()):
    image, disk = os.path.join(directory, "initramfs"), os.path.join(directory, "disk")
    initramfs(files, image)
    with open(disk, "wb") as file:
        file.truncate(DISK_BYTES)
    command = [*command, "-kernel", one("boot/vmlinuz-*", kernel), "-initrd", image]
    for number, path in enumerate([disk, *disks]):
        command += ["-drive", f"file={path},format=raw,if=none,id=disk{number}"
                    + (",readonly=on" if number else ""),
                    "-device", f"nvme,drive=disk{number},serial={number}"]
    boot_again(command, limit_s)
    return results(disk, os.path.join(directory, "out"))


# Intel's VMX, as Bochs has it; on one CPU, for it has no other. Only the serial port comes out.
BOCHS = ("bochs", "bochs-term", "bochsbios", "vgabios", "isolinux", "syslinux-common", "xorriso")
BOCHSRC = """
config_interface: textconfig
display_library: rfb, options="timeout=0"
cpu: model=corei7_skylake_x, count=1, ips=100000000, reset_on_triple_fault=0
memory: guest=1024, host=1024
romimage: file=$BXSHARE/BIOS-bochs-latest
vgaromimage: file=$BXSHARE/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path={iso}, status=inserted
boot: cdrom
clock: sync=none
com1: enabled=1, mode=file, dev={serial}
log: {log}
panic: action=fatal
error: action=report
info: action=ignore
debug: action=ignore
"""
ISOLINUX = """
default bed
prompt 0
label bed
  kernel vmlinuz
  append initrd=initramfs {append}
"""
INTEL_APPEND = "console=ttyS0 quiet panic=-1 mitigations=off"
INTEL_MODULES = ("irqbypass", "kvm", "kvm-intel")


def boot_intel(files, directory, limit_s=LIMIT_S):
    """
    Boots an initramfs of these files, and a busybox, on a machine with Intel's VMX. /init loads
    /modules/*.ko (INTEL_MODULES, in order), and ends as SERIAL_FOOT. Where the results are, unpacked.
    """
    root = fetch_all("bochs", BOCHS)
    kernel = fetch(kernel_package())
    share, lib = os.path.join(root, "usr/share/bochs"), os.path.join(root, "usr/lib")
    tree, iso = os.path.join(directory, "iso"), os.path.join(directory, "bed.iso")
    serial, log = os.path.join(directory, "serial"), os.path.join(directory, "bochs.log")
    os.makedirs(tree)
    initramfs({**busybox(), **modules(kernel, INTEL_MODULES), **files},
              os.path.join(tree, "initramfs"))
    shutil.copy(one("boot/vmlinuz-*", kernel), os.path.join(tree, "vmlinuz"))
    shutil.copy(os.path.join(lib, "ISOLINUX/isolinux.bin"), tree)
    shutil.copy(os.path.join(lib, "syslinux/modules/bios/ldlinux.c32"), tree)
    for name, text in (("iso/isolinux.cfg", ISOLINUX.format(append=INTEL_APPEND)),
                       ("bochsrc", BOCHSRC.format(iso=iso, serial=serial, log=log)),
                       ("commands", "continue\n")):
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    env = {**os.environ, "BXSHARE": share, "LD_LIBRARY_PATH": library_path(root),
           "LTDL_LIBRARY_PATH": os.path.join(lib, "x86_64-linux-gnu/bochs/plugins")}
    done = subprocess.run([os.path.join(root, "usr/bin/xorriso"), "-as", "mkisofs", "-quiet",
                           "-o", iso, "-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot",
                           "-boot-load-size", "4", "-boot-info-table", tree],
                          capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise Missing(f"xorriso made no ISO: {done.stderr[-SAID_BYTES:]}")
    try:
        done = subprocess.run([os.path.join(root, "usr/bin/bochs-bin"), "-q", "-f",
                               os.path.join(directory, "bochsrc"), "-rc",
                               os.path.join(directory, "commands")], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", env=env,
                              check=False, timeout=limit_s)
        ended = f"exit {done.returncode}: {done.stdout[-SAID_BYTES:]}{done.stderr[-SAID_BYTES:]}"
    except subprocess.TimeoutExpired:
        ended = f"no end after {limit_s} s"
    said = ""
    if os.path.exists(serial):
        with open(serial, errors="replace") as file:
            said = file.read()
    if DONE not in said:
        raise Hung(f"the testbed did not end; its console: {said[-SAID_BYTES:]}; Bochs: {ended}")
    packed = base64.b64decode(said[said.index(BEGIN) + len(BEGIN):said.index(END)])
    return results(io.BytesIO(packed), os.path.join(directory, "out"))


def results(packed, to):
    """Unpacks a tar archive: a path, or bytes to read."""
    where = {"name": packed} if isinstance(packed, str) else {"fileobj": packed}
    with tarfile.open(**where) as tar:
        tar.extractall(to)
    return to
