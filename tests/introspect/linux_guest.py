# SPDX-License-Identifier: BSD-2-Clause
"""A Debian kernel that boots under QEMU with linux_init.c as its /init, what that says, and a
core of the machine (QEMU's dump-guest-memory)."""
import json
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "bed"), os.path.join(HERE, "..", "house")]
import bed  # noqa: E402

LIMIT_S = 400
MEMORY_MIB = 256
GAMMA_MARK = "R15=67616d6d61676d61"  # of linux_init.c
DATA = b"mapped " * 4096
APPEND = "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check "


class Said:
    """What the guest said."""

    def __init__(self, console):
        self.symbols, self.tasks, self.maps = [], {1: set(), 2: set()}, {}
        self.syscalls, self.stacks = {}, {1: {}, 2: {}}
        self.count = self.now_ns = self.version = None
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
                self.stacks[int(words[0])].setdefault(int(words[1]), []).append(words[-1])
            elif kind == "C":
                self.count = int(rest)
            elif kind == "N":
                self.now_ns = int(rest)
            elif kind == "V":
                self.version = rest


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            said = json.loads(self.file.readline())
            if "error" in said:
                raise RuntimeError(f"{name}: {said}")
            if "return" in said:
                return said["return"]


def console_until_ready(process, path):
    """Waits for READY on the console, which QEMU writes to a file."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        with open(path, encoding="utf-8", errors="replace") as file:
            said = file.read().replace("\r", "")
        if re.search(r"^READY$", said, re.M):
            return said
        if process.poll() is not None or "Kernel panic" in said:
            break
        time.sleep(0.2)
    process.kill()
    raise bed.Hung(f"the guest said no READY: {said[-3000:]}")


def stop_in_gamma(monitor):
    """Stops the machine where a processor executes gamma, which the kernel may interrupt at any time."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        monitor.command("stop")
        said = monitor.command("human-monitor-command", **{"command-line": "info registers -a"})
        if any(GAMMA_MARK in cpu and "CPL=3" in cpu for cpu in said.split("CPU#")):
            return
        monitor.command("cont")
        time.sleep(0.01)
    raise bed.Hung("gamma did not run")


def initramfs(directory):
    program, path = os.path.join(directory, "init"), os.path.join(directory, "initramfs")
    if not os.path.exists(path):
        library = os.path.join(directory, "liblinux.so")
        bed.build(library, os.path.join(HERE, "linux_library.c"), "-shared", "-fPIC", "-g")
        bed.build(program, os.path.join(HERE, "linux_init.c"), "-pthread", "-Wall", "-Wextra", "-g",
                  "-Wl,--no-as-needed", library, "-Wl,-rpath,/lib")
        bed.initramfs({**bed.libraries(program), "init": program, "lib/liblinux.so": library,
                       "etc/inner/data": DATA}, path)
    return path


def boot(package, directory, name, cpus=1, append="", cpu="max", memory=MEMORY_MIB, suite=None):
    """Boots the newest kernel of a meta package, of this Debian or of another suite of it. Returns
    what the guest said, and the path of its core."""
    qemu = bed.need("qemu-system-x86_64", "qemu-system-x86")
    kernel = bed.kernel_image(package, bed.suite_apt(suite) if suite else bed.HOST)
    core, log = (os.path.join(directory, f"{name}.{end}") for end in ("core", "log"))
    port = os.path.join(directory, f"{name}.qmp")
    open(log, "w", encoding="ascii").close()
    with subprocess.Popen(
            [qemu, "-accel", "tcg" if cpus == 1 else "tcg,thread=multi", "-M", "q35", "-cpu", cpu,
             "-smp", str(cpus), "-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot",
             "-serial", f"file:{log}", "-qmp", f"unix:{port},server=on,wait=off", "-kernel", kernel,
             "-initrd", initramfs(directory), "-append", APPEND + append],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            said = console_until_ready(process, log)
            monitor = Monitor(port)
            stop_in_gamma(monitor)
            monitor.command("dump-guest-memory", paging=False, protocol="file:" + core)
            monitor.command("quit")
            process.wait(timeout=LIMIT_S)
        finally:
            process.kill()
    return Said(said), core
