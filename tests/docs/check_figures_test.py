#!/usr/bin/env python3
"""Tests of check_figures.py on planted faults."""
import copy
import json
import tempfile
import unittest
from pathlib import Path

from check_figures import SHOWN, agrees, check, numbers

SOURCE = """# Measured

## Launches

It takes 20 ms in 3 of 4 cases (7 in others).

| Who | 1 argument, µs | 2 arguments, µs |
| --- | --- | --- |
| lode | 3.13 (a) | 3.46 |
| raw | 3.1, 3.3 | |

## Others

| Who | 1 argument, µs |
| --- | --- |
| lode | 9 |
"""
TABLE = {
    "runs": {"r": {"machine": "An H200", "date": "2026-11-26 02:14", "commit": "abc",
                   "data": "report.json"}},
    "figures": [
        {"name": "a", "value": "3.1 to 3.5", "unit": "µs", "row": "lode", "column": ".*, µs"},
        {"name": "b", "value": "3.2", "unit": "µs", "row": "raw", "column": ".*, µs"},
        {"name": "c", "value": "up to 3.5", "unit": "µs", "column": "2 arguments, µs"},
        {"name": "d", "value": "3 of 4", "unit": "cases", "quote": "in 3 of 4 cases"},
        {"name": "e", "value": "at most 30", "unit": "s", "source": "a.hpp", "quote": "limit{30}"},
    ],
}
for figure in TABLE["figures"]:
    figure.update({"pages": ["page.md"], "run": "r"})
    figure.setdefault("source", "measured.md#launches")
PAGE = "3.1 to 3.5 µs, raw 3.2 µs; up to 3.5 µs in 3 of 4 cases, at most 30 s, with lode 0.1.\n"


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("measured.md", SOURCE)
        self.write("a.hpp", "int limit{30};\n")
        self.write("report.json", json.dumps(
            {"date": "2026-11-26 02:14", "commit": "abc", "machine": {"device": "H200"}}))

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def faults(self, page=PAGE, table=None):
        return list(check(self.root, {"page.md": page}, table or TABLE))

    def assert_fault(self, part, **how):
        faults = self.faults(**how)
        self.assertTrue(faults)
        self.assertIn(part, "\n".join(faults))

    def test_what_agrees_is_in_order(self):
        self.assertEqual(self.faults(), [])

    def test_a_page_that_changes_alone(self):
        for old, new in (("raw 3.2 µs", "raw 3.3 µs"), ("3.1 to 3.5", "3.0 to 3.5"),
                         ("3 of 4", "4 of 4"), ("30 s", "20 s"), ("30 s", "30 ms")):
            with self.subTest(new):
                self.assert_fault("page.md:1: ", page=PAGE.replace(old, new))
        self.assert_fault("page.md:2: 12 times", page=PAGE + "It is 12 times as fast.\n")
        self.assertEqual(self.faults(page=PAGE + "`12 times` with CUDA 13.0\n"), [])

    def test_a_figure_that_left_its_page(self):
        self.assert_fault("page.md doesn't have it", page=PAGE.replace("3.2 µs", "fast"))

    def test_a_source_that_changes_alone(self):
        for old, new in (("3.46", "3.66"), ("3.1, 3.3", "3.1, 3.6"), ("3 of 4", "2 of 4"),
                         ("## Launches", "## Launch"), ("| raw", "| crude")):
            with self.subTest(new):
                self.write("measured.md", SOURCE.replace(old, new))
                self.assert_fault("measured.md")
        self.write("measured.md", SOURCE)
        self.write("a.hpp", "int limit{40};\n")
        self.assert_fault("a.hpp doesn't say")

    def test_a_run_that_is_not_that_of_the_report(self):
        for key in ("date", "commit", "machine"):
            table = copy.deepcopy(TABLE)
            table["runs"]["r"][key] = "another"
            self.assert_fault(f"report.json has the {key}", table=table)

    def test_a_figure_without_a_run(self):
        table = copy.deepcopy(TABLE)
        table["figures"][0]["run"] = "another"
        self.assert_fault("names no run", table=table)

    def test_rounding(self):
        self.assertTrue(agrees("0.15", [0.14, 0.15]))
        self.assertTrue(agrees("9,469", [9469]))
        self.assertTrue(agrees("none of 109", [109]))
        self.assertFalse(agrees("2.5", [2.44]))
        self.assertFalse(agrees("1 to 2", [1, 3]))
        self.assertFalse(agrees("up to 2", [1, 3]))
        self.assertEqual(numbers("1,831, 2.5 (7) `8` sm_90"), [1831, 2.5])

    def test_what_counts_as_a_figure(self):
        self.assertEqual(SHOWN.findall("CUDA 12.0, 16 cores, sm_90, a block of 256, 0.1.x"), [])
        self.assertEqual(SHOWN.findall("0.97 to 2.5 times, 5 %, 209 of 210, 1.5 to 3, 8,861"),
                         ["0.97 to 2.5 times", "5 %", "209 of 210", "1.5 to 3", "8,861"])


if __name__ == "__main__":
    unittest.main()
