#!/usr/bin/env python3
"""Plants faults in pages for check_voice.py."""

import sys
import tempfile
from pathlib import Path

from check_voice import BUDGETS, MAINTAINERS, check, maintainers_pages, sentences, violations

GLOSSARY = ("| Term | Meaning | Not |\n| --- | --- | --- |\n"
            "| **software device** | a driver | emulator, simulator |\n")
TERMS = {"emulator": "software device"}
LONG = " ".join(["word"] * 31)


def found(text, budget=1000, page="docs/a.md"):
    return list(violations(page, text, budget, TERMS))


def expect(what, is_so):
    if not is_so:
        sys.exit(f"check_voice.py is wrong: {what}.")


def main():
    expect("a good page has no faults", not found("# Page\n\nIt runs. It ends.\n"))
    expect("31 words are too many", len(found(f"# Page\n\n{LONG}.\n")) == 1)
    expect("30 words aren't", not found(f"{LONG.removesuffix(' word')}.\n"))
    expect("a fault names its line", found(f"# Page\n\n{LONG}.\n")[0].startswith("docs/a.md:3: "))
    expect("items and cells are sentences by themselves",
           len(found(f"- {LONG}\n1. {LONG}\n| a | {LONG} |\n")) == 3)
    expect("a list of short items is none", not found("- one two\n" * 40))
    half = " ".join(["word"] * 20)
    expect("a full stop ends a sentence", not found(f"{half}. Another {half}.\n"))
    expect("e.g. doesn't", len(found(f"{half}, e.g. Word {half}.\n")) == 1)
    expect("code doesn't count", not found(f"```sh\n{LONG}\n```\n\n    {LONG}\n\n<!-- {LONG} -->\n"))
    expect("code in a sentence is one word", not found(f"It is `{LONG}`.\n"))
    expect("a link counts by its text", not found(f"[It]({LONG.replace(' ', '/')}).\n"))
    for opening in ("Of these, one runs.", "For want of time it ends.", "Who asks gets it.",
                    "Note that it runs.", "In order to run, start it."):
        expect(f"'{opening}' is found", found(f"It runs. {opening}\n"))
    expect("a question may begin with Who", not found("Who compiles it?\n"))
    for word in ("it waits behind the kernel", "it starts in vain", "until now it waits"):
        expect(f"'{word}' is found", found(f"Yes, {word}.\n"))
    expect("a forbidden term is found", found("It runs on the emulator.\n"))
    expect("but not in code, a path or a longer word, nor as a name in a cell",
           not found("It is `emulator`, emulator/driver, tests/emulator, or emulatory.\n"
                     "| emulator | a driver |\n"))
    expect("a sentence in a cell isn't a name", len(found("| the emulator | a driver |\n")) == 1)
    expect("a page beyond its budget is found", len(found("one two three\n", 2)) == 1)
    expect("a row that is made from code isn't read",
           not found(f"| `LODE_A` | {LONG} |\n", page="docs/environment.md"))
    expect("each sentence has its line", list(sentences("A b.\nC d. E f.\n")) ==
           [(1, "A b."), (2, "C d."), (2, "E f.")])

    pages = dict.fromkeys(BUDGETS, "Short.\n") | {"docs/glossary.md": GLOSSARY}
    expect("good pages have no faults", not list(check(pages, {"docs/dev/a.md": "Short.\n"})))
    expect("maintainers' pages have a voice, and no budget",
           list(check(pages, {"docs/dev/a.md": "One two. " * 1000 + f"\n{LONG}.\n"})) ==
           ["docs/dev/a.md:2: a sentence of 31 words: word word word word word word word word …"])
    expect("a page without a budget is found",
           list(check(pages | {"docs/new.md": "Short.\n"}, {})) ==
           ["docs/new.md: the page has no budget in check_voice.py."])
    missing = {name: text for name, text in pages.items() if name != "README.md"}
    expect("a budget without a page is found",
           list(check(missing, {})) == ["README.md has a budget and doesn't exist."])
    expect("a glossary without terms is found",
           list(check(pages | {"docs/glossary.md": "none\n"}, {})) ==
           ["docs/glossary.md: there are no terms."])
    expect("the glossary's words are forbidden on every page",
           len(list(check(pages | {"docs/ci.md": "Simulators run.\n"},
                          {"tests/a.md": "Emulators run.\n"}))) == 2)
    with tempfile.TemporaryDirectory() as folder:
        for name in MAINTAINERS:
            (Path(folder) / name / "deep").mkdir(parents=True)
            (Path(folder) / name / "deep/a.md").write_text("Short.\n", encoding="utf-8")
        expect("maintainers' pages are found at every depth",
               list(maintainers_pages(Path(folder))) ==
               sorted(f"{name}/deep/a.md" for name in MAINTAINERS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
