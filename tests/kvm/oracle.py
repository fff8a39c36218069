# SPDX-License-Identifier: BSD-2-Clause
"""Independent references for the testbeds of KVM exits: what the workload announced, and what the
kernel counted in a histogram of the tracepoint kvm_exit."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "house"))
import tap  # noqa: E402

RINGSIDE = os.path.join(os.environ.get("BUILD") or "build", "ringside")

# By kind of the workload: the numbers of the reasons. A page without memory may fault more often
# than it is accessed; the other counts are exact.
REASONS = {
    "svm": {"io": [0x7b], "cpuid": [0x72], "msr": [0x7c], "hlt": [0x78], "hypercall": [0x81],
            "mmio": [0x400]},
    "vmx": {"io": [30], "cpuid": [10], "rdmsr": [31], "wrmsr": [32], "hlt": [12],
            "hypercall": [18], "mmio": [48, 49]},
    "arm64": {"mmio": [0x24], "hypercall": [0x16], "smc": [0x17], "sysreg": [0x18]},
}
AT_LEAST = ("mmio",)
OUTPUT_BYTES = 1500  # of each tool's output, when a case fails
HIST_ROW = re.compile(r"\{ *common_pid: *(\d+), *(?:vcpu_id|ret): *(\d+), *(?:exit_reason|esr_ec): "
                      r"*(\d+) *\} *hitcount: *(\d+)")
ARM64_TRAP, ARM64_OTHER = 2, 0x100  # of ret, or of our code where ret differs; exit_reason.h


def exit_rows(isa, column):
    """Returns {name: number} of the exit reasons."""
    return {row[column]: int(row["number"], 0) for row in tap.rows("exits") if row["isa"] == isa}


def reason_numbers(isa):
    """By our names; exits.test compares them with the kernel's."""
    return exit_rows(isa, "name")


def kernel_names(isa):
    """By the kernel's names, which perf also uses."""
    return exit_rows(isa, "kernel")


class Case:
    """A case's folder of results."""

    def __init__(self, directory, isa):
        self.directory, self.isa = directory, isa

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), errors="replace") as file:
            return file.read()

    def has(self, name):
        return os.path.exists(self.path(name))

    def status(self, name):
        return int(self.read(name + ".status"))

    def output(self, name):
        command, status, out, err = (self.read(f"{name}.{part}") for part in
                                     ("command", "status", "out", "err"))
        return (f"{command.strip()}: exit {status.strip()}\n{out[-OUTPUT_BYTES:]}"
                f"{err[-OUTPUT_BYTES:]}")

    def all_output(self):
        """Returns the output of every tool, for a case that failed."""
        return [self.output(name[:-len(".status")]) for name in sorted(os.listdir(self.directory))
                if name.endswith(".status")]

    def hung(self):
        return self.read("hung").splitlines() if self.has("hung") else []

    def json(self, name):
        return json.loads(self.read(name + ".out"))

    def events(self, trace):
        """Returns the events of a trace directory, as print shows them."""
        done = subprocess.run([RINGSIDE, "print", "--json", self.path(trace)], check=False,
                              capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(f"print {trace}: exit {done.returncode}: {done.stderr[-1000:]}")
        return [tap.event(line) for line in done.stdout.splitlines()]

    def hist(self, name="hist"):
        """Returns {(tid, vcpu, reason): exits}, from the kernel."""
        text = self.read(name)
        dropped = re.search(r"Dropped: (\d+)", text)
        if not dropped or int(dropped.group(1)):
            raise RuntimeError(f"the histogram is incomplete or dropped entries: {text[-300:]}")
        rows = [tuple(map(int, row)) for row in HIST_ROW.findall(text)]
        if text.count("} hitcount:") != len(rows):
            raise RuntimeError(f"the histogram cannot be read: {text[:1000]}")
        if self.isa == "arm64":
            rows = self.arm64_rows(rows)
        return {row[:3]: row[3] for row in rows}

    def arm64_rows(self, rows):
        """By (tid, ret, exception class): kvm_exit does not give the thread's VM."""
        names = [name for name in os.listdir(self.directory) if self.has(f"{name}/workload.json")]
        numbers = {vcpu["tid"]: vcpu["vcpu"] for _, vcpu in vcpus(self.vms(*names))}
        return [(tid, numbers.get(tid), ec if ret == ARM64_TRAP else ret | ARM64_OTHER, count)
                for tid, ret, ec, count in rows]

    def vms(self, *names):
        """Returns what the workloads announced: their VMs."""
        return [vm for name in names or ("vms",)
                for vm in json.loads(self.read(f"{name}/workload.json"))["vms"]]


def vcpus(vms):
    """Returns each vCPU with its VM."""
    return [(vm, vcpu) for vm in vms for vcpu in vm["vcpus"]]


def kinds(counts, isa):
    """Returns a vCPU's expected exits, as this architecture distinguishes them."""
    counts = dict(counts)
    if isa == "svm":
        counts["msr"] = counts.pop("rdmsr") + counts.pop("wrmsr")
    return counts


def of_kind(rows, isa, kind):
    """Returns the number of exits of a kind among rows {reason: count}."""
    return sum(rows.get(reason, 0) for reason in REASONS[isa][kind])


def workload_faults(case, *names):
    """Checks that the kernel counted what the workload announced."""
    hist, vms, counts = case.hist(), case.vms(*names), {}
    for _, vcpu in vcpus(vms):  # the kernel's table adds up threads with the same tid
        of_tid = counts.setdefault((vcpu["tid"], vcpu["vcpu"]), {})
        for kind, count in kinds(vcpu["counts"], case.isa).items():
            of_tid[kind] = of_tid.get(kind, 0) + count
    for (tid, number), of_tid in counts.items():
        rows = {key[2]: count for key, count in hist.items() if key[:2] == (tid, number)}
        for kind, count in of_tid.items():
            got = of_kind(rows, case.isa, kind)
            if got < count or (got > count and kind not in AT_LEAST):
                yield (f"thread {tid}, vCPU {number}: {got} exits of kind {kind}, "
                       f"the guest caused {count}")
    for tid, vcpu, reason in hist:
        if (tid, vcpu) not in counts:
            yield f"exits {reason:#x} of thread {tid}, vCPU {vcpu}, which is not in the workload"
