#!/usr/bin/env python3
"""Checks that check_abi.py finds a function that is missing and one that is new.

    check_abi_test.py liblode.so
"""

import contextlib
import io
import pathlib
import sys
import tempfile

import check_abi


def difference_of(library, names):
    """Returns the exit code and the text of check_abi for another list."""
    with tempfile.TemporaryDirectory() as folder:
        check_abi.LIST = pathlib.Path(folder) / "liblode.txt"
        check_abi.LIST.write_text("".join(name + "\n" for name in names), encoding="utf-8")
        sys.argv = ["check_abi.py", library]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            code = check_abi.main()
    return code, text.getvalue()


def main():
    library = sys.argv[1]
    names = check_abi.exported(library)
    assert difference_of(library, names)[0] == 0
    code, text = difference_of(library, names[1:])
    assert code == 1 and f"+ {names[0]}\n" in text, text
    code, text = difference_of(library, ["lode::gone()", *names])
    assert code == 1 and "- lode::gone()\n" in text, text
    # Not in the list, since no public header declares their members.
    assert not any("State::" in name for name in names), names
    print("check_abi.py finds what is missing and what is new.")


if __name__ == "__main__":
    main()
