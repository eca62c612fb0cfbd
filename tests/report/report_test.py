#!/usr/bin/env python3
"""Tests scripts/report: the page, merging, comparing, running programs, and what is committed.

    tests/report/report_test.py [unittest's arguments]
"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/report")]

import example  # noqa: E402
from reporting import documents, figures, page, plots, programs, sections, svg  # noqa: E402

COMMITTED = ROOT / "docs/report"
SECTIONS = ["roofline", "copies", "stride", "offset", "timeline", "overlap", "products", "families",
            "maths", "launches", "overhead", "start-of-a-process", "compilation-beside-raw-nvrtc",
            "the-cache", "a-copy-of-256-mib-to-the-device", "the-software-device-beside-plain-c-"]


def svgs_of(text):
    return [xml.fromstring(part) for part in re.findall(r'<svg class="plot".*?</svg>', text, re.S)]


class Page(unittest.TestCase):
    def setUp(self):
        self.text = page.render(example.run())

    def test_every_plot_has_marks_a_name_and_axes(self):
        self.assertEqual([one["id"] for one in plots.sections(example.run())], SECTIONS)
        found = svgs_of(self.text)
        self.assertEqual(len(found), len(SECTIONS))
        for one in found:
            marks = [e for e in one.iter() if re.match(r"(mark|bar) s\d", e.get("class", ""))]
            self.assertGreaterEqual(len(marks), 2, one.get("aria-label"))
            labels = [e.text for e in one.iter() if e.get("class") == "label"]
            self.assertTrue(labels)
            for label in labels:
                self.assertRegex(label, r"\((log|linear)\)$")
            self.assertTrue(one.get("aria-label"))

    def test_marks_are_inside_of_the_picture(self):
        for one in svgs_of(self.text):
            width, height = map(float, one.get("viewBox").split()[2:])
            for e in one.iter():
                for key, limit in (("x", width), ("cx", width), ("x1", width), ("x2", width),
                                   ("y", height), ("cy", height), ("y1", height), ("y2", height)):
                    if e.get(key) is not None:
                        self.assertTrue(0 <= float(e.get(key)) <= limit,
                                        f"{one.get('aria-label')}: {key}={e.get(key)}")

    def test_nothing_comes_from_elsewhere(self):
        for text in ("<script", "http:", "https:", "@import", "url(", "src="):
            self.assertNotIn(text, self.text)
        self.assertLess(len(self.text.encode()), 2**20)

    def test_the_same_run_gives_the_same_page(self):
        self.assertEqual(self.text, page.render(json.loads(json.dumps(example.run()))))

    def test_tables_have_captions_and_headers(self):
        for table in re.findall(r"<table.*?</table>", self.text, re.S):
            self.assertIn("<caption>", table)
            self.assertIn('scope="col"', table)
            self.assertIn('scope="row"', table)

    def test_texts_are_escaped(self):
        run = example.run()
        run["machine"]["device"] = '<b> & "GPU"'
        run["results"][0]["last_line"] = "</table>"
        run["results"][0]["exit_code"] = 1
        text = page.render(run)
        self.assertNotIn("<b>", text)
        self.assertIn("&lt;/table&gt;", text)

    def test_a_run_without_figures_has_a_page_too(self):
        run = example.run() | {"results": []}
        self.assertEqual(svgs_of(page.render(run)), [])

    def test_values_that_are_not_numbers_are_left_out(self):
        self.assertEqual(svg.number(None), "–")
        self.assertEqual(svg.number(float("nan")), "–")
        self.assertEqual(svg.number(12345.6), "12,350")
        self.assertEqual(svg.number(0.00123), "0.00123")


class Results(unittest.TestCase):
    def write(self, folder, name, run):
        file = pathlib.Path(folder) / name
        file.write_text(json.dumps(run))
        return file

    def test_of_several_files_the_last_result_counts_unless_it_failed(self):
        first, second = example.run(), example.run(1.2)
        failed = next(r for r in second["results"] if r["program"] == "transfers")
        failed["exit_code"], failed["data"] = 1, None
        second["results"] = [r for r in second["results"] if r["program"] != "cache"]
        with tempfile.TemporaryDirectory() as folder:
            run = figures.merged([self.write(folder, "1", first), self.write(folder, "2", second)])
        start = sections.group(run, "warm_start", "process start")[0]
        self.assertAlmostEqual(start["value"], 186 * 1.2)
        self.assertIsNotNone(figures.data_of(run, "transfers"))
        self.assertIsNotNone(figures.data_of(run, "cache"))

    def test_a_problem_that_was_measured_again_has_the_new_rows_alone(self):
        first, second = example.run(), example.run()
        second["commit"] = "fedcba"
        kernels = next(r for r in second["results"] if r["program"] == "kernels")
        again = kernels["data"]["problems"][0] | {"results": []}
        kernels["data"] = kernels["data"] | {"problems": [again]}
        with tempfile.TemporaryDirectory() as folder:
            run = figures.merged([self.write(folder, "1", first), self.write(folder, "2", second)])
        kernels = next(r for r in run["results"] if r["program"] == "kernels")
        problems = kernels["data"]["problems"]
        self.assertEqual(len(problems), len(figures.data_of(first, "kernels")["problems"]))
        self.assertEqual([one["problem"] for one in problems if not one["results"]],
                         [again["problem"]])
        self.assertEqual(kernels["commit"], first["commit"] + ", fedcba")

    def test_results_of_another_device_are_refused(self):
        other = example.run()
        other["machine"]["device"] = "Another GPU"
        with tempfile.TemporaryDirectory() as folder:
            files = [self.write(folder, "1", example.run()), self.write(folder, "2", other)]
            with self.assertRaisesRegex(figures.Unreadable, "Another GPU"):
                figures.merged(files)
            broken = pathlib.Path(folder) / "3"
            for text in ("{", "[]", '{"lode_report": 99}'):
                broken.write_text(text)
                with self.assertRaises(figures.Unreadable):
                    figures.read(broken)

    def test_a_change_beyond_the_noise_is_marked(self):
        found = figures.changes(example.run(), example.run(1.2))
        self.assertEqual({one["new"]["program"] for one in found}, {"warm_start"})
        self.assertFalse(any(one["better"] for one in found))
        self.assertTrue(all(one["better"]
                            for one in figures.changes(example.run(1.2), example.run())))

    def test_a_change_within_the_noise_is_not(self):
        self.assertEqual(figures.changes(example.run(), example.run(1.015)), [])
        wide = example.run(1.2)
        for one in next(r for r in wide["results"] if r["program"] == "warm_start")["data"][
                "figures"]:
            one["low"], one["high"] = one["value"] * 0.7, one["value"] * 1.3
        self.assertEqual(figures.changes(example.run(), wide), [])

    def test_more_is_better_for_rates(self):
        faster = example.run()
        for one in next(r for r in faster["results"] if r["program"] == "transfers")["data"][
                "figures"]:
            for key in ("value", "low", "high"):
                one[key] *= 2
        found = figures.changes(example.run(), faster)
        self.assertTrue(found and all(one["better"] for one in found))


class Documents(unittest.TestCase):
    def test_tables_between_the_comments_are_filled(self):
        text = ("before\n<!-- figures: compilation -->\nold\n<!-- end of figures -->\nafter\n"
                "<!-- figures: graph-launches -->\nkept\n<!-- end of figures -->\n")
        filled = documents.filled(text, example.run())
        self.assertIn("| saxpy | 49.00 | 49.00 | 1.000 |", filled)
        self.assertNotIn("old", filled)
        self.assertIn("kept", filled)  # The run has no graphs.
        self.assertEqual(filled, documents.filled(filled, example.run()))
        with self.assertRaises(KeyError):
            documents.filled("<!-- figures: nothing -->\n<!-- end of figures -->",
                             example.run())

    def test_every_table_can_be_made_or_says_none(self):
        for name, make in documents.TABLES.items():
            made = make(example.run())
            self.assertTrue(made is None or made.startswith("| "), name)


class Running(unittest.TestCase):
    """scripts/report with programs that stand in for benchmarks."""

    def run_report(self, *arguments, environment=None):
        done = subprocess.run([sys.executable, str(ROOT / "scripts/report"), *arguments],
                              capture_output=True, text=True,
                              env={**os.environ, "LODE_DRIVER": "emulator", **(environment or {})})
        return done.returncode, done.stdout + done.stderr

    def program(self, folder, name, text):
        file = pathlib.Path(folder) / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    def test_programs_run_and_their_figures_are_kept(self):
        result = json.dumps({"bench": "cache", "command": "/a/folder/lode_bench_cache",
                             "figures": [example.figure("cache", "a hit", "us", 2.0)]})
        with tempfile.TemporaryDirectory() as folder:
            self.program(folder, "lode_bench_cache", f"""
while [ "$1" != --json ]; do shift; done
echo '{result}' >"$2"; echo measured
""")
            self.program(folder, "lode_bench_warm_start", "echo no driver; exit 1\n")
            self.program(folder, "lode_experiment_overlap", "echo skipped: no device; exit 77\n")
            self.program(folder, "lode_experiment_bandwidth", "exit 0\n")
            out = pathlib.Path(folder) / "out.json"
            html = pathlib.Path(folder) / "out.html"
            code, text = self.run_report("--programs", folder, "--json", str(out), "--html",
                                         str(html))
            self.assertEqual(code, 1, text)
            self.assertIn("no driver", text)
            self.assertIn("lode_bench_transfers", text)  # Named as missing.
            run = figures.read(out)
            outcomes = {r["program"]: (r["exit_code"], r["last_line"]) for r in run["results"]}
            self.assertEqual(outcomes["cache"], (0, "measured"))
            self.assertEqual(outcomes["warm_start"], (1, "no driver"))
            self.assertEqual(outcomes["experiment:overlap"][0], 77)
            self.assertEqual(outcomes["experiment:bandwidth"], (1, "it wrote no JSON"))
            self.assertNotIn("/a/folder", out.read_text())
            self.assertNotIn(folder, out.read_text())
            self.assertIn("a hit", html.read_text())
            self.assertEqual(self.run_report("--from", str(out), "--compare", str(out))[0], 1)

            code, text = self.run_report("--programs", folder, "--limit", "0.001", "--json",
                                         str(out))
            self.assertEqual((code, figures.read(out)["results"]), (0, []), text)
            self.assertEqual(self.run_report("--programs", folder, "--list", "cache")[0], 0)

    def test_a_program_that_hangs_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            self.program(folder, "lode_bench_cache", "sleep 60\n")
            done = programs.run_one("cache", [f"{folder}/lode_bench_cache"], pathlib.Path(folder),
                                    0.2)
        self.assertEqual(done["exit_code"], -1)
        self.assertIn("ended after", done["last_line"])

    def test_the_table_of_the_emulator_is_read(self):
        found = programs.ratios_in("| kernel | ms | plain | ratio | ns | % |\n| --- | --- | --- |\n"
                                   "| saxpy  |  0.5 |  0.25 |  2.00 | 0.1 | 3 |\ngeometric mean 2\n")
        self.assertEqual([(one["series"], one["value"]) for one in found["figures"]],
                         [("saxpy", 2.0)])
        self.assertIsNone(programs.ratios_in("nothing"))

    def test_without_programs_it_says_what_to_build(self):
        with tempfile.TemporaryDirectory() as folder:
            code, text = self.run_report("--programs", folder)
        self.assertEqual(code, 1)
        self.assertIn("lode_benches", text)

    def test_progress_tells_the_time_left(self):
        with tempfile.TemporaryDirectory() as folder:
            self.program(folder, "lode_bench_cache", "exit 1\n")
            out = io.StringIO()
            with contextlib.redirect_stderr(out):
                programs.run_all([("cache", [f"{folder}/lode_bench_cache"], 30)] * 2, ROOT, [],
                                 out=out)
        self.assertRegex(out.getvalue(), r"\[ 1/2\] cache +0:00 gone, about 1:00 left")


class Committed(unittest.TestCase):
    """The committed page is that of the committed results, and so are the documents' tables."""

    def test_page_and_documents(self):
        run = figures.read(COMMITTED / "h200.json")
        text = (COMMITTED / "h200.html").read_text()
        self.assertEqual(text, page.render(run))
        self.assertLess(len(text.encode()), 2**20)
        for svg_text in svgs_of(text):
            self.assertTrue([e for e in svg_text.iter()
                             if re.match(r"(mark|bar) s\d", e.get("class", ""))])
        pictures = page.pictures(run)
        self.assertEqual(sorted(pictures), sorted(page.PICTURES))
        shown = (ROOT / "docs/performance.md").read_text()
        for name, picture in pictures.items():
            self.assertEqual(picture, (COMMITTED / f"{name}.svg").read_text(), name)
            self.assertIn(f"](report/{name}.svg)", shown)
            xml.fromstring(picture)
        for name in ("docs/dev/measurements.md", "bench/experiments/README.md"):
            text = (ROOT / name).read_text()
            self.assertIn("<!-- figures: ", text)
            self.assertEqual(text, documents.filled(text, run), name)


if __name__ == "__main__":
    unittest.main()
