# SPDX-License-Identifier: BSD-2-Clause
"""The exit reasons that `ringside list --table exits` prints, compared with what a kernel's print format
of kvm:kvm_exit says of the same numbers: both ways, as far as that kernel has them."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "house"))
import tap  # noqa: E402

TABLE = "list --table exits"
FORMAT = "events/kvm/kvm_exit/format"
# The kernel's macros leave parentheses and spaces: {0x400, "npf"}, { (0x2C), "FP_EXC64" }.
PAIR = re.compile(r'\{ *\(?([^,{}()]+?)\)? *, *"([^"]*)" *\}')
SUM = re.compile(r"^(-?\w+)(?: *\+ *(\w+))?$")
KNOWN_MAX = 0x1000  # above are those that are no counting numbers


class Table:
    """
    One __print_symbolic of the format: how it begins, how many names it has at least, what our
    number is for the kernel's, and which of the kernel's is no reason alone.
    """

    def __init__(self, name, isa, begin, at_least, ours=lambda value: value, not_ours=()):
        self.name, self.isa, self.begin, self.at_least = name, isa, begin, at_least
        self.ours, self.not_ours = ours, not_ours

    def kernel(self, text):
        """{our number: the kernel's name}; None where the format has no such table."""
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
        """Ours may name more: an older kernel knows fewer. What the kernel names must be the same."""
        if len(kernels) < self.at_least:
            yield f"only {len(kernels)} names were found in the print format"
        ours, first = our_table(self.isa), self.ours(0)
        for value, name in sorted(kernels.items()):
            if value not in ours:
                yield f"the kernel names {value:#x} '{name}', {TABLE} has no such line"
            elif ours[value][1] != name:
                yield f"{value:#x}: the kernel says '{name}', {TABLE} says '{ours[value][1]}'"
        newest = max((v for v in kernels if v < KNOWN_MAX), default=0)
        for value, (_, kernel) in sorted(ours.items()):
            if kernel and value not in kernels and first <= value < newest:
                yield f"{value:#x}: {TABLE} says that the kernel says '{kernel}', and it does not"


# By the machine's name. Intel's is of the low half of the reason. On arm64 ret says whether the
# guest trapped (2), and then the exception class says why: RS_EXIT_ARM64_OTHER in exit_reason.h.
TABLES = {
    "x86_64": [Table("vmx", "vmx", r"__print_symbolic\(\(?REC->exit_reason\)? & 0xffff,", 40),
               Table("svm", "svm", r"__print_symbolic\(REC->exit_reason,", 40)],
    "aarch64": [Table("arm64, exception classes", "arm64", r"__print_symbolic\(REC->esr_ec,", 30),
                Table("arm64, no trap", "arm64", r"__print_symbolic\(REC->ret,", 3,
                      lambda value: value | 0x100, (2,))],
}


def number(text):
    """A constant, or the sum of two, as 32 bits."""
    parts = SUM.match(text)
    return sum(int(part, 0) for part in parts.groups() if part) & 0xffffffff


def our_table(isa):
    """{number: (our name, the kernel's)}"""
    return {int(row["number"], 0): (row["name"], row["kernel"]) for row in tap.rows("exits")
            if row["isa"] == isa}
