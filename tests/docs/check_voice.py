#!/usr/bin/env python3
"""Checks the voice of the pages: check_voice.py ROOT [--words]

No sentence has more than 30 words, and none opens or speaks as the lists below forbid.
docs/glossary.md is a table `| term | meaning | not |`: the words of its last column mustn't stand
for the term. Code, paths and a cell that is one name don't count. A page for users or contributors
also keeps to its number of words, which `--words` prints; those for maintainers have none.
"""

import math
import re
import sys
from pathlib import Path

LONGEST_SENTENCE = 30
GLOSSARY = "docs/glossary.md"

# The most words of each page, tables included. Two screens have about 900.
BUDGETS = {
    "CHANGELOG.md": 1600,
    "CONTRIBUTING.md": 750,
    "README.md": 500,
    "SECURITY.md": 250,
    "docs/c-api.md": 450,
    "docs/cache.md": 1000,
    "docs/cached.md": 540,
    "docs/ci.md": 750,
    "docs/command.md": 5860,
    "docs/debugger.md": 560,
    "docs/embedding.md": 1350,
    "docs/environment.md": 850,
    "docs/errors.md": 1450,
    "docs/glossary.md": 200,
    "docs/guide/background.md": 850,
    "docs/guide/compile.md": 1050,
    "docs/guide/devices.md": 200,
    "docs/guide/errors.md": 400,
    "docs/guide/kernels.md": 800,
    "docs/guide/memory.md": 450,
    "docs/guide/nvvm-ir.md": 400,
    "docs/guide/llvm-ir.md": 400,
    "docs/guide/shipping.md": 250,
    "docs/guide/streams.md": 800,
    "docs/guide/templates.md": 300,
    "docs/guide/textures.md": 200,
    "docs/guide/variants.md": 900,
    "docs/migration.md": 950,
    "docs/nvcc-flags.md": 550,
    "docs/performance.md": 450,
    "docs/reference.md": 400,
    "docs/software-device.md": 825,
    "docs/start.md": 730,
    "docs/troubleshooting.md": 505,
    "samples/README.md": 960,
    "scripts/python/description.md": 250,
}

# The folders with pages for maintainers.
MAINTAINERS = ("docs/dev", "emulator", "jit", "kernels_src", "bench", "packaging", "tests")

# How no sentence begins, and why.
OPENINGS = {
    r"Of ": "put the subject first",
    r"For want of ": "say what is missing",
    r"Who(?! )?(?=[^?]*$) ": "say whoever, or name the person",
    r"(Please|Note that|Simply|Basically|Obviously) ": "say it without",
    r"It should be noted ": "say it without",
    r"In order to ": "say To",
}

# What no page says, and why.
WORDS = {
    r"for want of": "say without, or what is missing",
    r"behind": "say after, or where it is",
    r"in vain": "say what doesn't happen",
    r"naive": "name the design",
    r"until now|as of today|nowadays": "a page describes what is there",
    r"this session|that session": "name the run",
}

# Figures are made from a JSON, comments and code aren't read.
HIDDEN = re.compile(r"^<!-- figures: .*?^<!-- end of figures -->$|^<!--.*?-->$|^```.*?^```$",
                    re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?: {4,}|\t).*$", re.MULTILINE)
IMAGE_OR_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"``[^`]+``|`[^`]+`")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9§])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs)\.")
# Rows that are made from code.
MADE_ROW = re.compile(r"^\| `[A-Z_]+` \|.*$", re.MULTILINE)


def prose(text):
    """A page's text with each piece of code as one word, on as many lines as before."""
    def blank(match):
        return "\n" * match[0].count("\n")
    text = INDENTED.sub("", HIDDEN.sub(blank, text))
    text = CODE.sub("§", IMAGE_OR_LINK.sub(r"\1", text))
    return ABBREVIATION.sub(lambda match: match[0].replace(".", "·"), text)


def pieces(line):
    """The parts of a line that are sentences by themselves: cells, items, paragraphs."""
    line = line.strip()
    if line.startswith("|"):
        return [cell.strip() for cell in line.strip("|").split("|")]
    return [re.sub(r"^(?:[-*>]|#+|\d+\.)\s+", "", line)]


def sentences(text):
    """Each sentence with its line's number. A line is a paragraph."""
    for number, line in enumerate(prose(text).splitlines(), 1):
        for piece in pieces(line):
            for sentence in SENTENCE_END.split(piece):
                if sentence and not set(sentence) <= set("-: "):
                    yield number, sentence.strip("*_ ")


def words(sentence):
    return [word for word in sentence.split() if any(c.isalnum() or c == "§" for c in word)]


def forbidden_terms(glossary):
    """What the glossary's last column forbids, by the term to use instead."""
    rows = [[cell.strip() for cell in line.strip("| ").split("|")]
            for line in glossary.splitlines() if line.startswith("| ")]
    found = {}
    for cells in rows:
        if len(cells) == 3 and cells[0] != "Term" and not set(cells[0]) <= set("- "):
            for word in filter(None, (word.strip() for word in cells[2].split(","))):
                found[word] = cells[0].strip("*")
    return found


def violations(page, text, budget, terms):
    """A page's faults, as sentences."""
    if page.endswith("environment.md"):
        text = MADE_ROW.sub("", text)
    count = len(words(prose(text)))
    if count > budget:
        yield f"{page}: {count} words, {budget} are allowed."
    for line, sentence in sentences(text):
        shown = " ".join(sentence.split()[:8])
        if (length := len(words(sentence))) > LONGEST_SENTENCE:
            yield f"{page}:{line}: a sentence of {length} words: {shown} …"
        for opening, cure in OPENINGS.items():
            if re.match(opening, sentence):
                yield f"{page}:{line}: {cure}: {shown} …"
        for pattern, cure in WORDS.items():
            if found := re.search(rf"\b(?:{pattern})\b", sentence, re.IGNORECASE):
                yield f'{page}:{line}: "{found[0]}": {cure}.'
        if page != GLOSSARY:
            for word, term in terms.items():
                found = re.search(rf"(?<!/)\b{re.escape(word)}s?\b(?!/)", sentence, re.IGNORECASE)
                if found and found[0] != sentence:
                    yield f'{page}:{line}: "{found[0]}": the glossary says {term}.'


def read(root, paths):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(paths)}


def pages(root):
    """The pages for users, by their names from the root."""
    return read(root, [root / "README.md", root / "CHANGELOG.md",
                       *(root / "docs").glob("*.md"), *(root / "docs/guide").glob("*.md")])


def maintainers_pages(root):
    return read(root, (path for folder in MAINTAINERS for path in (root / folder).rglob("*.md")))


def check(texts, maintainers):
    """The faults of pages with a budget, and of pages without."""
    terms = forbidden_terms(texts.get(GLOSSARY, ""))
    if not terms:
        yield f"{GLOSSARY}: there are no terms."
    for page in BUDGETS.keys() - texts.keys():
        yield f"{page} has a budget and doesn't exist."
    for page, text in texts.items():
        if page not in BUDGETS:
            yield f"{page}: the page has no budget in check_voice.py."
        yield from violations(page, text, BUDGETS.get(page, 1000), terms)
    for page, text in maintainers.items():
        yield from violations(page, text, math.inf, terms)


def main():
    root = Path(sys.argv[1])
    others = ("CONTRIBUTING.md", "SECURITY.md", "samples/README.md", "scripts/python/description.md")
    texts = pages(root) | read(root, (root / name for name in others))
    if "--words" in sys.argv[2:]:
        for page, text in texts.items():
            print(f"{len(words(prose(text))):6} of {BUDGETS.get(page, 0):6}  {page}")
        return 0
    maintainers = maintainers_pages(root)
    faults = list(check(texts, maintainers))
    print("\n".join(faults) or f"{len(texts) + len(maintainers)} pages are in order.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
