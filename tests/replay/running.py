# SPDX-License-Identifier: BSD-2-Clause
"""A running QEMU with a GDB stub, which a test starts as another user would, and which Ringside
attaches to."""
import os
import socket
import subprocess
import time

import bed

LIMIT_S = 900  # no test times anything; this limit ends a test that hangs


def wait_for(what, good):
    for _ in range(LIMIT_S * 20):
        if good():
            return
        time.sleep(0.05)
    raise TimeoutError(what)


def is_listening(table, is_it):
    """Returns whether a process listens there, from /proc/net, because the stub would accept a
    connection as a debugger's."""
    with open(f"/proc/net/{table}", encoding="utf-8", errors="replace") as file:
        return any(is_it(line.split()) for line in file.read().splitlines()[1:])


class Machine:
    """A QEMU with a GDB stub, which runs until it is ended. tcp: at a free port. Its guest prints
    "round " again and again, or reads what is typed."""

    def __init__(self, folder, name, *arguments, tcp=False):
        self.socket, self.console = os.path.join(folder, name), os.path.join(folder, name + ".txt")
        self.keyboard = os.path.join(folder, name + ".in")  # of the serial port
        self.arguments, self.port = arguments, 0
        while not self.begin(tcp):  # another process took the port first
            self.end()

    def begin(self, tcp):
        if tcp:
            with socket.socket() as finds:
                finds.bind(("127.0.0.1", 0))
                self.port = finds.getsockname()[1]
        stub = f"tcp:127.0.0.1:{self.port}" if tcp else f"unix:{self.socket},server=on,wait=off"
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-M", "pc", "-nodefaults", "-no-user-config", "-display",
             "none", "-net", "none", "-no-reboot", "-chardev",
             f"socket,id=serial,path={self.keyboard},server=on,wait=off,logfile={self.console}",
             "-serial", "chardev:serial", "-gdb", stub, *self.arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        wait_for("its GDB stub", lambda: self.process.poll() is not None or self.is_there(tcp))
        if self.process.poll() is None:
            return True
        output = self.process.stderr.read()
        if "Address already in use" not in output:
            raise ValueError(f"QEMU: {output}")
        return False

    def is_there(self, tcp):
        # /proc/net/unix: flags, of which 10000h is __SO_ACCEPTCON; tcp: state 0Ah, TCP_LISTEN.
        if not tcp:
            return is_listening("unix", lambda words: words[-1] == self.socket and
                           int(words[3], 16) & 0x10000)
        return is_listening("tcp", lambda words: words[1].endswith(f":{self.port:04X}") and
                       words[3] == "0A")

    def output(self):
        """Returns what the guest has printed."""
        if self.process.poll() is not None:
            raise ValueError("QEMU has ended")
        try:
            with open(self.console, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def type(self, text):
        with socket.socket(socket.AF_UNIX) as port:
            port.connect(self.keyboard)
            port.sendall(text.encode())

    def rounds(self):
        """Returns the number of rounds that the guest has printed."""
        return self.output().count("round ")

    def goes_on(self):
        """Waits until the guest has printed ten more rounds: nothing stops it."""
        least = self.rounds() + 10
        wait_for("ten rounds more", lambda: self.rounds() >= least)

    def probe(self, program, *options):
        return ["replay", "run", self.live(), "-q", "-n", program, *options]

    def live(self):
        """Returns the option that attaches to this machine."""
        return f"--live=unix:{self.socket}"

    def end(self):
        self.process.kill()
        self.process.wait()


def of_linux(folder, name, kernel, initrd, append, *arguments):
    """Returns a machine that boots Linux. Its serial port is the console."""
    return Machine(folder, name, "-accel", bed.TCG_SMP, "-kernel", kernel, "-initrd", initrd, "-append",
                   f"console=ttyS0 {bed.QUIET} panic=-1 no_timer_check {append}", *arguments)
