#!/usr/bin/env python3
"""Checks the tables of docs/dev/coverage.md; prints how many rows are covered, wholly or in part.

    check_coverage.py ROOT

A row is `| id | what is asked | where lode has it | tests |`. Each id occurs once, each link leads
to a file of the repository, and the third column links to a file or says "not yet: " and what is
missing. A row that says so is covered in part if its third column links to a file, else not at all.
"""

import re
import sys
from pathlib import Path

DOCUMENT = "docs/dev/coverage.md"
COLUMNS = 4
ID = re.compile(r"[A-Z]{2,3}-\d+")
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
MISSING = "not yet: "


def rows(text):
    """The cells of each row whose first cell is an id, or is in a row's place."""
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] != "Id" and set(cells[0]) != {"-"}:
            yield cells


def violations(text, exists):
    """A document's faults, as sentences. `exists(target)` says whether a link's file exists."""
    seen = set()
    for cells in rows(text):
        name = cells[0]
        if not ID.fullmatch(name):
            yield f"{name}: the first column isn't an id such as CTX-1."
            continue
        if name in seen:
            yield f"{name}: the id occurs twice."
        seen.add(name)
        if len(cells) != COLUMNS:
            yield f"{name}: the row has {len(cells)} columns, not {COLUMNS}."
            continue
        for target in LINK.findall(" ".join(cells)):
            if "://" not in target and not exists(target):
                yield f"{name}: the link's file {target} doesn't exist."
        if MISSING not in cells[2] and not LINK.search(cells[2]):
            yield f'{name}: the row names neither a file of lode nor "{MISSING}…".'
    if not seen:
        yield "The document has no rows."


def missing(text):
    """The ids of the rows covered in part, and of those not covered at all."""
    without = [cells for cells in rows(text) if any(MISSING in cell for cell in cells)]
    partly = [cells[0] for cells in without if LINK.search(cells[2])]
    return partly, [cells[0] for cells in without if cells[0] not in partly]


def main():
    document = Path(sys.argv[1]) / DOCUMENT
    text = document.read_text(encoding="utf-8")
    faults = list(violations(text, lambda target: (document.parent / target).exists()))
    for fault in faults:
        print(f"{DOCUMENT}: {fault}")
    if faults:
        return 1
    count = len(list(rows(text)))
    partly, absent = missing(text)
    print(f"{count} rows: {count - len(partly) - len(absent)} covered, "
          f"{len(partly)} in part ({', '.join(partly) or 'none'}), "
          f"{len(absent)} not yet ({', '.join(absent) or 'none'}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
