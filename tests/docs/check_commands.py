#!/usr/bin/env python3
"""Runs the lines of the pages for users that call `lode`: check_commands.py ROOT LODE [PAGE…]

The lines of a page run in order in an empty folder, on the software device, with a home of their
own. A line `$ lode …` is followed by what it writes. There `…` stands for any text, and `…` on a
line of its own for any lines; times, sizes, digests and NVRTC's version may differ. Each line has
to end with 0. In a sentence, a line that sets a variable or names a file of the page runs too,
after the others. In all code, the command and its options must exist, and so must the options in
the first column of a table below a heading "lode COMMAND".

Hidden comments right before a block, or on lines of their own, say what else is needed:

    <!-- file: saxpy.cu -->     the block is written into the folder
    <!-- uses: PATH -->         a file of the repository that the page links to, or the files that
                                another page shows, are copied into the folder
    <!-- ends with: 1 -->       the exit code of the block's last line
    <!-- not run: WHY -->       the block isn't run
    <!-- synopsis -->           the block shows how lines are made
    <!-- sh
    lines that run, too: what the page's lines need and every reader has
    -->
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from check_voice import CODE, pages

# The changelog names what was there before.
EXEMPT = "CHANGELOG.md"
INSTALLS = re.compile(r"(?:pip|git|apt|apt-get|sudo|curl|docker) ")
LINE = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*lode [a-z]")
# A use of the command in any code: after a shell's, a list's or a YAML key's beginning.
USE = re.compile(r"(?:^|[-:(;&] |\$\(|[A-Z_]=\S* )\s*lode (?P<rest>-{0,2}[a-z][^`]*)")
SAID = re.compile(r"lode emulator \(CPU\)")  # a device's name
MARK = re.compile(r"^<!-- (?P<key>file|uses|ends with|not run): (?P<value>[^\n]+) -->$"
                  r"|^<!-- (?P<alone>synopsis) -->$")
VARIABLE = re.compile(r"\b\d+(?:\.\d+)? (?:ns|µs|ms|s|KiB|MiB|GiB|bytes)\b"
                      r"|\bNVRTC \d[\d.]*|\b[0-9a-f]{16,}\b|\b[0-9a-f]{4,}…")
SECONDS = 120  # of one line


class Block:
    def __init__(self, line, kind, marks):
        self.line, self.kind, self.marks, self.lines = line, kind, marks, []


def blocks(text):
    """The blocks of code: fenced by their language, "indented", and "hidden" ones; and uses."""
    block, marks, hidden = None, {}, False
    for number, line in enumerate(text.splitlines(), 1):
        if block and block.kind != "indented":
            if line == ("-->" if block.kind == "hidden" else "```"):
                yield block
                block = None
            else:
                block.lines.append(line)
            continue
        if line.startswith(("    ", "\t")):
            block = block or Block(number, "indented", marks)
            marks = {}
            block.lines.append(line.removeprefix("    "))
            continue
        if block and not line.strip():
            block.lines.append("")
            continue
        if block:
            yield block
            block = None
        if found := MARK.match(line):
            if found["key"] == "uses":
                yield Block(number, "uses", {"uses": found["value"]})
            else:
                marks[found["key"] or found["alone"]] = found["value"] or ""
        elif line.startswith("```"):
            block, marks = Block(number, line.strip("` ") or "text", marks), {}
        elif line == "<!-- sh":
            block = Block(number, "hidden", {})
        elif line.strip():
            marks = {}
    if block:
        yield block


def commands(lines):
    """Each command of a block with the lines of its output, or None where the page shows none."""
    shown = any(line.startswith("$ ") for line in lines)
    found = []
    for line in lines:
        if line.startswith("$ ") or not shown and line.strip():
            found.append((line.removeprefix("$ "), []))
        elif shown and found:
            found[-1][1].append(line)
    return [(line, "\n".join(output).strip("\n")) for line, output in found]


def plain(text):
    """A text without what may differ between runs."""
    return "\n".join(re.sub(r"\s+", " ", VARIABLE.sub("#", line)).strip()
                     for line in text.strip("\n").splitlines())


def agrees(shown, written):
    pattern = ""
    for line in plain(shown).splitlines():
        pattern += r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
    return re.fullmatch(pattern, plain(written) + "\n") is not None


def files_shown(text):
    return {block.marks["file"]: "\n".join(block.lines) + "\n"
            for block in blocks(text) if "file" in block.marks}


class Command:
    """The command `lode`, and what its help says."""
    def __init__(self, program):
        self.program = Path(program).resolve()

    @cache
    def help(self, *words):
        return subprocess.run([self.program, *words, "--help"], check=True, text=True,
                              capture_output=True, timeout=SECONDS).stdout

    @cache
    def options(self, *words):
        rows = re.findall(r"^  (-\S+(?: --\S+)?)", self.help(*words), re.MULTILINE)
        return {name for row in rows for name in re.findall(r"--?[a-zA-Z][\w-]*", row)}

    @cache
    def subcommands(self, *words):
        below = self.help(*words).partition(" COMMAND\n")[2]
        rows = re.split(r"^(?:Options|Common options)", below, maxsplit=1, flags=re.MULTILINE)[0]
        return set(re.findall(r"^  ([a-z]+) ", rows, re.MULTILINE))

    def faults(self, rest):
        """What doesn't exist of a use of the command; `rest` is what follows `lode`."""
        parts = re.split(r"\s\| (?=[a-z])", re.split(r"\s(?:#|-- )|\s--$|[)`]", rest + " ")[0])
        first, *words = parts[0].split()
        if first.startswith("-"):
            return [] if first in self.options() else [f"lode has no option '{first}'."]
        if first not in self.subcommands() | {"help"}:
            return [f"lode has no command '{first}'."]
        if first == "help":
            return []
        below, found = self.subcommands(first), []
        for part in [words] + [part.split() for part in parts[1:]] if below else [words]:
            name = [first]
            if below and part and not part[0].startswith(("-", "[")):
                if part[0] not in below:
                    found.append(f"`lode {first}` has no command '{part[0]}'.")
                    continue
                name.append(part[0])
            known = self.options(*name) | self.options(first) | self.options()
            for word in part:
                option = re.match(r"\[?(--?[a-zA-Z][\w-]*)", word)
                if option and option[1] not in known:
                    found.append(f"`lode {' '.join(name)}` has no option '{option[1]}'.")
        return found


class Page:
    def __init__(self, root, name, text, command):
        self.root, self.name, self.text, self.command = root, name, text, command
        self.faults, self.ran, self.left = [], 0, []
        self.in_sentences = [(number, span.strip("`")) for number, line
                             in enumerate(text.splitlines(), 1) for span in CODE.findall(line)]

    def fault(self, line, what):
        self.faults.append(f"{self.name}:{line}: {what}")

    def use(self, folder, line, path):
        """Copies a file of the repository, or the files of another page; the page links to it."""
        source = self.root / path
        link = os.path.relpath(source, (self.root / self.name).parent)
        if not source.is_file():
            self.fault(line, f"{path} doesn't exist.")
        elif f"({link}" not in self.text:
            self.fault(line, f"the page uses {path} and doesn't link to it.")
        elif source.suffix == ".md":
            for name, text in files_shown(source.read_text(encoding="utf-8")).items():
                (folder / name).write_text(text, encoding="utf-8")
        else:
            (folder / source.name).write_bytes(source.read_bytes())

    def run(self, folder, number, line, shown, ends_with):
        kept = ("LODE_NVRTC", "LODE_NVJITLINK", "LODE_EMULATOR")
        dropped = ("LODE_", "XDG_", "CLICOLOR", "CUDA_VISIBLE_DEVICES")
        environment = {name: value for name, value in os.environ.items()
                       if name in kept or not name.startswith(dropped)}
        environment |= {"HOME": str(folder / "home"), "LODE_DRIVER": "emulator",
                        "PATH": f"{self.command.program.parent}:{os.environ['PATH']}"}
        if INSTALLS.match(line):
            self.fault(number, f"`{line}` isn't run: mark the block.")
            return
        self.ran += 1
        ran = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
        written = ran.stdout.decode(errors="replace")
        if ran.returncode != ends_with:
            self.fault(number, f"`{line}` ends with {ran.returncode}, not {ends_with}:\n{written}")
        elif shown and not agrees(shown, written):
            diff = difflib.unified_diff(plain(shown).splitlines(), plain(written).splitlines(),
                                        "the page", "what comes", lineterm="")
            self.fault(number, f"`{line}` writes something else:\n" + "\n".join(diff))

    def check_uses(self):
        """Looks at each use of the command, in blocks and in sentences, also if it isn't run."""
        in_blocks = [(block.line + index, line) for block in blocks(self.text)
                     for index, line in enumerate(block.lines, block.kind != "indented")
                     if block.kind not in ("cpp", "json")]
        for number, line in in_blocks + self.in_sentences:
            if (found := USE.search(line.removeprefix("$ "))) and not SAID.search(line):
                for fault in self.command.faults(found["rest"]):
                    self.fault(number, fault)
        command = None
        for number, line in enumerate(self.text.splitlines(), 1):
            if heading := re.match(r"#+ (?:lode ([a-z]+)$)?", line):
                command = heading[1]
            elif command and line.startswith("| `-"):
                for option in re.findall(r"(?<![\w=-])--?[a-zA-Z][\w-]*", line.split(" | ")[0]):
                    for fault in self.command.faults(f"{command} {option}"):
                        self.fault(number, fault)

    def check(self):
        self.check_uses()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "home").mkdir()
            for block in blocks(self.text):
                used = block.kind not in ("cpp", "json") and any(map(USE.search, block.lines))
                runs = block.kind in ("indented", "sh", "text") and any(
                    map(LINE.match, block.lines))
                if block.kind == "uses":
                    self.use(folder, block.line, block.marks["uses"])
                elif "file" in block.marks:
                    (folder / block.marks["file"]).write_text("\n".join(block.lines) + "\n",
                                                              encoding="utf-8")
                elif block.kind == "hidden":
                    self.run(folder, block.line, "set -e\n" + "\n".join(block.lines), "", 0)
                elif "not run" in block.marks or "synopsis" in block.marks:
                    self.left.append(block.marks.get("not run", "a synopsis"))
                    if not used:
                        self.fault(block.line, "the block has no line of lode to leave out.")
                elif runs:
                    found = commands(block.lines)
                    for index, (line, shown) in enumerate(found):
                        last = index == len(found) - 1
                        self.run(folder, block.line, line, shown,
                                 int(block.marks.get("ends with", 0)) if last else 0)
                elif used:
                    self.fault(block.line, "the block has lines of lode, and no mark.")
            for number, line in self.in_sentences:
                if LINE.match(line) and (line[0].isupper() or any(
                        (folder / word).is_file() for word in line.split())):
                    self.run(folder, number, line, "", 0)
        return self


def main():
    root, command, *only = sys.argv[1:]
    command = Command(command)
    checked = [Page(Path(root), name, text, command).check()
               for name, text in pages(Path(root)).items()
               if name != EXEMPT and (not only or name in only)]
    faults = [fault for page in checked for fault in page.faults]
    print("\n".join(faults), end="\n" if faults else "")
    left = [f"  {page.name}: {why}" for page in checked for why in page.left if why != "a synopsis"]
    print("\n".join([f"{sum(page.ran for page in checked)} lines ran; {len(left)} blocks don't:",
                     *left]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
