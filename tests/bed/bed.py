# SPDX-License-Identifier: BSD-2-Clause
"""Virtual machines for tests: a Debian kernel, unpacked and not installed, with an initramfs made
here, under an emulator that has the hardware that the host may lack. The machine writes its results
to a disk, as a tar archive, or to the serial console.

Packages come from `apt-get download`, once, and stay below the build directory. What cannot be
fetched or booted raises Missing, for which a test skips. Packages of another architecture use a
separate apt state, also below the build directory, because the host's apt does not cover that
architecture."""
import base64
import contextlib
import fcntl
import glob
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "house"))
import tap  # noqa: E402
from limits import counted  # noqa: E402

BUILD = os.path.abspath(tap.BUILD)
BED = os.path.join(BUILD, "testbed")
CLOUD_KERNEL = "linux-image-cloud-amd64"
DISK_BYTES = 64 << 20
LIMIT_S = 2400  # ends a machine that hangs, before tests/run would; see limits.py
# A minute without CPU time means that a machine is stuck, and so do ten minutes without output: the
# script inside polls 20 times a second, and prints what it waits for.
LOOK_S, STILL_S, SILENT_S = 1, 60, 600
BOOTS = 3
DONE = "testbed: done"  # the last line that each machine prints before it powers off
STUCK = "testbed: stuck"  # printed instead by one whose own guest makes no progress
BEGIN, END = "testbed: results", "testbed: end of results"
# The end of an /init that writes its results, below /tmp/out, to a disk; or, in base64, to the
# serial port of Bochs, which drops unwritten output when the machine powers off.
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
OUTPUT_BYTES = 4000  # of a console, in an error message
# Lines of QEMU's monitor: the position, the control registers, and the timer and its interrupts
PROCESSOR = re.compile(r"CPU#|RIP|EIP|RSP|RAX|CR0|GS|EFER|LVTT|Timer|ISR|IRR| *PC=|PSTATE")
# Arguments of each guest's kernel: without console output, and without self-tests of its
# cryptography (crypto/testmgr.c), which are more than half of the instructions of a boot.
QUIET = "quiet cryptomgr.notests"
# readelf: a program's interpreter and the libraries that it needs
NEEDED = re.compile(r"(?:interpreter: |\(NEEDED\).*\[)([^\]]+)\]")

# QEMU's emulation of a machine in which Linux runs on two or more processors, or Xen: in one thread, not
# in one for each processor. QEMU before 8.1 may otherwise keep the translation of code that another
# processor changes at that moment, for ever ("accel/tcg: Always lock pages before translation"). Linux
# changes its own code while it runs (static keys, static calls, trace points): a processor may then
# execute an INT3 again and again that is no longer in memory, with interrupts off, and the others wait
# for it. With one thread nothing is changed during a translation.
TCG_SMP = "tcg,thread=single"

# KVM for AMD, as QEMU emulates it. tsc=reliable, because the inner kernel would adjust the guests'
# TSC without an invariant TSC.
AMD = ["qemu-system-x86_64", "-M", "q35", "-cpu", "EPYC,+svm", "-m", "1G", "-display", "none",
       "-nodefaults", "-no-reboot", "-serial", "stdio"]
# no_timer_check: the kernel's check of its timer ticks fails on a busy host, and the kernel then
# panics: "IO-APIC + timer doesn't work!".
APPEND = f"console=ttyS0 {QUIET} panic=-1 mitigations=off tsc=reliable no_timer_check"
AMD_MODULES = ("irqbypass", "kvm", "kvm-amd")

# KVM for arm64, as QEMU emulates EL2 (virtualization=on); no GICv2, because KVM could not assign
# one to a guest.
ARM64 = ["qemu-system-aarch64", "-M", "virt,virtualization=on,gic-version=3", "-cpu", "cortex-a72",
         "-m", "512", "-smp", "1", "-display", "none", "-nic", "none", "-no-reboot", "-serial",
         "stdio"]
ARM64_APPEND = f"console=ttyAMA0 rdinit=/init {QUIET} panic=-1"
ARM64_KERNEL = "linux-image-cloud-arm64"


def tsc_khz():
    """
    A kernel's argument: the host's rate, which is also that of the TSC in the machine. A kernel on
    a busy machine measures it imprecisely at first, and again a second later. If KVM was loaded in
    between and the two differ by more than 250 ppm, its vCPUs have a scaling ratio and so a TSC
    offset of 0 (kvm_set_tsc_khz()).
"""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            rates = [line.split(":")[1] for line in file if line.startswith("cpu MHz")]
    except OSError:
        rates = []
    return f" tsc_early_khz={int(float(rates[0]) * 1000)}" if rates else ""


class Missing(Exception):
    """A facility that the testbed lacks here."""


class Hung(RuntimeError):
    """The machine did not power off."""


class StoodStill(Hung):
    """The machine made no progress (see class Watch), or its guest did not."""


class Apt:
    """Debian packages for the host's architecture, from the host's own apt."""

    def __init__(self, directory=BED):
        self.directory = directory  # where they are unpacked

    def output_of(self, *words, good=lambda done: not done.returncode, cwd=None):
        """Returns what apt-get or apt-cache prints; None if it fails."""
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
        """Returns whether the package lists can be updated. The host's apt state is never
        changed."""
        return False

    def download(self, packages, to):
        """Downloads their .deb files into `to`."""
        os.makedirs(to, exist_ok=True)
        if self.output_of("apt-get", "-q", "download", *packages, cwd=to) is None:
            raise Missing(f"apt-get download of {', '.join(packages)} failed (apt-get update?)")


class OtherApt(Apt):
    """Packages for another architecture, or of another Debian suite, with a separate apt state. The
    state has no package installed, so that dependencies include everything. The package sources are
    those of the host's apt."""

    def __init__(self, name, config, suite=None):
        super().__init__(os.path.join(BED, name))
        self.config, self.suite, self.refreshed = config, suite, False
        self.state = os.path.join(self.directory, "apt")

    def run(self, *words, **options):
        # An update replaces the lists that others read, and fails beside another update.
        with alone(self.state):
            return super().run(*words, **options)

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
        """Updates the package lists once, if there are none or they are out of date."""
        if self.refreshed:
            return False
        self.refreshed = True
        # Sources without this architecture are ignored; the next request reports a missing package.
        self.run("apt-get", "-q", "update")
        return True


def debian_mirror():
    """Returns the source of the host's Debian main packages."""
    output = HOST.run("apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)",
                    "Created-By: Packages").stdout
    for line in output.splitlines():
        words = line.split()
        if words[:2] == ["Debian", "main"] and words[2].rstrip("/").endswith("/debian"):
            return words[2]
    raise Missing("apt-get knows no source of Debian's packages (apt-get update?)")


# A host's update hooks concern the host's caches only.
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
    """Packages of another Debian suite: "trixie", "sid"."""
    return OtherApt(suite, OF_SUITE, suite)


@contextlib.contextmanager
def alone(to):
    """Holds the lock on files made below the build directory, because suites run in parallel."""
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(to + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(to, packages, apt):
    """Downloads these packages and unpacks them at `to`, completely or not at all."""
    debs, new = to + ".debs", to + ".new"
    for left in (debs, new):  # left by a killed run
        shutil.rmtree(left, ignore_errors=True)
    apt.download(packages, debs)
    for deb in glob.glob(os.path.join(debs, "*.deb")):
        subprocess.run(["dpkg", "-x", deb, new], check=True)
    shutil.rmtree(debs)
    os.rename(new, to)


def fetch(package, apt=HOST):
    """Unpacks one Debian package, once. Returns its path."""
    to = os.path.join(apt.directory, package)
    with alone(to):
        if not os.path.isdir(to):
            unpack(to, [package], apt)
    return to


def fetch_all(name, packages, apt=HOST):
    """Unpacks packages, with their dependencies that are not installed, into one folder, once.
    Returns the folder."""
    to = os.path.join(apt.directory, name)
    with alone(to):
        if os.path.isdir(to):
            return to
        output = apt.output_of("apt-get", "install", "-s", "-qq", "--no-install-recommends", *packages)
        if output is None:
            raise Missing(f"apt-get knows no {', '.join(packages)} (apt-get update?)")
        # "Inst NAME (VERSION ...": what an installation would add; nothing is installed.
        unpack(to, sorted({line.split()[1] for line in output.splitlines()
                           if line.startswith("Inst ")} | set(packages)), apt)
    return to


OF_SOURCES = """
Dir::Etc::SourceList "{state}/sources.list";
Dir::Etc::SourceParts "/dev/null";
"""


class SourceApt(OtherApt):
    """The source packages of the host's release."""

    def __init__(self):
        super().__init__("source", OF_SOURCES)

    def options(self):
        sources = os.path.join(self.state, "sources.list")
        if not os.path.exists(sources):
            os.makedirs(self.state, exist_ok=True)
            with open(sources, "w", encoding="utf-8") as file:
                file.write(f"deb-src {debian_mirror()} {codename()} main\n")
        return super().options()


def codename():
    """The name of the host's release, such as bookworm."""
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r'^VERSION_CODENAME="?(\w+)', file.read(), re.MULTILINE)
    if not found:
        raise Missing("/etc/os-release names no release of Debian")
    return found[1]


def source(package):
    """Unpacks the upstream source of a Debian package, without Debian's changes, once. Returns its
    path."""
    apt = SourceApt()
    to = os.path.join(apt.directory, package)
    with alone(to):
        if os.path.isdir(to):
            return to
        new = to + ".new"
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(new)
        if apt.output_of("apt-get", "-q", "source", "--download-only", package, cwd=new) is None:
            raise Missing(f"apt-get source {package} failed (apt-get update?)")
        with tarfile.open(one("*.orig.tar.*", new)) as archive:
            archive.extractall(new)
        os.rename(new, to)
    return to


def kernel_package(meta=CLOUD_KERNEL, apt=HOST):
    """Returns the newest kernel package that a meta package depends on."""
    needs = "Depends: linux-image-"
    output = apt.output_of("apt-cache", "depends", meta, good=lambda done: needs in done.stdout)
    for line in (output or "").splitlines():
        if needs in line:
            return line.split()[-1]
    raise Missing(f"apt-cache knows no {meta} (apt-get update?)")


def kernel_of_suite():
    """Returns the kernel package of the Debian suite in KERNEL_SUITE, by default the host's."""
    suite = os.environ.get("KERNEL_SUITE")
    return kernel_image(apt=suite_apt(suite) if suite else HOST)


def kernel_image(meta=CLOUD_KERNEL, apt=HOST):
    """Returns the path of that kernel's vmlinuz."""
    package = kernel_package(meta, apt)
    # Since Linux 7, Debian ships it in a package that the kernel's package depends on.
    needs = apt.output_of("apt-cache", "depends", package) or ""
    binary = package.replace("linux-image-", "linux-binary-")
    return one("**/vmlinuz*", fetch(binary if f"Depends: {binary}" in needs else package, apt))


def one(pattern, *where):
    found = glob.glob(os.path.join(*where, pattern), recursive=True)
    if not found:
        raise Missing(f"no {pattern} in {os.path.join(*where)}")
    return found[0]


def need(program, package):
    """Returns the path of a program that must be installed."""
    found = shutil.which(program)
    if not found:
        raise Missing(f"no {program} (package {package})")
    return found


def build(program, source, *words):
    """Builds a guest's program. Raises Missing if the host cannot link it (without a static libc).
    A source that does not compile is an error."""
    command = [need("cc", "gcc"), "-O2", *words, source]
    done = subprocess.run([*command, "-fsyntax-only"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{source}: {done.stderr}")
    done = subprocess.run([*command, "-o", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{os.path.basename(program)} can't be linked here: {done.stderr[-200:]}")


def library_path(root):
    """Returns the folders of the libraries unpacked at `root`, for LD_LIBRARY_PATH."""
    return ":".join(path for folder in ("lib", "usr/lib") for path in
                    glob.glob(os.path.join(root, folder, "*-linux-gnu")))


def loaded(program, root=None):
    """Yields the paths of the libraries that a program needs, including its loader; those that are
    not installed come from `root`."""
    env = {**os.environ, "LD_LIBRARY_PATH": library_path(root)} if root else None
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env=env)
    for line in done.stdout.splitlines():
        if line.endswith("not found"):
            raise RuntimeError(f"{program} needs {line.split()[0]}, which is not there")
        yield from (word for word in line.split() if word.startswith("/"))


def libraries(*programs):
    """Returns the shared objects that programs need, as files of an initramfs."""
    return {path.lstrip("/"): path for program in programs for path in loaded(program)}


def libraries_in(root, *programs):
    """The same for programs that cannot run here; `root` has their libraries, unpacked."""
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
    """Writes files (path in the archive: path or bytes) as a newc cpio archive, with their
    folders."""
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
    """Returns the CPU time of a process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


class Watch:
    """Whether a machine makes progress: it uses CPU time, and now and then writes to its
    output. None: it has no output that is watched."""

    def __init__(self, process, output):
        self.process, self.output = process, output
        self.ticks = self.bytes = None
        self.still_s = self.silent_s = 0

    def is_stuck(self, passed_s):
        ticks = cpu_ticks(self.process.pid)
        self.still_s = self.still_s + passed_s if ticks == self.ticks else 0
        self.ticks = ticks
        if self.output:
            printed = os.fstat(self.output.fileno()).st_size
            self.silent_s = self.silent_s + passed_s if printed == self.bytes else 0
            self.bytes = printed
        return self.still_s >= STILL_S or self.silent_s >= SILENT_S


class Monitor:
    """QEMU's monitor: a socket that it makes at this path."""

    def __init__(self, path):
        self.path, self.socket = path, None

    def send(self, *commands):
        try:
            if not self.socket:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(self.path)
            self.socket.settimeout(LOOK_S)
            self.socket.sendall("".join(command + "\n" for command in commands).encode())
        except OSError:  # QEMU has not made it yet, or has ended
            self.close()

    def received(self, wait_s=0):
        """Returns the next bytes of its output; b"" if there are none, or if it has ended."""
        if not self.socket:
            return b""
        self.socket.settimeout(wait_s)
        try:
            return self.socket.recv(1 << 16)
        except OSError:
            return b""

    def press_key(self):
        """
        Causes an interrupt. QEMU's SVM sometimes loses the request for one: the thread of the
        emulated processor changes the requests in VMRUN and #VMEXIT without a lock, and that of
        the timers at the same time. The interrupt then remains pending in the local APIC, until
        another one arrives. Without one, the processor spins or halts for ever.
"""
        self.send("sendkey shift")
        while self.received():
            pass

    def processors(self):
        """Returns where the processors are, and a second later."""
        self.send("info registers")
        time.sleep(1)
        self.send("info registers", "info lapic", "quit")
        output = b""
        while part := self.received(LOOK_S):
            output += part
        return "\n".join(line for line in output.decode(errors="replace").splitlines()
                         if PROCESSOR.match(line)) or "no answer"

    def close(self):
        self.socket = self.socket and self.socket.close()


def wait(process, output, monitor, limit_s):
    """Waits until a machine ends. Returns whether it ended or was stuck: None if it was neither
    within the limit."""
    watch = Watch(process, output)
    while limit_s > 0:
        try:
            process.wait(timeout=LOOK_S)
            return "ended"
        except subprocess.TimeoutExpired:
            passed_s = counted(LOOK_S)
        if watch.is_stuck(passed_s):
            return "stuck"
        limit_s -= passed_s
        if monitor:
            monitor.press_key()
    return None


def boot(command, limit_s=LIMIT_S, env=None, monitor=None):
    """Runs a machine until it powers off after printing that it is done. Returns its console."""
    with tempfile.TemporaryFile() as file:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.STDOUT, env=env) as process:
            try:
                how = wait(process, file, monitor, limit_s)
                last = f"; its processors: {monitor.processors()}" if monitor and how != "ended" else ""
            finally:
                process.kill()
        file.seek(0)
        output = file.read().decode(errors="replace")
    if DONE not in output:
        raise (StoodStill if how == "stuck" or STUCK in output else Hung)(
            f"the testbed did not end; its console: {output[-OUTPUT_BYTES:]}{last}")
    return output


def boot_again(command, limit_s, path):
    """The same, for a QEMU, whose monitor will be at this path. A machine that is stuck is booted
    again."""
    for attempt in range(BOOTS):
        monitor = Monitor(path)
        try:
            return boot([*command, "-monitor", f"unix:{path},server,nowait"], limit_s,
                        monitor=monitor)
        except StoodStill as still:
            if attempt == BOOTS - 1:
                raise
            print(f"# the machine was stuck, so it is booted again: {still}".replace("\n", "\n# "))
        finally:
            monitor.close()


# QEMU's clock and the TSC then count instructions, 1 ns each, so times depend neither on the host's load
# nor on operations that are slow only in an emulator. The machine must have one CPU: QEMU hangs with two.
ICOUNT, ICOUNT_TSC_KHZ = ("-icount", "shift=0"), " tsc_early_khz=1000000"


def boot_amd(files, directory, cpus=1, limit_s=LIMIT_S, disks=(), icount=False, append=""):
    """
    Boots an initramfs of these files, and a busybox, on a machine with AMD's SVM. /init loads
    /modules/*.ko (AMD_MODULES, in order) and writes its results as a tar archive to /dev/nvme0n1;
    `disks`, read-only, follow as nvme1n1 and so on. With icount the machine's clock counts
    instructions. Returns the folder of the unpacked results.
"""
    qemu = need(AMD[0], "qemu-system-x86")
    kernel = fetch(kernel_package())
    return boot_qemu([qemu, *AMD[1:], "-accel", "tcg" if cpus == 1 else TCG_SMP,
                      *(ICOUNT if icount else ()), "-smp", str(cpus), "-append",
                      APPEND + (ICOUNT_TSC_KHZ if icount else tsc_khz()) + append], kernel,
                     {**busybox(), **modules(kernel, AMD_MODULES), **files}, directory, limit_s,
                     disks)


# Returns the packages that an arm64 build needs here, and the path of meson's cross file.
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
    """Builds targets of meson for arm64. Returns their paths and the libraries' folder."""
    for program, package in (("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                             ("meson", "meson"), ("ninja", "ninja-build")):
        need(program, package)
    which = f"{zlib.crc32(' '.join(ARM64_LIBRARIES).encode()):x}"  # of another list, others are kept
    root = fetch_all(f"sysroot-{which}", ARM64_LIBRARIES, ARM64_APT)
    cross, to = (os.path.join(ARM64_APT.directory, name)
                 for name in (f"cross-{which}.ini", f"build-{which}"))
    with alone(to):
        with open(cross, "w", encoding="utf-8") as file:
            file.write(ARM64_CROSS.format(root=root))
        steps = [["ninja", "-C", to, *targets]]
        if not os.path.exists(os.path.join(to, "build.ninja")):
            steps.insert(0, ["meson", "setup", "--cross-file", cross, "-Doptimization=0",
                             to, tap.TOP])
        for step in steps:
            faults = tap.faults_of(step)
            if faults:
                raise RuntimeError("\n".join(faults))
    return to, root


def boot_arm64(files, directory, limit_s=LIMIT_S):
    """
    The same on a machine with arm64's EL2, whose kernel has KVM built in. `files` are for arm64; a
    busybox is added.
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
    boot_again(command, limit_s, os.path.join(directory, "monitor"))
    return results(disk, os.path.join(directory, "out"))


# Intel's VMX in Bochs, which has one CPU. The serial port is the only output.
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
INTEL_APPEND = f"console=ttyS0 {QUIET} panic=-1 mitigations=off"
INTEL_MODULES = ("irqbypass", "kvm", "kvm-intel")


def boot_intel(files, directory, limit_s=LIMIT_S):
    """
    Boots an initramfs of these files, and a busybox, on a machine with Intel's VMX. /init loads
    /modules/*.ko (INTEL_MODULES, in order), and ends with SERIAL_FOOT. Returns the folder of the
    unpacked results.
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
        raise Missing(f"xorriso made no ISO: {done.stderr[-OUTPUT_BYTES:]}")
    with tempfile.TemporaryFile() as printed:
        with subprocess.Popen([os.path.join(root, "usr/bin/bochs-bin"), "-q", "-f",
                               os.path.join(directory, "bochsrc"), "-rc",
                               os.path.join(directory, "commands")], stdin=subprocess.DEVNULL,
                              stdout=printed, stderr=subprocess.STDOUT, env=env) as process:
            # Its silence means nothing: a command of a script can take Bochs several minutes.
            how = wait(process, None, None, limit_s) or f"no end after {limit_s} s"
            process.kill()
        printed.seek(0)
        last = printed.read().decode(errors="replace")[-OUTPUT_BYTES:]
    output = ""
    if os.path.exists(serial):
        with open(serial, errors="replace") as file:
            output = file.read()
    if DONE not in output:
        raise Hung(f"the testbed did not end; its console: {output[-OUTPUT_BYTES:]}; Bochs: {how}, "
                   f"exit {process.returncode}: {last}")
    packed = base64.b64decode(output[output.index(BEGIN) + len(BEGIN):output.index(END)])
    return results(io.BytesIO(packed), os.path.join(directory, "out"))


def results(packed, to):
    """Unpacks a tar archive from a path, or from bytes."""
    where = {"name": packed} if isinstance(packed, str) else {"fileobj": packed}
    with tarfile.open(**where) as tar:
        tar.extractall(to)
    return to
