# SPDX-License-Identifier: BSD-2-Clause
"""A real Xen in which a test records: the files that are booted, the guests with known exits, and
the results."""
import json
import os
import sys

from xentrace import RINGSIDE, printed, tap

sys.path.insert(0, os.path.join(tap.TOP, "tests", "bed"))
import bed  # noqa: E402
import bed_xen  # noqa: E402

HERE = os.path.join(tap.TOP, "tests", "xen")
CPUIDS, CALLS, WRITES = 1009, 503, 101  # of a guest, in loops; primes
QUIET = 0x1f000  # a mask without any events
CONFIG = """
name = "{name}"
type = "pvh"
kernel = "/guest/kernel"
memory = 32
vcpus = 1
cpus = "1"
on_poweroff = "preserve"
on_crash = "preserve"
"""


def guest(directory):
    path = os.path.join(directory, "guest")
    made = tap.faults_of(["cc", "-m32", "-nostdlib", "-static", "-no-pie", f"-DCPUIDS={CPUIDS}",
                          f"-DCALLS={CALLS}", f"-DWRITES={WRITES}",
                          "-Wl,-Ttext-segment=0x100000,-z,noseparate-code,--build-id=none",
                          os.path.join(HERE, "guest.S"), "-o", path])
    if made:
        raise bed.Missing(f"a 32-bit guest cannot be built: {made[-1].strip()[-200:]}")
    return path


def machine(directory, body, guests):
    """Boots a Xen that runs this script after inside.sh. Returns the results."""
    with open(os.path.join(HERE, "inside.sh"), encoding="utf-8") as file:
        inside = file.read()
    files = {"init": bed_xen.init(inside + body),
             "bin/ringside": RINGSIDE,
             "bin/peek": os.path.join(os.path.abspath(tap.BUILD), "tests/xen/peek"),
             "guest/kernel": guest(directory)}
    for one in guests:
        files["guest/" + one] = CONFIG.format(name=one).encode()
    return Out(bed_xen.boot_xen(files, directory))


# ---- the results ----------------------------------------------------------------------------


class Out:
    """The results of a machine."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def text(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except FileNotFoundError:
            return "(missing)"

    def json(self, name):
        try:
            return json.loads(self.text(name))
        except ValueError:
            return {}

    def is_(self, name, expected):
        if self.text(name) != expected:
            yield f"{name} says {self.text(name)!r}, not {expected!r}"
            for log in (name.split(".")[0] + ".err", "waits"):
                if os.path.exists(self.path(log)):
                    yield f"{log}: {self.text(log)}"


def events_of(path, *options):
    status, events, _ = printed(path, "--tsc", *options)
    return status, events
