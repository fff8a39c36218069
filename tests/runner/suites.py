# SPDX-License-Identifier: BSD-2-Clause
"""The table of suites, tests/suites, and the build directories that it names."""
import fnmatch
import glob
import json
import os
import shutil

from process import run
from results import Test

TIERS = ("quick", "check", "all")
USES = ("share", "alone", "busy")
# The tier of a test that a meson.build declares, by its suite there.
MESON_TIERS = {"full": "check", "all": "all"}


def sanitizers(top):
    return {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:suppressions="
                        + os.path.join(top, "tests", "tsan.supp"),
    }


class Suite:
    """One executable: its name, how to run it, and the resources that it shares, uses exclusively,
    or keeps busy."""

    def __init__(self, name, command, env, cwd):
        self.name, self.command, self.env, self.cwd = name, command, env, cwd
        self.title = name  # with the repetition's number, if it is run several times
        self.uses = {use: set() for use in USES}  # resources

    def run(self):
        return run(self.command, self.env, self.cwd)


class Row:
    """A row of the table: a tier, a part's name, and the source of its suites."""

    def __init__(self, tier, part, words):
        self.tier, self.part, self.words = tier, part, words

    def is_meson(self):
        return self.words[0] == "@meson"

    def variables(self):
        return dict(word.split("=", 1) for word in self.words
                    if "=" in word and not word.startswith("-"))

    def options(self):
        return [word for word in self.words if word.startswith("-")]

    def patterns(self):
        return [word for word in self.words if "=" not in word and not word.startswith("-")]


class Table:
    """Reads tests/suites of the tree at `top`, for one build directory and one tier."""

    def __init__(self, top, build, tier, wanted=()):
        self.top, self.build, self.tier, self.wanted = top, build, tier, wanted
        self.rows, self.uses = [], []
        with open(os.path.join(top, "tests", "suites"), encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if words:
                    self.add_line(words[0], words[1], words[2:])

    def add_line(self, first, second, rest):
        if first in USES:
            self.uses.append((first, second, rest))
        elif first in TIERS:
            self.rows.append(Row(first, second, [word.replace("{build}", self.build)
                                                 for word in rest]))
        else:
            raise ValueError(f"tests/suites: '{first}' is neither a tier ({', '.join(TIERS)})"
                             f" nor {' nor '.join(USES)}")

    def is_of_tier(self, tier):
        """A run of a tier includes the lower tiers, except for `all`, which has only what `check`
        leaves out."""
        wanted, given = TIERS.index(self.tier), TIERS.index(tier)
        return given == wanted if self.tier == "all" else given <= wanted

    def is_selected(self, name):
        return not self.wanted or any(word in name for word in self.wanted)

    def parts(self):
        """Returns the names of the parts that may have suites in this run, in the table's order."""
        rows = [row for row in self.rows
                if self.is_of_tier(row.tier) or (row.is_meson() and self.tier == "all")]
        return list(dict.fromkeys(row.part for row in rows))

    def suites(self, part, report):
        """Returns the suites of a part. Builds first what they need, and reports on that."""
        found = []
        for row in self.rows:
            if row.part == part:
                found += self.of_meson(row, report) if row.is_meson() else self.of_row(row, report)
        for suite in found:
            self.assign_resources(suite)
        return found

    def assign_resources(self, suite):
        for use, resource, patterns in self.uses:
            if any(fnmatch.fnmatchcase(suite.name, pattern) for pattern in patterns):
                suite.uses[use].add(resource)

    # ---- executables of the tree ----------------------------------------------------------

    def of_row(self, row, report):
        if not self.is_of_tier(row.tier):
            return
        env = {"BUILD": self.build, **row.variables()}
        env["BUILD"] = os.path.join(self.top, env["BUILD"])
        paths = sorted(path for pattern in row.patterns()
                       for path in glob.glob(pattern, root_dir=self.top))
        if not paths:
            report.add(row.part, None, [Test("FAIL", why=f"there is no {' '.join(row.patterns())}")])
        for path in paths:
            name = f"{row.part}/{os.path.basename(path).split('.')[0]}"
            if self.is_selected(name):
                suite = Suite(name, [os.path.join(self.top, path), *row.options()],
                              {**sanitizers(self.top), **env}, self.top)
                # Scripts use fixed names below the build directory, so that none runs in parallel
                # with itself.
                suite.uses["alone"].add(name)
                yield suite

    # ---- tests that meson.build files declare ---------------------------------------------

    def of_meson(self, row, report):
        if self.wanted and not any(word.startswith(row.part) or row.part in word
                                   for word in self.wanted):
            return
        directory = row.words[1]
        ended = self.configure(directory, row)
        step = "configure"
        if ended is None or ended.status == 0:
            step = "build"
            ended = run(["ninja", "-C", directory, "-j", str(os.cpu_count() or 1)], cwd=self.top)
        if ended.status != 0:
            report.add(f"{row.part}/{step}", ended, [Test("FAIL", why=ended.why(), output=ended.lines)])
            return
        report.add(f"{row.part}/build", ended, [Test("pass")])
        listed = run(["meson", "introspect", "--tests", directory], cwd=self.top)
        for test in json.loads("\n".join(listed.lines)):
            name, tier = f"{row.part}/{test['name']}", self.meson_tier(row, test)
            if self.is_of_tier(tier) and self.is_selected(name):
                yield Suite(name, test["cmd"],
                            {**sanitizers(self.top), **test["env"],
                             "BUILD": os.path.join(self.top, directory)},
                            test["workdir"] or self.top)

    @staticmethod
    def meson_tier(row, test):
        tiers = [row.tier] + [MESON_TIERS[label] for label in
                              (label.split(":")[-1] for label in test["suite"])
                              if label in MESON_TIERS]
        return max(tiers, key=TIERS.index)

    def configure(self, directory, row):
        """Configures a build directory, again if its options have changed. Returns None if there is
        nothing to do."""
        options = [word for word in row.words[2:] if word.startswith("-")]
        env = {name: value for name, value in row.variables().items()}
        where = os.path.join(self.top, directory)
        stamp, wanted = os.path.join(where, "made-with"), json.dumps([env, options])
        if os.path.exists(os.path.join(where, "build.ninja")):
            if not options and not env:
                return None
            try:
                with open(stamp, encoding="utf-8") as file:
                    if file.read() == wanted:
                        return None
            except OSError:
                pass
            shutil.rmtree(where)
        ended = run(["meson", "setup", *options, directory], env, cwd=self.top)
        if ended.status == 0:
            with open(stamp, "w", encoding="utf-8") as file:
                file.write(wanted)
        return ended
