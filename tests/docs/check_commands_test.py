#!/usr/bin/env python3
"""Tests of check_commands.py on small pages, with a stand-in for the command."""
import tempfile
import unittest
from pathlib import Path

from check_commands import Command, Page, agrees

STAND_IN = """#!/bin/bash
case "$*" in
    --help) printf '%s\\n' 'Usage: lode COMMAND' '' 'Some:' '  show  it' '  cache  it' '' 'Common options:' '  -V, --version' ;;
    "cache --help") printf '%s\\n' 'Usage: lode cache COMMAND' '' 'Commands:' '  clear  it' '' 'Options:' '  --json[=FILE]' ;;
    *--help) printf '%s\\n' '  -o, --output DIR' '  --all' ;;
    "show fail") echo "it fails"; exit 1 ;;
    show*) cat -- "${@:2}" && echo "in 24 ms, $LODE_DRIVER" ;;
esac
"""
FILE = "<!-- file: a.cu -->\n```cuda\nkernel\n```\n\n"


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "bin").mkdir()
        program = self.root / "bin/lode"
        program.write_text(STAND_IN, encoding="utf-8")
        program.chmod(0o755)
        self.command = Command(program)

    def check(self, text):
        return Page(self.root, "page.md", text, self.command).check()

    def assert_fault(self, text, part):
        faults = self.check(text).faults
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(part, faults[0])

    def test_the_output_of_a_page_is_compared(self):
        page = FILE + "    $ lode show a.cu\n    kernel\n    in 7 ms, emulator\n"
        checked = self.check(page)
        self.assertEqual((checked.faults, checked.ran), ([], 1))
        self.assert_fault(page.replace("    kernel", "    colonel"), "writes something else")
        self.assert_fault(page.replace("in 7 ms", "in 7 minutes"), "writes something else")
        self.assert_fault(page + "    more\n", "writes something else")

    def test_what_may_differ(self):
        self.assertTrue(agrees("a 1.5 KiB  b", "a 22 KiB b\n"))
        self.assertTrue(agrees("first\n…\nlast", "first\n2\n3\nlast\n"))
        self.assertTrue(agrees("key 0123456789abcdef", "key fedcba9876543210"))
        self.assertTrue(agrees("key 3e0c…, b", "key fedcba9876543210, b"))
        self.assertTrue(agrees("in …/a.cu", "in /tmp/a.cu"))
        self.assertFalse(agrees("8 registers", "16 registers"))
        self.assertFalse(agrees("first\n…\nlast", "first\n2\n"))
        self.assertFalse(agrees("in …/a.cu", "in /tmp/b.cu"))

    def test_exit_codes(self):
        self.assert_fault("    lode show fail\n", "ends with 1, not 0")
        mark = "<!-- ends with: 1 -->\n"
        self.assertEqual(self.check(mark + "    $ lode show fail\n    it fails\n").faults, [])
        self.assert_fault(FILE + mark + "    lode show a.cu\n", "ends with 0, not 1")

    def test_names_that_do_not_exist(self):
        for line in ("lode shw", "lode show --al", "lode show -x", "lode cache claer",
                     "lode cache clear --jsn", "lode --vrsion"):
            with self.subTest(line):
                self.assert_fault(f"Say `{line}`.\n", "lode")
                self.assert_fault(f"<!-- synopsis -->\n    {line}\n", "lode")
                self.assert_fault(f"<!-- not run: why -->\n```yaml\n- run: {line}\n```\n", "lode")
        self.assertEqual(self.check(
            "<!-- synopsis -->\n    lode show FILE… [-o DIR] [--all | --output DIR]\n"
            "    lode cache clear [--json] | clear\n").faults, [])
        self.assertEqual(self.check("`lode show -- a --odd`, `lode show | man -l -`\n").faults, [])

    def test_options_in_tables(self):
        table = "## lode show\n\n| option |  |\n|---|---|\n| `-o, --output DIR`, `--all` | it |\n"
        self.assertEqual(self.check(table).faults, [])
        self.assert_fault(table.replace("--all", "--al"), "'--al'")
        self.assert_fault(table.replace("-o,", "-p,"), "'-p'")

    def test_which_lines_in_sentences_run(self):
        self.assertEqual(self.check("`LODE_A=1 lode show /dev/null` or `lode show fail`\n").ran, 1)
        self.assertEqual(self.check(FILE + "`lode show a.cu` or `lode show fail`\n").ran, 1)
        self.assert_fault(FILE + "`lode show a.cu b.cu`\n", "ends with 1")

    def test_marks(self):
        checked = self.check("<!-- not run: it needs CI -->\n    lode show fail\n")
        self.assertEqual((checked.faults, checked.ran, checked.left), ([], 0, ["it needs CI"]))
        self.assert_fault("```yaml\n- run: lode show a.cu\n```\n", "no mark")
        self.assert_fault("    pip install lode\n    lode show /dev/null\n", "mark the block")
        self.assert_fault("<!-- not run: it needs CI -->\n    ./app\n", "no line of lode")

    def test_files(self):
        (self.root / "b.cu").write_text("b\n", encoding="utf-8")
        (self.root / "other.md").write_text(FILE, encoding="utf-8")
        uses = ("<!-- uses: {0} -->\n    $ lode show {1}\n    {2}\n    in 1 ms, emulator\n\n"
                "[it]({0})\n")
        self.assertEqual(self.check(uses.format("b.cu", "b.cu", "b")).faults, [])
        self.assertEqual(self.check(uses.format("other.md", "a.cu", "kernel")).faults, [])
        self.assert_fault("<!-- uses: b.cu -->\n", "doesn't link")
        self.assert_fault("<!-- uses: c.cu -->\n", "doesn't exist")

    def test_hidden_lines_run(self):
        page = "<!-- sh\necho a > made\n-->\n    $ lode show made\n    a\n    in 1 ms, emulator\n"
        self.assertEqual(self.check(page).faults, [])
        self.assert_fault("<!-- sh\nfalse\n-->\n", "ends with 1")


if __name__ == "__main__":
    unittest.main()
