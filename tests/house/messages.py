# SPDX-License-Identifier: BSD-2-Clause
"""What tests compare of the command's messages and of --help: facts, not wording.

The facts of a message are its verb, the words that it quotes, and the options, paths, probes, tags,
positions and numbers that it names. The facts of --help are its options and their arguments. A
sentence can be reworded without a change to a test. A test fails if a message is missing or names
another option, file or line."""
import re

FACT = re.compile(r"""
      (?<!\w)'[^']*'(?!\w) | "[^"]*"     # what is quoted
    | \[D_[A-Z_]+\]                      # the tag of an error of a program
    | (?<![\w-])--?[a-zA-Z][\w-]*        # an option
    | \S*[/{:]\S*[^\s,;:.)]              # a path, a position, a probe
    | (?<!\S)[\w-]+\.[a-z]{1,4}\b       # a file's name
    | (?<![\w-])\d[\w.,-]*\w | (?<![\w-])\d  # a number, perhaps with its unit
    """, re.X)
PREFIX = re.compile(r"^(ringside(?: [a-z]+){0,2}): ?")
OPTION = re.compile(r"^ {2,6}(?:-\w(?:, )?)?(?:--[a-z][\w-]*)?(?:\[?=\S+|(?<=-\w) [A-Z]+)?")
# argp's hint after a usage error; it may wrap.
ADVICE = re.compile(r"^Try `ringside.*?information\.\n", re.M | re.S)
# The message of the D language, with DTrace's wording.
FAULT = "error on enabled probe ID"


def facts(errors):
    """Returns a list of the facts of each message on standard error, beginning with the verb."""
    messages = []
    for line in ADVICE.sub("", errors).splitlines():
        prefix = PREFIX.match(line)
        if prefix or not messages:
            messages.append([prefix[1] if prefix else ""])
        rest = line[prefix.end():] if prefix else line
        messages[-1] += [rest] if FAULT in rest else FACT.findall(rest)
    return [[message[0], *sorted(message[1:])] for message in messages]


def options(usage):
    """Returns the options that --help lists, with their arguments."""
    return [option[0].strip() for option in map(OPTION.match, usage.splitlines())
            if option and "-" in option[0]]
