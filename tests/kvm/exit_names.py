# SPDX-License-Identifier: BSD-2-Clause
"""Compares the exit reasons that `ringside list --table exits` prints with the print format of a
kernel's kvm:kvm_exit, in both directions, for the reasons that the kernel has."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "house"))
import tap  # noqa: E402

TABLE = "list --table exits"
FORMAT = "events/kvm/kvm_exit/format"
# The format may have parentheses and spaces: {0x400, "npf"}, { (0x2C), "FP_EXC64" }.
PAIR = re.compile(r'\{ *\(?([^,{}()]+?)\)? *, *"([^"]*)" *\}')
SUM = re.compile(r"^(-?\w+)(?: *\+ *(\w+))?$")
KNOWN_MAX = 0x1000  # values above are not sequential numbers


class Table:
    """Describes one __print_symbolic of the format: its beginning, its least number of names, the
    kernel's number for ours, and the reasons that have no name there."""

    def __init__(self, name, isa, begin, at_least, ours=lambda value: value, not_ours=()):
        self.name, self.isa, self.begin, self.at_least = name, isa, begin, at_least
        self.ours, self.not_ours = ours, not_ours

    def kernel(self, text):
        """Returns {our number: the kernel's name}; None if the format has no such table."""
        found = re.search(self.begin, text)
        if not found:
            return None
        rest = text[found.end():]
        pairs = {}
        while True:
            pair = PAIR.match(rest.lstrip(" ,"))
            if not pair:
                return pairs
            value = number(pair.group(1))
            if value not in self.not_ours:
                pairs[self.ours(value)] = pair.group(2)
            rest = rest.lstrip(" ,")[pair.end():]

    def faults(self, kernels):
        """Ours may have more names, because an older kernel has fewer. The names that the kernel
        has must be equal."""
        if len(kernels) < self.at_least:
            yield f"only {len(kernels)} names were found in the print format"
        ours, first = our_table(self.isa), self.ours(0)
        for value, name in sorted(kernels.items()):
            if value not in ours:
                yield f"the kernel names {value:#x} '{name}', {TABLE} has no such line"
            elif ours[value][1] != name:
                yield f"{value:#x}: the kernel has '{name}', {TABLE} has '{ours[value][1]}'"
        newest = max((v for v in kernels if v < KNOWN_MAX), default=0)
        for value, (_, kernel) in sorted(ours.items()):
            if kernel and value not in kernels and first <= value < newest:
                yield f"{value:#x}: {TABLE} gives '{kernel}' as the kernel's name, which the kernel lacks"


# By the machine's name. Intel's table is for the low half of the reason. On arm64, ret tells
# whether the guest trapped (2); the exception class then gives the reason: RS_EXIT_ARM64_OTHER in
# exit_reason.h.
TABLES = {
    "x86_64": [Table("vmx", "vmx", r"__print_symbolic\(\(?REC->exit_reason\)? & 0xffff,", 40),
               Table("svm", "svm", r"__print_symbolic\(REC->exit_reason,", 40)],
    "aarch64": [Table("arm64, exception classes", "arm64", r"__print_symbolic\(REC->esr_ec,", 30),
                Table("arm64, no trap", "arm64", r"__print_symbolic\(REC->ret,", 3,
                      lambda value: value | 0x100, (2,))],
}


def number(text):
    """Returns a constant, or the sum of two, as 32 bits."""
    parts = SUM.match(text)
    return sum(int(part, 0) for part in parts.groups() if part) & 0xffffffff


def our_table(isa):
    """Returns {number: (our name, the kernel's)}."""
    return {int(row["number"], 0): (row["name"], row["kernel"]) for row in tap.rows("exits")
            if row["isa"] == isa}
