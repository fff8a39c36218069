# SPDX-License-Identifier: BSD-2-Clause
"""Runs one command to its end: with a time limit, without input, in a separate process group."""
import os
import select
import signal
import subprocess
import tempfile
import threading
import time

from limits import counted

LIMIT_S = 2700  # ends a suite that hangs; see limits.py
LOOK_S = 5


class Ended:
    """How a command ended: `status` (None if it hung), `lines` of its output, seconds and CPU seconds."""

    def __init__(self, status, lines, seconds=0.0, cpu_s=0.0):
        self.status, self.lines, self.seconds, self.cpu_s = status, lines, seconds, cpu_s

    def why(self):
        if self.status is None:
            return f"no end after {LIMIT_S} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


def wait(process):
    """Waits for the process, until LIMIT_S have counted. Returns its exit status or None, and its
    CPU seconds with those of the children that it waited for."""
    watch = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        left_s, hung = LIMIT_S, True
        while hung and left_s > 0:
            hung = not poll.poll(LOOK_S * 1000)
            left_s -= counted(LOOK_S)
    finally:
        os.close(watch)
    if hung:
        os.killpg(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if hung else process.returncode, usage.ru_utime + usage.ru_stime


running = set()  # process groups of suites
beginning = threading.Lock()  # held while a suite starts, until `running` has its group


def end_group(pid):
    """Kills the processes that a suite left in its process group, so that they disturb no other
    suite."""
    running.discard(pid)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    """Kills the running suites when the runner is interrupted. None can begin after that."""
    beginning.acquire()  # pylint: disable=consider-using-with # never released
    for pid in list(running):
        end_group(pid)


def run(command, env=None, cwd=None):
    """Returns how the command ended. Its output goes to a file, so that a process that it leaves
    behind cannot block the runner."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            with beginning:
                process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})},
                                           stdin=subprocess.DEVNULL, stdout=output,
                                           stderr=subprocess.STDOUT, start_new_session=True)
                running.add(process.pid)
        except OSError as error:
            return Ended(127, [str(error)])
        status, cpu_s = wait(process)
        end_group(process.pid)
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").splitlines()
    return Ended(status, lines, time.monotonic() - begun, cpu_s)
