"""Runs the tests of a module with unittest, and writes a line of JSON for each: its name, its outcome
(passed, failed, skipped) and the last line of its message.

    unittest_results.py MODULE FILE [PATTERN]...

A test whose name matches a pattern isn't run with the others, but in a process of its own: a kernel's
fault stays with the process.
"""

import fnmatch
import json
import subprocess
import sys
import unittest


class Results(unittest.TestResult):
    """Writes each outcome at once, so that a crash loses none."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.outcome = None

    def startTest(self, test):
        super().startTest(test)
        self.outcome = ("passed", "")

    def stopTest(self, test):
        super().stopTest(test)
        self.write(test, *self.outcome)

    def write(self, test, outcome, message):
        print(json.dumps({"test": test.id(), "outcome": outcome, "message": message}),
              file=self.file, flush=True)

    def fail_with(self, test, error):
        lines = [line for line in self._exc_info_to_string(error, test).splitlines() if line]
        message = " ".join(lines[-2:])[:500]
        if error[0].__name__ == "Skipped":  # pytest.skip()
            self.outcome = ("skipped", message)
            return
        if self.outcome is None:  # The set-up of a class or module.
            self.write(test, "failed", message)
        else:
            self.outcome = ("failed", message)

    def addError(self, test, err):
        self.fail_with(test, err)

    def addFailure(self, test, err):
        self.fail_with(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fail_with(test, err)

    def addSkip(self, test, reason):
        self.outcome = ("skipped", reason)

    def addExpectedFailure(self, test, err):
        self.outcome = ("passed", "fails, as its author expects")

    def addUnexpectedSuccess(self, test):
        self.outcome = ("passed", "passes, although its author expects that it fails")


def flattened(suite):
    """The single tests of a suite."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flattened(test)
        else:
            yield test


def main():
    module, path, *patterns = sys.argv[1:]
    together, alone = [], []
    for test in flattened(unittest.defaultTestLoader.loadTestsFromName(module)):
        is_alone = any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in patterns)
        (alone if is_alone else together).append(test)
    with open(path, "a", encoding="utf-8") as file:
        unittest.TestSuite(together).run(Results(file))
    for test in alone:
        subprocess.run([sys.executable, __file__, test.id(), path], check=False)


if __name__ == "__main__":
    main()
