# SPDX-License-Identifier: BSD-2-Clause
"""A Debian kernel that boots under QEMU with linux_init.c as its /init, the guest's output, and a
core of the machine (QEMU's dump-guest-memory)."""
import glob
import json
import lzma
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "bed"), os.path.join(HERE, "..", "house")]
import bed  # noqa: E402
import gdb_stub  # noqa: E402
from limits import attempts  # noqa: E402

LIMIT_S = 400  # ends a test that hangs; see limits.py
ANSWER_S = 60  # a monitor that takes longer hangs
MEMORY_MIB = 256
GAMMA_MARK = "R15=67616d6d61676d61"  # of linux_init.c
ENTRY = "asm_sysvec_apic_timer_interrupt"
ENTRY_STEPS = 5  # asm_sysvec_apic_timer_interrupt() of Linux 6.1 calls error_entry() within them
INTERRUPTS = 0x200  # of EFLAGS
ENTRY_STACK = "RSP=fffffe"  # in the area of the processors' entries; no other stack is there
DATA = b"mapped " * 4096
MODULES = ("fuse", "tun")  # of linux_init.c
# The kernel's reports of a slow machine would be among the guest's lines.
SILENT = "loglevel=1 nosoftlockup workqueue.watchdog_thresh=0"
APPEND = f"console=ttyS0 {bed.QUIET} {SILENT} panic=-1 tsc=reliable no_timer_check "


class Said:
    """The guest's output."""

    def __init__(self, console, loaded):
        self.loaded = set(loaded)  # modules
        self.symbols, self.tasks, self.maps = [], {1: set(), 2: set()}, {}
        self.syscalls, self.stacks = {}, {1: {}, 2: {}}
        self.modules, self.of_modules = {}, []
        self.count = self.now_ns = self.version = self.text = None
        for line in console.splitlines():
            kind, _, rest = line.partition(" ")
            words = rest.split()
            if kind == "S":
                self.symbols.append((int(words[0], 16), words[1]))
            elif kind == "T":
                comm = rest.split(" ", 4)[4]
                self.tasks[int(words[0])].add((*map(int, words[1:4]), comm))
            elif kind == "M":
                self.maps.setdefault(int(words[0]), []).append(rest.split(" ", 1)[1])
            elif kind == "Y" and words[1] != "running":
                self.syscalls[int(words[0])] = [int(word, 0) for word in words[1:]]
            elif kind == "K":
                self.stacks[int(words[0])].setdefault(int(words[1]), []).append(" ".join(words[3:]))
            elif kind == "F":
                self.of_modules.append((int(words[0], 16), words[1], words[2].strip("[]")))
            elif kind == "G":
                self.modules[words[0]] = int(words[5], 16)
            elif kind == "A":
                self.text = int(rest, 16)
            elif kind == "C":
                self.count = int(rest)
            elif kind == "N":
                self.now_ns = int(rest)
            elif kind == "V":
                self.version = rest


class Monitor:
    def __init__(self, path, limit_s=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(limit_s)  # of each answer
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            output = json.loads(self.file.readline())
            if "error" in output:
                raise RuntimeError(f"{name}: {output}")
            if "return" in output:
                return output["return"]


def human(monitor, command):
    return monitor.command("human-monitor-command", **{"command-line": command})


def places(port):
    """Returns where the processors are, and a second later, with their timers and interrupts; or why
    QEMU, which may have ended or hang itself, does not say it."""
    try:
        monitor, output = Monitor(port, ANSWER_S), ""
        for _ in range(2):
            time.sleep(1)
            output += human(monitor, "info registers -a")
        output += "".join(human(monitor, f"info lapic {cpu}") for cpu in range(output.count("CPU#") // 2))
    except (OSError, ValueError, RuntimeError) as error:
        return f"unknown: {type(error).__name__}: {error}"
    return "\n".join(line for line in output.splitlines() if bed.PROCESSOR.match(line))


def console_until_ready(process, path, port):
    """Waits for READY on the console, which QEMU writes to a file; `port` is its monitor."""
    for _ in attempts(LIMIT_S, 0.2):
        with open(path, encoding="utf-8", errors="replace") as file:
            output = file.read().replace("\r", "")
        if re.search(r"^READY$", output, re.M):
            return output
        if process.poll() is not None or "Kernel panic" in output:
            break
    where = places(port)
    process.kill()
    raise bed.Hung(f"the guest did not print READY: {output[-3000:]}; its processors: {where}")


def processors(monitor):
    """The text of each processor's registers."""
    return human(monitor, "info registers -a").split("CPU#")[1:]


def is_between(cpu):
    """Whether a processor may be in the middle of a task switch, or of setting the kernel's time: it is
    in the kernel, without interrupts. Then two tasks are on the processor, or the time is unknown."""
    return "CPL=0" in cpu and not int(re.search(r"\b[ER]FL=([0-9a-f]+)", cpu)[1], 16) & INTERRUPTS


def stop_in_gamma(monitor):
    """Stops the machine while a processor executes gamma, which the kernel may interrupt at any
    time, and no other is between two states."""
    for _ in attempts(LIMIT_S, 0.01):
        monitor.command("stop")
        cpus = processors(monitor)
        if any(GAMMA_MARK in cpu and "CPL=3" in cpu for cpu in cpus) and \
                not any(map(is_between, cpus)):
            return
        monitor.command("cont")
    raise bed.Hung("gamma did not run")


def stop_at_entry(monitor, stub, address, steps):
    """Stops the machine at the first instruction of an interrupt of user mode, or some later: at the
    first, the registers that the processor saved are on its entry stack, and the kernel has not saved
    any. No other processor is between two states."""
    for _ in attempts(LIMIT_S):
        stub.ask(f"Z1,{address:x},1")
        stub.ask("c")
        stub.ask(f"z1,{address:x},1")
        if any(f"RIP={address:016x}" in cpu and ENTRY_STACK in cpu for cpu in processors(monitor)):
            for _ in range(steps):  # the others run meanwhile
                stub.ask("s")
            if sum(map(is_between, processors(monitor))) == 1:
                return
        stub.ask("s")
    raise bed.Hung("no interrupt of user mode")


def modules(kernel, apt):
    """Modules of a kernel, those of MODULES that it has not built in, by their names: their contents,
    which Debian may have compressed."""
    package = os.path.relpath(kernel, apt.directory).split(os.sep)[0]
    where = os.path.join(apt.directory, package)
    if package.startswith("linux-binary-"):
        where = bed.fetch(package.replace("linux-binary-", "linux-modules-"), apt)
    found = {}
    for name in MODULES:
        for path in glob.glob(os.path.join(where, f"**/{name}.ko*"), recursive=True):
            with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
                found[name] = file.read()
    return found


def initramfs(directory, contents):
    program, path = os.path.join(directory, "init"), os.path.join(directory, "initramfs")
    if not os.path.exists(program):
        library = os.path.join(directory, "liblinux.so")
        bed.build(library, os.path.join(HERE, "linux_library.c"), "-shared", "-fPIC", "-g")
        bed.build(program, os.path.join(HERE, "linux_init.c"), "-pthread", "-Wall", "-Wextra", "-g",
                  "-Wl,--no-as-needed", library, "-Wl,-rpath,/lib")
    bed.initramfs({**bed.libraries(program), "init": program, "etc/inner/data": DATA,
                   "lib/liblinux.so": os.path.join(directory, "liblinux.so"),
                   **{f"modules/{name}.ko": data for name, data in contents.items()}}, path)
    return path


def boot(package, directory, name, cpus=1, append="", cpu="max", memory=MEMORY_MIB, suite=None,
         symbol=None):
    """Boots the newest kernel of a meta package, of this Debian or of another suite of it. Returns
    the guest's output, and the path of its core. If the function `symbol` is given, which finds a
    kernel's function by a core, there are two more, of the same name and .entry, .called: of a
    processor at the first instruction of an interrupt, and some later, in error_entry()."""
    qemu = bed.need("qemu-system-x86_64", "qemu-system-x86")
    apt = bed.suite_apt(suite) if suite else bed.HOST
    kernel = bed.kernel_image(package, apt)
    loaded = modules(kernel, apt)
    core, log = (os.path.join(directory, f"{name}.{end}") for end in ("core", "log"))
    port = os.path.join(directory, f"{name}.qmp")
    open(log, "w", encoding="ascii").close()
    with subprocess.Popen(
            [qemu, "-accel", bed.TCG_SMP, "-M", "q35", "-cpu", cpu, "-smp", str(cpus), "-m",
             str(memory), "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{log}",
             "-qmp", f"unix:{port},server=on,wait=off", "-kernel", kernel, "-initrd",
             initramfs(directory, loaded), "-append", APPEND + append],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            output = console_until_ready(process, log, port)
            monitor = Monitor(port)
            stop_in_gamma(monitor)
            monitor.command("dump-guest-memory", paging=False, protocol="file:" + core)
            if symbol:
                human(monitor, f"gdbserver unix:{port}.gdb,server=on,wait=off")
                stub, entry = gdb_stub.Stub(port + ".gdb"), symbol(core, ENTRY)
                for end, steps in (("entry", 0), ("called", ENTRY_STEPS)):
                    stop_at_entry(monitor, stub, entry, steps)
                    monitor.command("dump-guest-memory", paging=False,
                                    protocol=f"file:{core}.{end}")
            monitor.command("quit")
            process.wait(timeout=LIMIT_S)
        finally:
            process.kill()
    return Said(output, loaded), core
