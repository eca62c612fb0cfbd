#!/usr/bin/env python3
"""Compares what liblode.so exports with the list liblode.txt beside this script.

    check_abi.py [--update] liblode.so

The list has the demangled functions and data, sorted. Weak symbols aren't listed: they are inline
functions of the headers, of which each compiler emits others. Prints every difference and fails if
there is one; --update writes the list instead. Fails too if something is exported that isn't lode's,
and if a public header isn't between LODE_API_BEGIN and LODE_API_END.
"""

import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("liblode.txt")
HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include/lode"
UNMARKED = {"lode.h", "lode.hpp", "base/api.hpp", "base/package.h"}
NAMESPACE = re.compile(r"\blode::v\d+(_\d+)+::")  # The list doesn't change with the version.
VERSION_NODE = re.compile(r"@@?LODE_[0-9.]+$")


def exported(library):
    """Returns the sorted names of the library's strong dynamic symbols."""
    names = set()
    output = subprocess.run(["nm", "--dynamic", "--demangle", "--defined-only", library],
                            check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        _, kind, name = line.split(" ", 2)
        if kind in "WVuA":
            continue
        if not VERSION_NODE.search(name):
            raise SystemExit(f"{library} exports {name} without a version.")
        name = VERSION_NODE.sub("", name)
        if not name.startswith("lode_") and not NAMESPACE.match(name):
            raise SystemExit(f"{library} exports {name}, which isn't in lode's namespace.")
        names.add(NAMESPACE.sub("lode::", name))
    return sorted(names)


def unmarked_headers():
    """Returns the public headers whose functions the library doesn't export, but should."""
    names = {path.relative_to(HEADERS).as_posix(): path for path in HEADERS.rglob("*.h*")}
    return sorted(name for name, path in names.items() if name not in UNMARKED and not
                  name.startswith("kernels") and not  # A static library of its own.
                  re.search(r"^LODE_API_BEGIN$.*^LODE_API_END$", path.read_text(encoding="utf-8"),
                            re.MULTILINE | re.DOTALL))


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    if len(arguments) != 1:
        raise SystemExit(__doc__.strip())
    for name in unmarked_headers():
        raise SystemExit(f"include/lode/{name} lacks LODE_API_BEGIN and LODE_API_END.")
    names = exported(arguments[0])
    if len(names) < 100:
        raise SystemExit(f"{arguments[0]} exports only {len(names)} functions: it isn't liblode.")
    if "--update" in sys.argv:
        LIST.write_text("\n".join(names) + "\n", encoding="utf-8")
        return 0
    listed = LIST.read_text(encoding="utf-8").splitlines()
    for name in sorted(set(listed) - set(names)):
        print(f"- {name}")
    for name in sorted(set(names) - set(listed)):
        print(f"+ {name}")
    if listed != names:
        print(f"liblode.so doesn't export what {LIST.name} lists (- is missing, + is new). If this is "
              f"meant, tests/abi/check_abi.py --update writes the list.")
        return 1
    print(f"liblode.so exports the {len(names)} functions that {LIST.name} lists.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
