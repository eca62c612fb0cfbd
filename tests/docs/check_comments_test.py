#!/usr/bin/env python3
"""Plants comments that break the rules of check_comments.py, and ones that don't."""

import sys

from check_comments import violations

BROKEN = (
    ("//", "int size;  ///< Of the block."),
    ("//", "/// Reads a word. Of several, the first counts."),
    ("//", "//@ bug: Of two buffers, one is freed."),
    ("//", "// Who is ordered after it is known."),
    ("//", "/// Waits for whoever holds it."),
    ("//", "// The word behind the array."),
    ("//", "/// It is over. Behind"),
    ("//", "/* Of the objects, those that are visible."),
    ("//", "// It is refused, for want of room."),
    ("//", "// Copies and their kin."),
    ("#", "# Of the modules, the first."),
    ("#", "x = 1  # The value behind it."),
)
RIGHT = (
    ("//", "int size;  ///< The block's bytes, of which one is used."),
    ("//", "// A failed write leaves no file behind."),
    ("//", "// Who vouches for a record?"),
    ("//", 'print("Of the block, behind it");'),
    ("//", "/// `behind` is the operand after the arguments."),
    ("#", "#!/bin/bash"),
)


def main():
    for marker, line in BROKEN:
        if [number for number, _ in violations(f"\n{line}\n", marker)] != [2]:
            sys.exit(f"{line!r} is accepted.")
    for marker, line in RIGHT:
        if found := list(violations(line, marker)):
            sys.exit(f"{line!r} is refused: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
