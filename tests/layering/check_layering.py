#!/usr/bin/env python3
"""Checks which room includes which, by reading the include lines.

All rooms share one include root, so the compiler lets a sideways include pass; this doesn't.
Prints one line "file:line: rule" per violation; exits 1 when there is any.

    check_layering.py [repository root]
"""

import pathlib
import re
import sys

# What each room may know besides itself. "lode" stands for the public headers of every room.
ROOMS = {
    "base": set(),
    "jit": {"base"},
    "runtime": {"base", "jit"},
    "emulator": {"base"},
}
# The folders that may know the library by its public headers only, and each other's nothing.
OUTSIDERS = {"tools", "samples", "bench"}
# Private headers that outsiders may include all the same: the tools use base's helpers (files, try
# macros) and look into the cache's own files, and benchmarks take the rooms apart to measure them.
PRIVATE_ROOMS_OF = {"tools": {"base", "jit"}, "bench": {"base", "jit", "runtime"}}

CUDA_HEADER = re.compile(r"^(cu[A-Z_a-z0-9]*|cuda[A-Za-z0-9_]*|nvrtc|nvJitLink)\.h$|^(cuda|crt)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')
UNWRAP = "lode/base/unwrap.hpp"  # Opt-in: throws, so the umbrella leaves it out.
UNMARKED = re.compile(
    r"^\s*(?!.*\[\[nodiscard\]\])(?:(?:static|friend|inline|constexpr|virtual)\s+)*"
    r"(?:Result<.*>|Status)\s+\w+\("
)


def includes_of(path):
    """Yields (line number, name) of each include line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2)


def room_of(name):
    """(room, is it public) that an include name belongs to; (None, False) for outside headers."""
    parts = name.split("/")
    if parts[0] == "lode":
        return (parts[1], True) if len(parts) == 3 else ("lode", True)
    if len(parts) > 1 and (parts[0] in ROOMS or parts[0] in OUTSIDERS):
        return parts[0], False
    return None, False


def sources_in(folder):
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".hpp", ".cpp", ".h", ".def", ".inc"}:
                yield path


def check_public_header(path, room, report):
    for number, name in includes_of(path):
        target, public = room_of(name)
        if CUDA_HEADER.search(name):
            report(number, f"a public header includes the CUDA header {name}: hosts build without "
                           "a toolkit")
        elif target is not None and not public:
            report(number, f"a public header includes the private header {name}")
        elif target is not None and room != "lode" and target not in ROOMS[room] | {room}:
            report(number, f"a public header of {room} includes {name}: {room} may know "
                           f"{known(ROOMS[room])}")


def check_room_body(path, room, report):
    for number, name in includes_of(path):
        target, _ = room_of(name)
        if target is not None and target not in ROOMS[room] | {room}:
            report(number, f"{room} includes {name}: {room} may know {known(ROOMS[room])}")


def check_outsider(path, room, report):
    lent = PRIVATE_ROOMS_OF.get(room, set()) | {room}
    for number, name in includes_of(path):
        target, public = room_of(name)
        if target is not None and not public and target not in lent:
            report(number, f"{room} includes the private header {name}: {room} may know public "
                           "headers only")


def known(rooms):
    return " and ".join(sorted(rooms)) if rooms else "no other room"


def check_umbrella(root, report_at):
    """lode.hpp includes every public header but unwrap.hpp."""
    umbrella = root / "include/lode/lode.hpp"
    if not umbrella.exists():
        return
    included = {name for _, name in includes_of(umbrella)}
    for path in sources_in(root / "include/lode"):
        name = path.relative_to(root / "include").as_posix()
        if path != umbrella and name != UNWRAP and name not in included:
            report_at(umbrella, 1, f"lode.hpp leaves out the public header {name}")


def check_nodiscard(path, report):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if UNMARKED.match(line):
            report(number, "a function that returns Result or Status isn't [[nodiscard]]")


def check(root):
    """All violations under `root` as texts "file:line: rule"."""
    violations = []

    def report_at(path, number, rule):
        violations.append(f"{path.relative_to(root).as_posix()}:{number}: {rule}")

    for path in sources_in(root / "include/lode"):
        parts = path.relative_to(root / "include/lode").parts
        room = parts[0] if len(parts) > 1 else "lode"
        if room != "lode" and room not in ROOMS:
            report_at(path, 1, f"{room} is no room with public headers")
            continue
        check_public_header(path, room, lambda n, rule, path=path: report_at(path, n, rule))
    for room in ROOMS:
        for path in sources_in(root / room):
            check_room_body(path, room, lambda n, rule, path=path: report_at(path, n, rule))
    for room in sorted(OUTSIDERS):
        for path in sources_in(root / room):
            check_outsider(path, room, lambda n, rule, path=path: report_at(path, n, rule))
    for folder in ["include", *ROOMS]:
        for path in sources_in(root / folder):
            if path.suffix == ".hpp":
                check_nodiscard(path, lambda n, rule, path=path: report_at(path, n, rule))
    check_umbrella(root, report_at)
    return violations


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (root / "include/lode").is_dir():
        print(f"{root} has no include/lode: it isn't lode's repository.", file=sys.stderr)
        return 2
    violations = check(root)
    print("\n".join(violations) if violations else "Every include keeps to the rooms.")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
