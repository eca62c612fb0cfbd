#!/usr/bin/env python3
"""Makes a program from the C++ blocks of documents: extract.py PROGRAM FOLDER DOCUMENT…

A block with a main() becomes a separate program. The other blocks of a section follow each other in
one function, which has `runtime`, `device` and `stream` as parameters: see snippets.hpp.

A hidden comment right before a block changes how the block is used:

    <!-- file: saxpy.cu -->     the block is written into FOLDER, and not compiled even if it is C++
    <!-- compiled only -->      the block is compiled as a template that is never instantiated
    <!-- not compiled: WHY -->  the block is ignored

A hidden comment can also hold code: what a section needs but doesn't show, and its checks. It
includes nothing, since a reader who copies the section would miss it:

    <!-- cpp
    check(sum == 3);
    -->

If PROGRAM ends with .c, it is the C block of the document, which has a main().

Marks around what a command writes are left alone: <!-- begin: COMMAND --> and <!-- end: COMMAND -->
So are those of check_commands.py.
"""
import re
import sys
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>file: \S+|compiled only|not compiled: [^\n]+) -->\n)?"
    r"^```(?P<language>\w+)\n(?P<shown>.*?)^```$"
    r"|^<!-- cpp\n(?P<hidden>.*?)^-->$"
    r"|^##+ (?P<heading>[^\n]+)$",
    re.MULTILINE | re.DOTALL)
MAIN = re.compile(r"^int main\(\) \{$", re.MULTILINE)
# Text that looks like one of the above but doesn't match.
SUSPECT = re.compile(r"<!--(?! (?:begin|end|uses|ends with|not run): [^\n]+ -->\n| sh\n)|^[ ]+```",
                     re.MULTILINE)
UNREAD = "this comment or block isn't read; tests/docs/extract.py says how to write it"


class Document:
    def __init__(self, path, folder, earlier=None):
        """With `earlier`, the program is that of the earlier document and of this one."""
        self.path, self.folder = path, folder
        self.text = path.read_text(encoding="utf-8")
        self.includes, self.functions, self.runs = (
            (earlier.includes, earlier.functions, earlier.runs) if earlier else ([], [], []))
        self.runs_before = len(self.runs)
        self.section, self.parts = "the beginning", []

    def fail(self, at, what):
        line = self.text.count("\n", 0, at) + 1
        sys.exit(f"{self.path}:{line}: {what}")

    def located(self, at, code):
        line = self.text.count("\n", 0, at) + 1
        return f'#line {line} "{self.path}"\n{code}'

    def without_includes(self, code):
        """Moves #include lines to the top of the program, leaving empty lines behind."""
        def move(match):
            self.includes.append(match[0])
            return ""
        return re.sub(r"^#include .*$", move, code, flags=re.MULTILINE)

    def add_program(self, at, code, runs):
        name = f"program_{len(self.functions)}"
        start = f"int {name}() {{" if runs else f"template <class> int {name}() {{"
        if not code.endswith("\n}\n"):
            self.fail(at, "main() isn't the last function of the block")
        code = code.removesuffix("}\n") + "return 0;\n}\n"  # implicit in main()
        self.functions.append(self.located(at, MAIN.sub(start, code)))
        if runs:
            self.runs.append(f'{{"{self.section}", {name}}}')

    def end_section(self):
        if self.parts:
            name = f"section_{len(self.functions)}"
            self.functions.append(
                f"lode::Status {name}([[maybe_unused]] const lode::Runtime& runtime,\n"
                "                        [[maybe_unused]] const lode::Device& device,\n"
                "                        [[maybe_unused]] const lode::Stream& stream) {\n{\n"
                + "\n".join(self.parts) + "\n}\nreturn {};\n}\n")
            self.runs.append(f'{{"{self.section}", {name}}}')
        self.parts = []

    def read(self):
        seen = 0
        for found in BLOCK.finditer(self.text):
            if suspect := SUSPECT.search(self.text, seen, found.start()):
                self.fail(suspect.start(), UNREAD)
            seen = found.end()
            mark = found["mark"] or ""
            if found["heading"]:
                self.end_section()
                self.section = found["heading"].replace('"', "'").replace("`", "")
            elif found["hidden"] is not None:
                at, code = found.start("hidden"), found["hidden"]
                if "#include" in code:
                    self.fail(at, "a hidden #include; show it")
                self.parts.append(self.located(at, code))
            elif mark.startswith("file: "):
                file = self.folder / mark.removeprefix("file: ")
                file.write_text(found["shown"], encoding="utf-8")
            elif found["language"] == "cpp" and not mark.startswith("not compiled"):
                at, code = found.start("shown"), self.without_includes(found["shown"])
                if MAIN.search(code):
                    self.add_program(at, code, runs=mark != "compiled only")
                elif mark:
                    self.fail(at, "'compiled only' is for a block with a main()")
                else:
                    self.parts.append(self.located(at, code))
        if suspect := SUSPECT.search(self.text, seen):
            self.fail(suspect.start(), UNREAD)
        self.end_section()
        if len(self.runs) == self.runs_before:
            self.fail(0, "there is no C++ block")

    def program(self):
        includes = '#include "tests/docs/snippets.hpp"\n' + "".join(
            f"{line}\n" for line in dict.fromkeys(self.includes))
        runs = ",\n    ".join(self.runs)
        return (f"// Made of {self.path.name} by tests/docs/extract.py.\n{includes}\n"
                "namespace {\nusing lode::unwrap;\nusing snippets::check;\n"
                + "\n".join(self.functions) + "}  // namespace\n\n"
                f"int main() {{\n    return snippets::run({{\n    {runs}}});\n}}\n")


def main():
    program, folder, *documents = (Path(argument) for argument in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    if program.suffix == ".c":
        (document,) = documents
        (block,) = re.finditer(r"^```c\n(.*?)^```$", document.read_text(encoding="utf-8"),
                               re.MULTILINE | re.DOTALL)
        line = block.string.count("\n", 0, block.start(1)) + 1
        program.write_text(f'#line {line} "{document}"\n{block[1]}', encoding="utf-8")
        return
    made = None
    for document in documents:
        made = Document(document, folder, made)
        made.read()
    program.write_text(made.program(), encoding="utf-8")


if __name__ == "__main__":
    main()
