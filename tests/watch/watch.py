#!/usr/bin/env python3
"""Compares NVIDIA's newest CUDA with lode's tables: watch.py ROOT WHEELS CUDA-FOLDER

WHEELS is a folder into which the wheels of wheels.txt are unpacked, CUDA-FOLDER has the cuda.h that
lode is built with. Prints each thing of the newest CUDA that no table of lode has, with the file
that would have to know it, and exits with 1 if there is one. accounted.txt has the names that no
table needs, each with its reason.
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile


class Watch:
    def __init__(self, root, wheels, cuda):
        self.root, self.cuda = pathlib.Path(root), pathlib.Path(cuda)
        self.newest = next(pathlib.Path(wheels).glob("nvidia/cu*"))
        self.found = []
        self.accounted = {}
        section = ""
        for line in self.text("tests/watch/accounted.txt").splitlines():
            if match := re.fullmatch(r"\[(.+)\]", line):
                section = match[1]
            elif not line.startswith(("#", "=")):
                self.accounted.setdefault(section, set()).update(line.split())

    def text(self, path):
        return (self.root / path).read_text()

    def header(self, name):
        return (self.newest / "include" / name).read_text()

    def rows(self, path, pattern):
        return set(re.findall(pattern, self.text(path), re.MULTILINE))

    def compare(self, what, names, known, place):
        """Every name is in lode's table, or in the section of accounted.txt."""
        for name in sorted(set(names) - set(known) - self.accounted.get(what, set())):
            self.found.append(f"{what}: {name} is new: {place}, or tests/watch/accounted.txt")

    def driver(self):
        cuda, typedefs = self.header("cuda.h"), self.header("cudaTypedefs.h")
        version = int(re.search(r"#define\s+CUDA_VERSION\s+(\d+)", cuda)[1])
        self.compare("CUDA release", [str(version)],
                     self.rows("base/ptx_releases.hpp", r"\{(\d+), \{\d+, \d+\}\}"),
                     "base/ptx_releases.hpp")
        own = int(re.search(r"own_driver_version = (\d+)", self.text("emulator/driver/driver.hpp"))[1])
        if own < version:
            self.found.append(f"driver: the software device is for CUDA {own}, not {version}: "
                              "emulator/driver/driver.hpp")
        exported = set(re.findall(r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(", cuda))
        exported |= set(re.findall(r"\b(cu[A-Z]\w*_pt[sd][sz])\s*\(", cuda))
        symbols = set()
        forms = set()
        for table in ("entry_points.def", "unsupported.def"):
            path = f"emulator/driver/{table}"
            symbols |= self.rows(path, r"^LODE_\w+\(.*, (\w+)\)$")
            forms |= self.rows(path, r"^LODE_\w+\((\w+), (\d+),")
        self.compare("exported symbol", exported, symbols, "emulator/driver/*.def")
        self.compare("driver function",
                     {re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", name) for name in exported},
                     self.rows("docs/dev/driver-functions.md", r"^\| (cu\w+) \|"),
                     "tests/docs/driver_functions.py --write")
        # Forms are new only above the version of the headers that lode is built with.
        old = (self.cuda / "cudaTypedefs.h").read_text()
        pattern = r"PFN_(cu\w+?)_v(\d+)\b"
        new = set(re.findall(pattern, typedefs)) - set(re.findall(pattern, old))
        self.compare("form of a function", [f"{name} {v}" for name, v in new],
                     {f"{name} {v}" for name, v in forms}, "emulator/driver/*.def")
        self.enumerators(cuda)

    def enumerators(self, cuda):
        def named(text):
            return set(re.findall(r"^\s*,?\s*(CU[A-Z0-9_a-z]*_[A-Z0-9_a-z]+)\s*(?:=|,|/\*|$)", text,
                                  re.MULTILINE))

        def after(prefix, names):
            return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}

        new = named(cuda) - named((self.cuda / "cuda.h").read_text())
        every = named(cuda)
        attribute = r"^LODE_(?:NEWER_)?(?:DEVICE_)?ATTRIBUTE\((?:\d+, )?(\w+),"
        attributes = after("CU_DEVICE_ATTRIBUTE_", every) - {"MAX"}
        for path in ("emulator/driver/attributes.def", "runtime/device_attributes.def"):
            self.compare("device attribute", attributes, self.rows(path, attribute), path)
        errors = {name for name in every if name.startswith("CUDA_ERROR_")}
        self.compare("error code", errors,
                     self.rows("emulator/driver/results.def", r"^LODE_RESULT\(\d+, (\w+),"),
                     "emulator/driver/results.def, runtime/driver/status.cpp")
        rest = {name for name in new if not name.startswith(("CU_DEVICE_ATTRIBUTE_", "CUDA_ERROR_"))}
        self.compare("enumerator", rest, (), "where lode has its kind")

    def libraries(self):
        for header, name, place in (("nvrtc.h", "nvrtc", "jit/nvrtc/symbols.def"),
                                    ("nvJitLink.h", "nvJitLink", "jit/nvjitlink.cpp"),
                                    ("nvFatbin.h", "nvFatbin", "jit/fatbin_writer.cpp")):
            functions = set(re.findall(rf"\b({name}[A-Z]\w+)\s*\(", self.header(header)))
            known = self.rows(place, rf"\b({name}[A-Z]\w+)\b")
            self.compare(f"{name} function", functions, known, place)

    def compiler(self):
        library = next((self.newest / "lib").glob("libnvrtc.so.*"))
        nvrtc = ctypes.CDLL(str(library))
        count = ctypes.c_int()
        nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        nvrtc.nvrtcGetSupportedArchs(numbers)
        for path, row in (("base/architectures.def", "ARCHITECTURE"),
                          ("base/architectures.def", "MULTIPROCESSOR"),
                          ("emulator/devices/profiles.def", "PROFILE")):
            known = {major + minor for major, minor in
                     self.rows(path, rf"^LODE_{row}\( *(\d+), *(\d+),")}
            self.compare("architecture", map(str, numbers), known, f"LODE_{row} of {path}")
        options = re.findall(rb"\0(--[a-z][a-z0-9-]+)(?=\0)", library.read_bytes())
        self.compare("NVRTC option", {option.decode() for option in options}, (),
                     "jit/options.cpp, jit/nvcc_flags.cpp")

    def grammar(self):
        ptxas = Ptxas(self.newest / "bin/ptxas")
        releases = self.rows("base/ptx_releases.hpp", r"\{\d+, \{(\d+), (\d+)\}\}")
        last = max((int(major), int(minor)) for major, minor in releases)
        for major, minor in ((last[0], last[1] + 1), (last[0] + 1, 0)):
            if ptxas.takes(f".version {major}.{minor}\n.target sm_90\n.address_size 64\n"):
                self.found.append(f"PTX release: {major}.{minor} is new: base/ptx_releases.hpp")
        if not ptxas.takes(f".version {last[0]}.{last[1]}\n.target sm_90\n.address_size 64\n"):
            self.found.append(f"PTX release: ptxas doesn't take {last[0]}.{last[1]}")
        names, words = set(), set()
        for path in self.root.glob("emulator/decode/ptx/grammar_*.def"):
            for name, modifiers in re.findall(r'^LODE_[A-Z]+\("([^"]+)", "([^"]*)"', path.read_text(),
                                              re.MULTILINE):
                names.add(name)
                words.update(name.split("."), re.split(r"[ |?+]+", modifiers.replace("|", " ")))
        opcodes = [o for o in ptxas.opcodes(f"{last[0]}.{last[1]}")
                   if not any(".".join(o.split(".")[:k]) in names for k in range(1, 9))]
        self.compare("PTX opcode", opcodes, (), "emulator/decode/ptx/grammar_*.def")
        modifiers = ptxas.modifiers(f"{last[0]}.{last[1]}")
        self.compare("PTX modifier", modifiers, words, "emulator/decode/ptx/grammar_*.def")


class Ptxas:
    """What the names in ptxas's own data mean to it."""

    def __init__(self, path):
        self.path = path
        path.chmod(0o755)
        data = path.read_bytes()
        self.strings = {text.decode() for text in re.findall(rb"(?<=\0)[!-~]{2,60}(?=\0)", data)}

    def messages(self, text, target="sm_90"):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a.ptx")
            file.write_text(text)
            done = subprocess.run([self.path, f"-arch={target}", file, "-o", f"{folder}/a.cubin"],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def takes(self, text):
        return self.messages(text)[0] == 0

    def known(self, instructions, version, unknown):
        """The numbers of the instructions about which ptxas doesn't say `unknown`."""
        at, known = 0, []
        while at < len(instructions):
            part = instructions[at:at + 80]
            head = (f".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n"
                    ".reg .b32 r;\n")
            output = self.messages(head + "\n".join(part) + "\n}\n")[1]
            said = {}
            for line, message in re.findall(r", line (\d+); (?:error|fatal) *: (.*)", output):
                said.setdefault(int(line) - 6, []).append(message)
            # A syntax error ends the reading.
            ends = [k for k, lines in said.items() if any("yntax error" in m for m in lines)]
            stop = min([*ends, len(part) - 1])
            for k in range(stop + 1):
                words = " ".join(said.get(k, []))
                if k not in ends and said.get(k) and not re.search(unknown, words):
                    known.append(at + k)
            at += stop + 1
        return known

    def opcodes(self, version):
        names = sorted(s for s in self.strings if re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*", s))
        kept = self.known([f"{name} r;" for name in names], version,
                          "Not a name of any known|Unknown modifier")
        return [names[k] for k in kept]

    def modifiers(self, version):
        words = sorted({s[1:] for s in self.strings if re.fullmatch(r"\.[A-Za-z0-9_]+(::\w+)*", s)})
        kept = self.known([f"mov.{word} r;" for word in words], version, "Unknown modifier")
        return [words[k] for k in kept]


def main(root, wheels, cuda):
    watch = Watch(root, wheels, cuda)
    for check in (watch.driver, watch.libraries, watch.compiler, watch.grammar):
        check()
    for line in watch.found:
        print(line)
    print(f"{len(watch.found)} things of the newest CUDA are unaccounted for.")
    return 1 if watch.found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
