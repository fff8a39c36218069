# SPDX-License-Identifier: BSD-2-Clause
"""Converts the output of suites into results: each test passed, failed or was skipped. Prints a
line for each test as suites end, a summary at the end, and on request a JUnit XML file."""
import re
import threading
import xml.etree.ElementTree as xml

SKIPPED = 77
SAID_LINES = 60  # of a failed test's output, from its end
# In the summary, which is all that some CI systems show, and of that perhaps only the end.
AGAIN_LINES, AGAIN_COLUMNS = 12, 200
SLOWEST = 10
TAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\S*\s*(.*))?$", re.I)
TAP_LINE = re.compile(r"^(not )?ok\b\s*\d*\s*(?:- )?(.*?)(?:\s*#\s*SKIP\S*\s*(.*))?$", re.I)
NO_REASON = "no reason given"
# Characters that XML 1.0 cannot represent.
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Test:
    """One result. `title` is empty if the suite is one test; `why` is a reason, `output` its output."""

    def __init__(self, result, title="", why="", output=()):
        self.result, self.title, self.why = result, title, why
        self.output = list(output)[-SAID_LINES:]

    def line(self, name):
        return (f"{self.result}  {name}" + (f": {self.title}" if self.title else "")
                + (f": {self.why}" if self.why else ""))


def plain_tests(ended):
    """A suite without TAP is one test: exit 0 passed, 77 skipped, anything else failed."""
    if ended.status == 0:
        return [Test("pass")]
    if ended.status == SKIPPED:
        return [Test("skip", why=ended.lines[-1] if ended.lines else NO_REASON)]
    return [Test("FAIL", why=ended.why(), output=ended.lines)]


def tap_tests(ended, planned):
    tests, output = [], []
    for line in ended.lines:
        match = TAP_LINE.match(line)
        if not match:
            if not TAP_PLAN.match(line):
                output.append(line)
            continue
        broken, title, why = match.groups()
        if broken:
            tests.append(Test("FAIL", title, output=output))
        elif why is not None:
            tests.append(Test("skip", title, why or NO_REASON))
        else:
            tests.append(Test("pass", title))
        output = []
    if len(tests) != planned:
        tests.append(Test("FAIL", why=f"{len(tests)} of {planned} tests were run; {ended.why()}",
                          output=output))
    elif ended.status != 0 and not any(test.result == "FAIL" for test in tests):
        tests.append(Test("FAIL", why=ended.why(), output=output))
    return tests


def tests_of(ended):
    """Returns the results of a suite that ended."""
    for line in ended.lines:
        plan = TAP_PLAN.match(line)
        if plan and plan.group(2) is not None:
            return [Test("skip", why=plan.group(2) or NO_REASON)]
        if plan:
            return tap_tests(ended, int(plan.group(1)))
    return plain_tests(ended)


def print_output(lines):
    for line in lines:
        print(f"      {line}")


class Report:
    """All results of a run. Any thread may add to it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.suites = []  # (name, Ended or None, [Test])

    def add(self, name, ended, tests):
        with self.lock:
            self.suites.append((name, ended, tests))
            for test in tests:
                print(test.line(name))
                print_output(test.output if test.result == "FAIL" else ())
            print(end="", flush=True)

    def count(self, result):
        return sum(test.result == result for _, _, tests in self.suites for test in tests)

    def print_all(self, heading, result, with_output=False):
        found = sorted(((test.line(name), test.output[-AGAIN_LINES:])
                        for name, _, tests in self.suites for test in tests
                        if test.result == result))
        if found:
            print(f"\n{heading}:")
        for line, output in found:
            print(line)
            print_output(text[:AGAIN_COLUMNS] for text in output if with_output)

    def print_slowest(self):
        timed = sorted(((ended.seconds, ended.cpu_s, name) for name, ended, _ in self.suites
                        if ended), reverse=True)[:SLOWEST]
        if timed:
            print("\nSlowest suites, in seconds and CPU seconds:")
        for seconds, cpu_s, name in timed:
            print(f"{seconds:8.1f} {cpu_s:8.1f}  {name}")

    def close(self):
        """Prints the summary. Returns the exit status: 1 if a test failed or none passed."""
        self.print_slowest()
        self.print_all("Skipped", "skip")
        self.print_all("Output of failed tests", "FAIL", with_output=True)
        self.print_all("Failed", "FAIL")
        print(f"\n{self.count('pass')} passed, {self.count('FAIL')} failed,"
              f" {self.count('skip')} skipped", flush=True)
        return 1 if self.count("FAIL") or not self.count("pass") else 0

    def write_junit(self, path):
        """Writes the results as JUnit XML: a testsuite for each suite, with its seconds, and its CPU
        seconds as a property."""
        root = xml.Element("testsuites")
        for name, ended, tests in self.suites:
            seconds = f"{ended.seconds if ended else 0:.3f}"
            suite = xml.SubElement(root, "testsuite", name=name, tests=str(len(tests)), time=seconds,
                                   failures=str(sum(test.result == "FAIL" for test in tests)),
                                   errors="0",
                                   skipped=str(sum(test.result == "skip" for test in tests)))
            if ended:
                xml.SubElement(xml.SubElement(suite, "properties"), "property", name="cpu_seconds",
                               value=f"{ended.cpu_s:.3f}")
            for test in tests:
                case = xml.SubElement(suite, "testcase", classname=name,
                                      name=NOT_XML.sub("?", test.title or name))
                if test.result == "skip":
                    xml.SubElement(case, "skipped", message=NOT_XML.sub("?", test.why))
                elif test.result == "FAIL":
                    failure = xml.SubElement(case, "failure", message=NOT_XML.sub("?", test.why))
                    failure.text = NOT_XML.sub("?", "\n".join(test.output))
        xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
