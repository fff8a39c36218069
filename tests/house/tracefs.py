# SPDX-License-Identifier: BSD-2-Clause
"""tracefs and debugfs for tests on machines that have not mounted them: in a separate mount
namespace, which ends with the test."""
import os
import shutil
import subprocess
import sys

WHERE = "/sys/kernel/tracing"
NEEDED = {"tracefs": WHERE, "debugfs": "/sys/kernel/debug"}
MOUNTS = "".join(f"mountpoint -q {where} || mount -t {kind} {kind} {where}; "
                 for kind, where in NEEDED.items()) + "exec \"$@\""


def mount_in_namespace():
    """Call this first: it restarts the program in the namespace. If that is not possible it does
    nothing, and tests that need tracefs skip."""
    if os.geteuid() or all(map(os.path.ismount, NEEDED.values())) or "RS_MOUNTED" in os.environ:
        return
    os.environ["RS_MOUNTED"] = "tried"
    if shutil.which("unshare") and not subprocess.run(["unshare", "-m", "true"], check=False,
                                                      capture_output=True).returncode:
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", MOUNTS, "sh", sys.executable,
                              os.path.abspath(sys.argv[0]), *sys.argv[1:]])
