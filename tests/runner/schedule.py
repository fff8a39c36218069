# SPDX-License-Identifier: BSD-2-Clause
"""Runs suites side by side. A suite may use a resource with others (`share`) or have it alone
(`alone`); the table in tests/suites says which."""
import threading
import time


class Resources:
    """Who uses what now. The caller holds the lock of the schedule."""

    def __init__(self):
        self.users = {}  # resource: suites that share it
        self.owned = set()  # resources that one suite has alone

    def are_free(self, suite):
        return not any(word in self.owned or self.users.get(word) for word in suite.alone) and \
            not any(word in self.owned for word in suite.shares)

    def take(self, suite):
        self.owned |= suite.alone
        for word in suite.shares:
            self.users[word] = self.users.get(word, 0) + 1

    def give_back(self, suite):
        self.owned -= suite.alone
        for word in suite.shares:
            self.users[word] -= 1


class Schedule:
    """Suites that wait, in order, and the threads that run them. A suite that must wait for a resource
    lets those behind it go first."""

    def __init__(self, suites, run, deadline=None):
        """`run` runs one suite. After `deadline` (time.monotonic()) no suite is begun."""
        self.waiting, self.run, self.deadline = list(suites), run, deadline
        self.resources, self.changed = Resources(), threading.Condition()
        self.error = None

    def is_over(self):
        return self.error or not self.waiting or (
            self.deadline is not None and time.monotonic() >= self.deadline)

    def next(self):
        """Waits for a suite that can be run. Returns None when there is none to begin any more."""
        with self.changed:
            while not self.is_over():
                for suite in self.waiting:
                    if self.resources.are_free(suite):
                        self.waiting.remove(suite)
                        self.resources.take(suite)
                        return suite
                self.changed.wait()
        return None

    def work(self):
        while suite := self.next():
            try:
                self.run(suite)
            except BaseException as error:  # pylint: disable=broad-except # raised in run_all()
                self.error = error
            with self.changed:
                self.resources.give_back(suite)
                self.changed.notify_all()

    def run_all(self, jobs):
        """Runs them, `jobs` at once. Returns the suites that were not begun before the deadline."""
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            # Not for good: a signal that comes right before the wait would be handled after it.
            while worker.is_alive():
                worker.join(1)
        if self.error:
            raise self.error
        return self.waiting
