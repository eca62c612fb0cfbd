#!/usr/bin/env python3
"""Plants faults in a table for check_coverage.py."""

import sys

from check_coverage import missing, violations

HEAD = "| Id | Asked | lode | Tests |\n| --- | --- | --- | --- |\n"
GOOD = "| CTX-1 | a | [x](x.hpp) | [t](t.cpp#part) |\n"
LATER = "| CTX-2 | b | not yet: no such call | |\n"
PARTLY = "| CTX-3 | c | [x](x.hpp) | not yet: no test |\n"


def main():
    cases = [(GOOD + LATER + PARTLY, []),
             ("", ["The document has no rows."]),
             (GOOD + GOOD, ["CTX-1: the id occurs twice."]),
             ("| CTX-4 | d | [y](y.hpp) | |\n", ["CTX-4: the link's file y.hpp doesn't exist."]),
             ("| CTX-5 | e | [x](x.hpp) | [u](u.cpp) |\n",
              ["CTX-5: the link's file u.cpp doesn't exist."]),
             ("| CTX-6 | f | [x](https://example.org/x) | |\n", []),
             ("| CTX-7 | g | | [t](t.cpp) |\n",
              ['CTX-7: the row names neither a file of lode nor "not yet: …".']),
             ("| CTX-8 | h | [x](x.hpp) |\n", ["CTX-8: the row has 3 columns, not 4."]),
             (GOOD + "| other | i | [x](x.hpp) | |\n",
              ["other: the first column isn't an id such as CTX-1."])]
    for table, expected in cases:
        found = list(violations(HEAD + table, {"x.hpp", "t.cpp"}.__contains__))
        if found != expected:
            sys.exit(f"With {table!r}: {found}, expected {expected}.")
    found = missing(HEAD + GOOD + LATER + PARTLY)
    if found != (["CTX-3"], ["CTX-2"]):
        sys.exit(f"In part and not at all: {found}, expected CTX-3 and CTX-2.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
