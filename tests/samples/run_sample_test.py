#!/usr/bin/env python3
"""Plants faults in a sample's output: run_sample.py must find them."""

import pathlib
import tempfile
import unittest

import run_sample

COMMENT = "// Adds.\n//\n//     build and run\n//     sum on …: 3\n//     done\n#include <x>\n"


class RunSample(unittest.TestCase):
    def complaint(self, script, comment=COMMENT, fallback=False):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "main.cpp").write_text(comment, encoding="utf-8")
            return run_sample.run(folder, ["sh", "-c", script], fallback)[1]

    def test_output(self):
        self.assertIsNone(self.complaint("echo 'sum on a GPU: 3'; echo done"))
        for script in ("echo 'sum on a GPU: 4'; echo done", "echo 'sum on a GPU: 3'",
                       "echo 'sum on a GPU: 3'; echo done; echo more"):
            self.assertIn("its comment says", self.complaint(script))

    def test_exit_code(self):
        self.assertIn("exits with 3", self.complaint("echo 'sum on a GPU: 3'; echo done; exit 3"))

    def test_fallback(self):
        said = f"echo 'sum on a GPU: 3'; echo done; echo \"{run_sample.FALLBACK}\" >&2"
        self.assertIsNone(self.complaint(said, fallback=True))
        for script in (said[:said.rindex(";")], f"{said}; echo \"{run_sample.FALLBACK}\" >&2"):
            self.assertIn("software device", self.complaint(script, fallback=True))

    def test_no_comment(self):
        with self.assertRaises(AssertionError):
            self.complaint("true", "// Adds.\n#include <x>\n")


if __name__ == "__main__":
    unittest.main()
