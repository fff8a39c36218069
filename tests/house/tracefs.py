# SPDX-License-Identifier: BSD-2-Clause
"""tracefs and debugfs for tests, where this machine has them not mounted: in a mount namespace of their
own, which goes with them."""
import os
import shutil
import subprocess
import sys

WHERE = "/sys/kernel/tracing"
NEEDED = {"tracefs": WHERE, "debugfs": "/sys/kernel/debug"}
MOUNTS = "".join(f"mountpoint -q {where} || mount -t {kind} {kind} {where}; "
                 for kind, where in NEEDED.items()) + "exec \"$@\""


def see_the_kernel():
    """Call it first: the program begins anew in the namespace. Where that can't be, nothing happens, and
    what needs tracefs is to skip."""
    if os.geteuid() or all(map(os.path.ismount, NEEDED.values())) or "RS_MOUNTED" in os.environ:
        return
    os.environ["RS_MOUNTED"] = "tried"
    if shutil.which("unshare") and not subprocess.run(["unshare", "-m", "true"], check=False,
                                                      capture_output=True).returncode:
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", MOUNTS, "sh", sys.executable,
                              os.path.abspath(sys.argv[0]), *sys.argv[1:]])
