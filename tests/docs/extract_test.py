#!/usr/bin/env python3
"""Tests of extract.py on small documents."""
import tempfile
import unittest
from pathlib import Path

from extract import Document


class Extract(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def extract(self, document):
        page = self.root / "page.md"
        page.write_text(document, encoding="utf-8")
        made = Document(page, self.root)
        made.read()
        return made.program()

    def test_blocks_of_a_section_share_a_function(self):
        made = self.extract("# Page\n\n## One\n\n```cpp\nint a = 1;\n```\n\n"
                            "```cpp\nint b = a;\n```\n\n## Two\n\n```cpp\nint a = 2;\n```\n")
        self.assertEqual(made.count("lode::Status section_"), 2)
        self.assertIn('{"One", section_0}', made)
        self.assertIn('{"Two", section_1}', made)
        self.assertIn(f'#line 6 "{self.root}/page.md"\nint a = 1;\n', made)
        self.assertLess(made.index("int b = a;"), made.index("section_1"))

    def test_a_main_is_a_program(self):
        made = self.extract("```cpp\n#include <map>\nint main() {\n    f();\n}\n```\n")
        self.assertIn("int program_0() {\n    f();\nreturn 0;\n}\n", made)
        self.assertLess(made.index("#include <map>"), made.index("namespace {"))
        self.assertIn('{"the beginning", program_0}', made)

    def test_hidden_code_is_part_of_its_section(self):
        made = self.extract("```cpp\nint a = 1;\n```\n\n"
                            "<!-- cpp\ncheck(a == 1);\n-->\n")
        self.assertLess(made.index("int a = 1;"), made.index("check(a == 1);"))

    def test_documents_share_a_program(self):
        (self.root / "a.md").write_text("```cpp\nint a;\n```\n", encoding="utf-8")
        (self.root / "b.md").write_text("```cpp\nint b;\n```\n", encoding="utf-8")
        first = Document(self.root / "a.md", self.root)
        first.read()
        both = Document(self.root / "b.md", self.root, first)
        both.read()
        self.assertIn("section_0", both.program())
        self.assertIn(f'#line 2 "{self.root}/b.md"\nint b;\n', both.program())
        (self.root / "b.md").write_text("no code\n", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, r"b\.md:1: "):
            Document(self.root / "b.md", self.root, both).read()

    def test_marks(self):
        made = self.extract("<!-- file: a.cu -->\n```cuda\nkernel\n```\n\n"
                            "```cpp\nint a = 1;\n```\n\n"
                            "<!-- not compiled: it is another library's -->\n```cpp\nother();\n```\n\n"
                            "<!-- compiled only -->\n```cpp\nint main() {\n    g();\n}\n```\n")
        self.assertEqual((self.root / "a.cu").read_text(encoding="utf-8"), "kernel\n")
        self.assertNotIn("kernel", made)
        self.assertNotIn("other();", made)
        self.assertIn("template <class> int program_0() {", made)
        self.assertNotIn(", program_0}", made)

    def test_what_isnt_read_is_an_error(self):
        for document in ("<!-- not compiled -->\n```cpp\nint a;\n```\n",  # without a reason
                         "<!-- file: a.cu -->\n\n```cpp\nint a;\n```\n",  # an empty line between
                         "<!-- cpp: int a; -->\n\n```cpp\nint a;\n```\n",
                         "- a list\n\n  ```cpp\n  int a;\n  ```\n\n```cpp\nint a;\n```\n",
                         "```cpp\nint a;\n```\n\n<!-- compiled only-->\n",
                         "<!-- compiled only -->\n```cpp\nint a;\n```\n",
                         "```cpp\nint main() {\n}\nint a;\n```\n",
                         "```cpp\nint a;\n```\n\n<!-- cpp\n#include <set>\n-->\n",
                         "no code\n"):
            with self.subTest(document=document):
                with self.assertRaisesRegex(SystemExit, r"page\.md:\d+: "):
                    self.extract(document)


if __name__ == "__main__":
    unittest.main()
