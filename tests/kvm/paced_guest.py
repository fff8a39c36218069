# SPDX-License-Identifier: BSD-2-Clause
"""What `ringside profile` costs a Linux guest in QEMU, for bench/run: a guest that counts its rounds
of work, alternately alone and profiled, in the machine with AMD's SVM. The machine's clock counts
instructions. Measured in host time, most of the cost would be that of QEMU, which flushes its TLBs at
each exit."""
import os
import re

import cases
import nested_linux
from cases import bed

PACES = 8
PACE_S, RATES = 1, 4  # at least this long between two marks, and so many rates in a row
# For a second or two after a profile has started or stopped, the rate is not what it is later.
SETTLE_S = 3
LIMIT_S = 450  # about twice the usual time
# If QEMU's clock, which counts instructions, reaches a timer between a VMRUN that injects an interrupt and
# the next #VMEXIT, QEMU delivers that interrupt twice, the second time even if interrupts are off: its
# number stays in the processor's state. In a handler that holds a lock, the guest's kernel then waits for
# ever. So the guest acknowledges interrupts by an exit, at the beginning of each handler, instead of in
# memory. Few are still delivered twice, and if the guest hangs, the machine is booted again.
NO_PV_EOI = "-cpu host,kvm-pv-eoi=off"
# The scheduler charges the time of an interrupt to the thread that it interrupts.
APPEND = " tsc=noirqtime"
MARK = re.compile(r"^(\w+) .* DID (\d+) \d+\s+(\d+) \d+ \d+$", re.M)


@cases.script(f"""
{nested_linux.SPUN_BEGIN.format(quiet=bed.QUIET, smp=1, append='did=1', more=NO_PV_EOI)}
for task in /proc/$(cat qemu.pid)/task/*; do
	grep -q '^CPU 0/KVM' $task/comm && vcpu=$task
done
last() {{ tail -n 2 console | head -n 1; }} # the last complete line
moved() {{ [ "$(last)" != "$before" ]; }}
mark() {{ # the guest's next line, and the CPU time of its processor's thread
	before=$(last)
	until_true moved || {{ echo '{bed.STUCK}'; poweroff -f; }}
	echo $1 $(last) $(cat $vcpu/schedstat) >>marks
}}
marks() {{
	sleep {SETTLE_S}
	mark $1
	for rate in $(seq {RATES}); do sleep {PACE_S}; mark $1; done
}}
WAIT_US=2000
for pace in {' '.join(map(str, range(PACES)))}; do
	marks alone
	/bin/ringside profile --json {nested_linux.SPUN} >profile$pace.out 2>>profile.err & profiler=$!
	until_true attached $profiler
	marks profiled
	kill -INT $profiler; wait $profiler
done
WAIT_US=50000
stop qemu
""")
def paces(case):
    """Returns the guest's rounds in a second of its processor's time, each time that it was alone
    and that it was profiled, and the reports of the profiles."""
    marks = [(mark[0], int(mark[1]), int(mark[2])) for mark in MARK.findall(case.read("marks"))]
    if len(marks) != 2 * PACES * (RATES + 1):
        raise ValueError(f"marks: {case.read('marks')}")
    rates = {"alone": [], "profiled": []}
    for (name, rounds, ns), (following, more, later) in zip(marks, marks[1:]):
        if following == name:
            rates[name].append(1e9 * (more - rounds) / (later - ns))
    return rates, [case.json(f"profile{pace}") for pace in range(PACES)]


def measure(directory):
    """Boots the machine, and returns what paces() returns. Raises bed.Missing if it lacks a
    program."""
    files = cases.files(bed.AMD_MODULES, (paces,), bed.FOOT, nested_linux.programs(directory))
    out = bed.boot_amd(files, directory, limit_s=LIMIT_S, icount=True, append=APPEND)
    return paces(cases.Case(os.path.join(out, "paces"), "svm"))
