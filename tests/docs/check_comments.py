#!/usr/bin/env python3
"""Checks the words of comments; prints one line "file:line: rule" for each that breaks a rule.

    check_comments.py ROOT

CONTRIBUTING.md has the rules, of which these are the ones that a machine can see.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("base", "bench", "c", "cmake", "emulator", "include", "jit", "kernels_src", "runtime",
           "samples", "scripts", "tests", "tools")
SKIPPED = ("tests/docs/check_comments_test.py", "tests/fuzz/corpus/")
SLASHES = {".c", ".cpp", ".cu", ".cuh", ".def", ".h", ".hpp", ".map"}
HASHES = {".cmake", ".py", ".txt"}
# The text after the marker, at the start of a line or after code; "//@ bug: …" is a comment, too.
COMMENT = {"//": re.compile(r"(?:^|\s)(?://(?:[/!]?<?|@ \w+:)|/\*+) ?(.*)"),
           "#": re.compile(r"(?:^|\s)# ?(.*)")}
RULES = (
    (re.compile(r"(?:^|[.:;] )Of "), 'begins with "Of" instead of its subject'),
    (re.compile(r"(?:^|[.:;] )Who (?![^.]*\?)|\bwhoever\b", re.IGNORECASE),
     'says "who" or "whoever" instead of naming it'),
    (re.compile(r"\bbehind\b(?!`)", re.IGNORECASE), 'says "behind" for "after", "past" or "of"'),
    (re.compile(r"\bfor want of\b", re.IGNORECASE), 'says "for want of" for "without"'),
    (re.compile(r"\bkin\b"), 'says "kin"'),
)
LEFT_BEHIND = re.compile(r"\b(?:leave|leaves|leaving|left)\b[^.]*\bbehind\b")


def violations(text, marker):
    """The line numbers and rules that the comments of a text break."""
    for number, line in enumerate(text.splitlines(), 1):
        found = COMMENT[marker].search(line)
        if not found:
            continue
        comment = LEFT_BEHIND.sub("", found[1])
        for pattern, rule in RULES:
            if pattern.search(comment):
                yield number, f"A comment {rule}."


def marker_of(path):
    """How a file's comments begin; None for a file without comments."""
    suffix = Path(path.stem).suffix if path.suffix == ".in" else path.suffix
    if suffix in SLASHES:
        return "//"
    if suffix in HASHES:
        return "#"
    if path.suffix:
        return None
    with path.open("rb") as file:
        return "#" if file.read(2) == b"#!" else None


def main():
    root = Path(sys.argv[1])
    broken = False
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if not path.is_file() or name.startswith(SKIPPED) or "__pycache__" in name:
                continue
            marker = marker_of(path)
            if marker is None:
                continue
            for number, rule in violations(path.read_text(encoding="utf-8"), marker):
                print(f"{name}:{number}: {rule}")
                broken = True
    return broken


if __name__ == "__main__":
    sys.exit(main())
