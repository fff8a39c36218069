# SPDX-License-Identifier: BSD-2-Clause
"""Limits that end what hangs. No test times anything, so a limit is in seconds of a machine that does
nothing else: on a busy one, the same work takes longer."""
import os
import time


def counted(seconds):
    """Returns how much of the last seconds counts for a limit: the part of a processor that each
    runnable thread has now. /proc/loadavg: proc(5), the fourth field begins with their number."""
    with open("/proc/loadavg", encoding="ascii") as file:
        runnable = int(file.read().split()[3].partition("/")[0])
    return seconds * min(1, len(os.sched_getaffinity(0)) / max(1, runnable))


def attempts(limit_s, pause_s=0):
    """Yields until the limit is reached, with a pause after each attempt."""
    last = time.monotonic()
    while limit_s > 0:
        yield
        time.sleep(pause_s)
        now = time.monotonic()
        limit_s -= counted(now - last)
        last = now
