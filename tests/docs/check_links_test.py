#!/usr/bin/env python3
"""Plants faults in a site of two pages, and expects check_links.py to find each."""

import tempfile
import unittest
from pathlib import Path

from check_links import faults

# What is added to a page, and the end of what is said about it.
PLANTED = {
    '<a href="gone.html">a</a>': "gone.html has no target",
    '<a href="sub/">a</a>': "sub/ has no target",
    '<a href="../index.html">a</a>': "../index.html has no target",
    '<a href="other.html#gone">a</a>': "other.html#gone has no such anchor",
    '<a href="#gone">a</a>': "#gone has no such anchor",
    '<img src="gone.png">': "gone.png has no target",
    '<script src="https://example.org/a.js"></script>':
        "https://example.org/a.js is loaded from another site",
    '<link rel="stylesheet" href="//example.org/a.css">':
        "//example.org/a.css is loaded from another site",
}
RIGHT = ('<a href="other.html#an%20id">a</a><a href="#here" id="here">a</a><a href="#">a</a>'
         '<a href="sub">a</a><a href="https://example.org/">a</a><img src="data:,">')


class CheckLinksTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = Path(scratch.name)
        (self.site / "other.html").write_text('<h2 id="an id">Other</h2>')

    def faults(self, text):
        (self.site / "index.html").write_text(text)
        return faults(self.site)

    def test_right_links(self):
        (self.site / "sub").mkdir()
        (self.site / "sub/index.html").write_text("<p>")
        self.assertEqual(self.faults(RIGHT), [])

    def test_planted_faults(self):
        for planted, said in PLANTED.items():
            with self.subTest(planted):
                self.assertEqual(self.faults(f"<p>\n{planted}"), [f"index.html:2: {said}"])

    def test_links_to_other_sites_are_listed(self):
        (self.site / "index.html").write_text('<a href="https://example.org/">a</a>')
        external = set()
        self.assertEqual(faults(self.site, external), [])
        self.assertEqual(external, {"https://example.org/"})

    def test_empty_site(self):
        (self.site / "other.html").unlink()
        self.assertEqual(len(faults(self.site)), 1)


if __name__ == "__main__":
    unittest.main()
