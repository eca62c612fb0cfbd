#!/usr/bin/env python3
"""Tests an installed lode as its users meet it, after the whole prefix has been moved.

    installed_test.py PREFIX WORK_FOLDER COMPILER GENERATOR

PREFIX is what `cmake --install` made; it is copied to WORK_FOLDER and used from there.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSIONED = re.compile(r"\blode::v\d+_\d+_\d+::")
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


def run_on_emulator(host, environment):
    """Runs a host's kernel; ThreadSanitizer may dislike where the system puts memory."""
    done = subprocess.run([str(host)], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if "ThreadSanitizer: unexpected memory mapping" in done.stdout:
        print(f"skipped: {host.name}, because ThreadSanitizer doesn't work on this system.")
    elif done.returncode != 0 or ": 42\n" not in done.stdout:
        raise SystemExit(f"{host} ends with {done.returncode}:\n{done.stdout}")


def check_host(host):
    """A host has lode's folder from its package, not from the loader."""
    dynamic = run("readelf", "--dynamic", host)
    for tag in ("(RPATH)", "(RUNPATH)"):
        if tag in dynamic:
            raise SystemExit(f"{host} has lode's folder in its dynamic section:\n{dynamic}")


def check_plugin(plugin, of_headers=False):
    """A plug-in exports nothing of lode; with `of_headers`, only what the headers make in it.

    That is in the namespace of the version.
    """
    exports = run("nm", "--dynamic", "--defined-only", "--demangle", plugin)
    expect(exports, " T plugin_devices")
    leaked = [line for line in exports.splitlines()
              if re.search(r"\blode(::|_)", VERSIONED.sub("", line) if of_headers else line)
              or VERSIONED.search(line) and line.split()[1] not in "VW"]
    if leaked:
        raise SystemExit(f"{plugin} exports symbols of lode:\n" + "\n".join(leaked))


def static_program_test(compiler, work, flags, environment):
    """A fully static program has no loader: it gets an error for what lode opens; a worker compiles."""
    program = work / "static"  # Debian's fmt has no archive, and isn't needed.
    made = subprocess.run([compiler, "-std=c++20", "-static", HERE / "installed_host.cpp", "-o", program,
                           *(word for word in flags if word != "-lfmt")], text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode != 0 and "cannot find -l" in made.stdout:
        print(f"skipped: a static program, because a library has no archive here:\n{made.stdout}")
        return
    if made.returncode != 0:
        raise SystemExit(f"A static program can't be linked:\n{made.stdout}")
    for what, mode in (("The software device", []), ("NVRTC", ["here"])):
        done = subprocess.run([program, *mode], env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        expect(done.stdout, f"{what} can't be opened, because this program is linked with -static")
        if done.returncode != 1:
            raise SystemExit(f"{program} ends with {done.returncode}:\n{done.stdout}")
    expect(run(program, "compile", env=environment), "A worker has compiled")


def main():
    original, work, compiler, generator = sys.argv[1:]
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "moved"
    shutil.copytree(original, prefix, symlinks=True)
    # Programs search the build tree around them: not the one that has lode's own programs.
    (work / "CMakeCache.txt").touch()
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("LODE_") and name != "LD_LIBRARY_PATH"}
    emulated = {**clean, "LODE_DRIVER": "emulator", "LODE_CACHE_DIR": str(work / "cache")}
    libraries = next(path.parent for path in prefix.rglob("cmake") if path.is_dir())
    shared = (libraries / "liblode.so").exists()

    # The loader must not find anything in lode's folder: this would end every program.
    run("cc", "-shared", "-fPIC", HERE / "fake_library.c", "-o", libraries / "lode/libzstd.so.1")

    # find_package
    build = work / "build"
    run("cmake", "-S", HERE / "installed", "-B", build, "-G", generator,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}", env=clean)
    run("cmake", "--build", build, env=clean)
    if not shared:
        check_host(build / "host")
        check_plugin(next(build.glob("libplugin.*")))
    expect(run(build / "host", env=emulated), "lode emulator")
    for host in sorted(build.glob("host*")):
        run_on_emulator(host, emulated)
    expect(run(build / "host", "compile", env=emulated), "A worker has compiled")

    # pkg-config, for C++ and for C.
    header = (prefix / "include/lode/base/api.hpp").read_text(encoding="utf-8")
    version = re.search(r"LODE_VERSION_NUMBERS (.*)", header)[1].replace(", ", ".")
    found = {**clean, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    expect(run("pkg-config", "--modversion", "lode", env=found), version)
    flags = run("pkg-config", "--cflags", "--libs", "lode", env=found).split()
    rpath = [f"-Wl,-rpath,{libraries}"] if shared else []
    run(compiler, "-std=c++20", HERE / "installed_host.cpp", "-o", work / "host", *flags, *rpath,
        env=clean)
    if not shared:
        check_host(work / "host")
        run(compiler, "-std=c++20", "-shared", "-fPIC", HERE / "installed/plugin.cpp", "-o",
            work / "plugin.so", *flags, env=clean)
        check_plugin(work / "plugin.so", of_headers=True)
        static_program_test(compiler, work, flags, emulated)
    expect(run(work / "host", env=emulated), ": 42\n")
    expect(run(work / "host", "compile", env=emulated), "A worker has compiled")
    c_test = HERE.parent / "c_abi" / "c_abi_test.c"
    run("cc", "-std=c99", "-pedantic", "-c", c_test, "-o", work / "c.o", *flags, env=clean)
    run(compiler, work / "c.o", "-o", work / "c", *flags, *rpath, env=clean)
    expect(run(work / "c", env={**emulated, "LODE_EMULATOR_DEVICES": "sm_90"}),
           "The C interface works.")

    # The tools.
    command = prefix / "bin" / "lode"
    expect(run(command, "--version", env=clean), f"lode {version}")
    expect(run(command, "emulate", "--", build / "host", env=clean), ": 42\n")
    print(f"{'Shared' if shared else 'Static'}: find_package, pkg-config and the tools work.")


if __name__ == "__main__":
    main()
