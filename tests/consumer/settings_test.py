#!/usr/bin/env python3
"""Tests a host of an installed lode in one setting, or how lode refuses it.

    settings_test.py PREFIX WORK_FOLDER NVCC SETTING
    settings_test.py --list    the names of the settings; those with a + are long

Exits with 77 where the setting needs a program that isn't there.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from installed_test import expect, run

HERE = pathlib.Path(__file__).resolve().parent
CPP = ("installed_host.cpp", ": 42\n")
C = ("../c_abi/c_abi_test.c", "The C interface works.")
PLUGIN = ("installed/plugin.cpp", None)

# Built with the words of pkg-config: the compiler, pkg-config's option, source and output.
COMPILED = {
    "g++, C++23": ("g++ -std=c++23", "", *CPP),
    "clang++, C++20": ("clang++ -std=c++20", "", *CPP),
    "+clang++, C++23": ("clang++ -std=c++2b", "", *CPP),
    "+sanitizers": ("g++ -std=c++20 -fsanitize=address,undefined", "", *CPP),
    "C, pkg-config": ("cc -std=c99 -pedantic", "--static", *C),
    "plug-in, pkg-config --static": ("g++ -std=c++20 -shared -fPIC", "--static", *PLUGIN),
}
# Built by CMake: the generator, the project and its arguments, and the output.
CONFIGURED = {
    "C, CMake": ("Ninja", "settings", "-DLANGUAGE=C", C[1]),
    "Unix Makefiles": ("Unix Makefiles", "embed_kernels", "", "target: sm_80"),
    "+Ninja Multi-Config": ("Ninja Multi-Config", "embed_kernels", "", "target: sm_80"),
}
# What the compiler's first error says.
REFUSED = {
    "C++17 with g++": ("g++ -std=c++17", "lode needs C++20: add -std=c++20"),
    "C++17 with clang++": ("clang++ -std=c++17", "lode needs C++20: add -std=c++20"),
    "no tl::expected": ("g++ -std=c++20 -nostdinc", "lode needs tl::expected: install"),
    "libc++": ("clang++ -std=c++20 -stdlib=libc++", "lode needs libstdc++ 11"),
}
# What CMake says.
NOT_CONFIGURED = {
    "an old compiler": ("-P settings/old_compiler.cmake", "lode needs GCC 11 or Clang 14"),
    "an unknown component": ("-DCOMPONENTS=COMPONENTS;emulatr", "lode has no component emulatr"),
    "another version": ("-DVERSION=0.1", 'compatible with requested version "0.1"'),
    "a missing file to embed": ("-DEMBED=missing.cu", "settings/missing.cu doesn't exist"),
}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(program):
    if not shutil.which(program):
        skip(f"no {program}")


class Setting:
    def __init__(self, prefix, work, nvcc):
        self.prefix, self.work, self.nvcc = pathlib.Path(prefix), pathlib.Path(work), nvcc
        shutil.rmtree(work, ignore_errors=True)
        self.work.mkdir(parents=True)
        (self.work / "CMakeCache.txt").touch()  # As in installed_test.py.
        libraries = next(path.parent for path in self.prefix.rglob("cmake") if path.is_dir())
        self.rpath = f"-Wl,-rpath,{libraries}"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("LODE_") and name != "LD_LIBRARY_PATH"}
        self.environment |= {"LODE_DRIVER": "emulator", "LODE_CACHE_DIR": str(self.work / "cache"),
                             "LODE_EMULATOR_DEVICES": "sm_90",
                             "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}

    def run(self, *words):
        return run(*words, env=self.environment)

    def output_of_failure(self, *words):
        done = subprocess.run(words, cwd=HERE, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            raise SystemExit(f"{shlex.join(words)} works:\n{done.stdout}")
        return done.stdout

    def compiled(self, compiler, option, source, output):
        compiler = shlex.split(compiler)
        need(compiler[0])
        flags = self.run("pkg-config", *option.split(), "--cflags", "--libs", "lode").split()
        if any(word.startswith("/") for word in flags):
            raise SystemExit(f"lode.pc names a file: {flags}")
        made = self.work / "made"
        self.run(*compiler, HERE / source, "-o", made, *flags, self.rpath)
        if output is None:  # A plug-in.
            count = f"import ctypes; print(ctypes.CDLL('{made}').plugin_devices())"
            expect(self.run(sys.executable, "-c", count), "1\n")
        else:
            expect(self.run(made), output)

    def configured(self, generator, project, arguments, output):
        if project == "embed_kernels":
            need(self.nvcc)
        build = self.work / "build"
        self.run("cmake", "-S", HERE / project, "-B", build, "-G", generator,
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DLODE_NVCC={self.nvcc}",
                 "-DLODE_PRECOMPILE_KERNELS=total:total.cu@sm_90a", *arguments.split())
        for configuration in ("Debug", "Release") if "Multi" in generator else ("",):
            self.run("cmake", "--build", build, "--config", configuration)
            expect(self.run(build / configuration / "host"), output)

    def refused(self, compiler, sentence):
        compiler = shlex.split(compiler)
        need(compiler[0])
        has_library = [*compiler, "-fsyntax-only", "-include", "version", "-x", "c++", "/dev/null"]
        has_library = [word for word in has_library if word != "-nostdinc"]
        if subprocess.run(has_library, stderr=subprocess.DEVNULL).returncode != 0:
            skip(f"no standard library for {shlex.join(compiler)}")
        output = self.output_of_failure(*compiler, "-fsyntax-only", "-Wfatal-errors",
                                        f"-I{self.prefix}/include", "installed_host.cpp")
        expect(output, sentence)

    def not_configured(self, arguments, sentence):
        how = ["-P", *arguments.split()[1:]] if arguments.startswith("-P") else [
            "-S", "settings", "-B", str(self.work / "build"), "-G", "Ninja", "-DLANGUAGE=CXX", arguments]
        output = self.output_of_failure("cmake", f"-DCMAKE_PREFIX_PATH={self.prefix}", *how)
        expect(" ".join(output.split()), sentence)


def main():
    tables = {"compiled": COMPILED, "configured": CONFIGURED, "refused": REFUSED,
              "not_configured": NOT_CONFIGURED}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(name for table in tables.values() for name in table))
        return
    *places, name = sys.argv[1:]
    for kind, table in tables.items():
        if name in table:
            getattr(Setting(*places), kind)(*table[name])
            return
    raise SystemExit(f"There is no setting {name}.")


if __name__ == "__main__":
    main()
