# SPDX-License-Identifier: BSD-2-Clause
"""What tests compare of the command's messages and of --help: the facts, not their wording.

The facts of a message are its verb, the words that it quotes, and the options, paths, probes, tags,
positions and numbers that it names. The facts of --help are its options and their arguments. So a
sentence can be reworded, and no test changes; a message that names another option, file or line, or is
missing, fails.
"""
import re

FACT = re.compile(r"""
      (?<!\w)'[^']*'(?!\w) | "[^"]*"     # what is quoted
    | \[D_[A-Z_]+\]                      # the tag of an error of a program
    | (?<![\w-])--?[a-zA-Z][\w-]*        # an option
    | \S*[/{:]\S*[^\s,;:.)]              # a path, a position, a probe
    | (?<!\S)[\w-]+\.[a-z]{1,4}\b       # a file's name
    | (?<![\w-])\d[\w.,-]*\w | (?<![\w-])\d  # a number, perhaps with its unit
    """, re.X)
SAYS = re.compile(r"^(ringside(?: [a-z]+){0,2}): ?")
OPTION = re.compile(r"^ {2,6}(?:-\w(?:, )?)?(?:--[a-z][\w-]*)?(?:\[?=\S+|(?<=-\w) [A-Z]+)?")
# The library's advice after a usage error; it wraps lines.
ADVICE = re.compile(r"^Try `ringside.*?information\.\n", re.M | re.S)
# The D language's own message, as DTrace words it.
FAULT = "error on enabled probe ID"


def facts(errors):
    """The facts of each message on standard error, a list each, with the verb that says it."""
    messages = []
    for line in ADVICE.sub("", errors).splitlines():
        said = SAYS.match(line)
        if said or not messages:
            messages.append([said[1] if said else ""])
        rest = line[said.end():] if said else line
        messages[-1] += [rest] if FAULT in rest else FACT.findall(rest)
    return [[message[0], *sorted(message[1:])] for message in messages]


def options(usage):
    """The options that --help lists, with their arguments."""
    return [option[0].strip() for option in map(OPTION.match, usage.splitlines())
            if option and "-" in option[0]]
