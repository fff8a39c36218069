# SPDX-License-Identifier: BSD-2-Clause
"""Runs suites in parallel. A suite may use a resource with others (`share`), exclusively (`alone`),
or with fewer others than there are processors (`busy`); the table in tests/suites says which."""
import os
import threading
import time


class Resources:
    """The resources in use. The caller holds the lock of the schedule."""

    def __init__(self, processors):
        self.processors = processors
        self.users = {}  # resource: suites that share it or keep it busy
        self.owned = set()  # resources that one suite has exclusively

    def are_free(self, suite):
        return not (self.owned & (suite.uses["alone"] | suite.uses["share"] | suite.uses["busy"])
                    or any(self.users.get(word) for word in suite.uses["alone"])
                    or any(self.users.get(word, 0) >= self.processors for word in suite.uses["busy"]))

    def acquire(self, suite):
        self.owned |= suite.uses["alone"]
        for word in suite.uses["share"] | suite.uses["busy"]:
            self.users[word] = self.users.get(word, 0) + 1

    def release(self, suite):
        self.owned -= suite.uses["alone"]
        for word in suite.uses["share"] | suite.uses["busy"]:
            self.users[word] -= 1


class Schedule:
    """Waiting suites, in order, and the threads that run them. A suite that must wait for a
    resource lets later ones go first."""

    def __init__(self, suites, run, deadline=None):
        """`run` runs one suite. After `deadline` (time.monotonic()) no suite is begun."""
        self.waiting, self.run, self.deadline = list(suites), run, deadline
        self.resources, self.changed = Resources(os.cpu_count() or 1), threading.Condition()
        self.error = None

    def is_over(self):
        return self.error or not self.waiting or (
            self.deadline is not None and time.monotonic() >= self.deadline)

    def next(self):
        """Waits for a suite that can be run. Returns None if none is left to begin."""
        with self.changed:
            while not self.is_over():
                for suite in self.waiting:
                    if self.resources.are_free(suite):
                        self.waiting.remove(suite)
                        self.resources.acquire(suite)
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
                self.resources.release(suite)
                self.changed.notify_all()

    def run_all(self, jobs):
        """Runs the suites, `jobs` in parallel. Returns the suites that were not begun before the
        deadline."""
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            # With a timeout, because otherwise a signal that arrives right before the wait would be
            # handled only after it.
            while worker.is_alive():
                worker.join(1)
        if self.error:
            raise self.error
        return self.waiting
