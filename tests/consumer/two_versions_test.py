#!/usr/bin/env python3
"""Tests a host and a plug-in with two versions of lode in one process.

    two_versions_test.py PREFIX WORK_FOLDER COMPILER GENERATOR [ARGUMENT OF CMAKE…]

The host links the static library that is installed in PREFIX. The plug-in links one made of the same
sources with the next version, which differs in the patch number alone. Both export as much as they
can: the host everything (-rdynamic), the plug-in what its objects make of the headers.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from installed_test import expect, run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ["CMakeLists.txt", "LICENSE", "cmake", "include", "base", "jit", "runtime", "c"]
OF_LODE = re.compile(r"\blode(::|_)")


def copy_as_next_version(to):
    """Copies the components' sources, with another version in the one line that has it.

    Returns both versions, as that line has them.
    """
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
        copy(ROOT / part, to / part)
    header = to / "include/lode/base/api.hpp"
    text = header.read_text(encoding="utf-8")
    version, = re.findall(r"^#define LODE_VERSION_NUMBERS (\d+, \d+, \d+)$", text, re.MULTILINE)
    minor, patch = version.rsplit(", ", 1)
    following = f"{minor}, {int(patch) + 1}"
    header.write_text(text.replace(f"NUMBERS {version}\n", f"NUMBERS {following}\n"), encoding="utf-8")
    return version, following


def of_lode(symbols):
    """Returns those symbols that are lode's, demangled."""
    names = run("c++filt", input="\n".join(sorted(symbols))).splitlines()
    return [name for name in names if OF_LODE.search(name)]


def exports(file):
    lines = run("nm", "--dynamic", "--defined-only", file).splitlines()
    return {line.split()[2].split("@")[0] for line in lines}


def bindings(log, files):
    """Returns the symbols of `files` that the loader has bound to another one of them."""
    names = "|".join(re.escape(str(file)) for file in files)
    pattern = re.compile(rf"binding file ({names}) \[\d+\] to ({names}) \[\d+\]: \w+ symbol `([^']+)'")
    found = pattern.findall(log)
    assert any(binder == bound for binder, bound, _ in found), "The loader's log can't be read."
    return {symbol for binder, bound, symbol in found if binder != bound}


def require_none(symbols, what):
    names = of_lode(symbols)
    if names:
        raise SystemExit(f"{len(names)} symbols of lode {what}:\n" + "\n".join(names[:50]))


def main():
    prefix, work, compiler, generator, *arguments = sys.argv[1:]
    prefix, work = pathlib.Path(prefix), pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    (work / "next").mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("LODE_") and name != "LD_LIBRARY_PATH"}
    environment["LODE_DRIVER"] = "emulator"

    version, following = copy_as_next_version(work / "next")
    run("cmake", "-S", HERE / "two_versions", "-B", work / "build", "-G", generator,
        f"-DCMAKE_CXX_COMPILER={compiler}", f"-DLODE_ROOT={work / 'next'}", *arguments)
    run("cmake", "--build", work / "build", "--target", "plugin")
    plugin = next((work / "build").glob("libplugin.*"))

    libraries = next(path.parent for path in prefix.rglob("cmake") if path.is_dir())
    flags = run("pkg-config", "--cflags", "--libs", "lode",
                env={**environment, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}).split()
    host = work / "host"
    run(compiler, "-std=c++20", "-rdynamic", HERE / "two_versions/host.cpp", "-o", host, *flags)
    assert of_lode(exports(host)) and of_lode(exports(plugin)), "Neither may hide what it has."
    require_none(exports(host) & exports(plugin), "are exported by both")

    # Two NVRTCs, which the two versions come to in different orders.
    nvrtc = pathlib.Path(run(host, "nvrtc", env=environment).strip())
    copies = work / "nvrtc"
    copies.mkdir()
    # Not its libnvrtc-builtins: all that are loaded count as files of each NVRTC of that release.
    shutil.copyfile(nvrtc, copies / nvrtc.name)

    for how in ("global", "local"):
        folder = work / how
        folder.mkdir()
        (folder / "answer.cuh").write_text("#define ANSWER 42\n", encoding="utf-8")
        expect(run(host, plugin, how, folder, nvrtc, copies / nvrtc.name,
                   following, env={**environment, "LODE_CACHE_DIR": str(folder / "cache"), "LD_BIND_NOW": "1",
                        "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(folder / "bindings")}),
               f"The host has {version}.")
        log = "".join(file.read_text(encoding="utf-8") for file in folder.glob("bindings.*"))
        require_none(bindings(log, (host, plugin)), f"bind to the other's (RTLD_{how.upper()})")
    print("Two versions of lode in one process have no symbol in common, and both work.")


if __name__ == "__main__":
    main()
