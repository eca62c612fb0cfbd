#!/usr/bin/env python3
"""Tests an installed lode as its users meet it, after the whole prefix has been moved.

    installed_test.py PREFIX WORK_FOLDER COMPILER GENERATOR

PREFIX is what `cmake --install` made; it is copied to WORK_FOLDER and used from there.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **how):
    """Runs a command and returns its output; ends the test if it fails."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **how)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nends with {done.returncode}:\n"
                         f"{done.stdout}")
    return done.stdout


def expect(text, part):
    if part not in text:
        raise SystemExit(f"'{part}' isn't in:\n{text}")


def main():
    original, work, compiler, generator = sys.argv[1:]
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "moved"
    shutil.copytree(original, prefix, symlinks=True)
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("LODE_") and name != "LD_LIBRARY_PATH"}
    emulated = {**clean, "LODE_DRIVER": "emulator", "LODE_CACHE_DIR": str(work / "cache")}
    libraries = next(path.parent for path in prefix.rglob("cmake") if path.is_dir())
    shared = (libraries / "liblode.so").exists()

    # find_package
    build = work / "build"
    run("cmake", "-S", HERE / "installed", "-B", build, "-G", generator,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}", env=clean)
    run("cmake", "--build", build, env=clean)
    expect(run(build / "host", env=emulated), "lode emulator")
    expect(run(build / "host", env=emulated), ": 42\n")
    plugin = next(build.glob("libplugin.*"))
    exports = run("nm", "--dynamic", "--defined-only", "--demangle", plugin)
    expect(exports, " T plugin_devices")
    leaked = [line for line in exports.splitlines() if " T lode" in line]
    if leaked:
        raise SystemExit("The plug-in exports functions of lode:\n" + "\n".join(leaked))

    # pkg-config, for C++ and for C.
    found = {**clean, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    expect(run("pkg-config", "--modversion", "lode", env=found), "0.1.0")
    flags = run("pkg-config", "--cflags", "--libs", "lode", env=found).split()
    rpath = [f"-Wl,-rpath,{libraries}"] if shared else []
    run(compiler, "-std=c++20", HERE / "installed_host.cpp", "-o", work / "host", *flags, *rpath,
        env=clean)
    expect(run(work / "host", env=emulated), ": 42\n")
    c_test = HERE.parent / "c_abi" / "c_abi_test.c"
    run("cc", "-std=c99", "-pedantic", "-c", c_test, "-o", work / "c.o", *flags, env=clean)
    run(compiler, work / "c.o", "-o", work / "c", *flags, *rpath, env=clean)
    expect(run(work / "c", env={**emulated, "LODE_EMULATOR_DEVICES": "sm_90"}),
           "The C interface works.")

    # The tools.
    command = prefix / "bin" / "lode"
    expect(run(command, "--version", env=clean), "lode 0.1.0")
    expect(run(command, "emulate", "--", build / "host", env=clean), ": 42\n")
    print(f"{'Shared' if shared else 'Static'}: find_package, pkg-config and the tools work.")


if __name__ == "__main__":
    main()
