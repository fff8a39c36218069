# SPDX-License-Identifier: BSD-2-Clause
"""GDB's remote protocol, for tests that talk to a stub: QEMU's, or that of ringside replay seek."""
import re
import socket

LIMIT_S = 400  # no test times anything; this limit ends a test that hangs


class Stub:
    """A debugger's script."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(path)
        self.read = b""  # and not taken yet

    def ask(self, text):
        self.socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        return self.answer()

    def answer(self):
        while not (packet := re.search(rb"\$([^#]*)#..", self.read)):
            piece = self.socket.recv(4096)
            if not piece:
                raise ValueError("the debugger was left alone")
            self.read += piece
        self.read = self.read[packet.end():]
        self.socket.sendall(b"+")
        return packet[1].decode()

    def monitor(self, command):
        output, answer = "", self.ask("qRcmd," + command.encode().hex())
        while answer != "OK":
            output += bytes.fromhex(answer[1:]).decode()
            answer = self.answer()
        return output
