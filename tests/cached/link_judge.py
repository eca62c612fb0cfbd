#!/usr/bin/env python3
"""Compares what a program gets of nvJitLink inside `lode cached` with what it gets outside.

As judge.py does it for NVRTC: outside, each link has a process of its own; inside, all are made in
one process, first with an empty cache, then with a full one.

    link_judge.py LODE [NVRTC NVJITLINK]

LODE_CACHED_CALLS says how many links are made (60), LODE_CACHED_SEED which (1).
"""

import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import judge

CUBIN, PTX, LTOIR, ANY = 1, 2, 3, 10
INTERNAL = 6  # What the cache doesn't keep; symbols that are missing give it.
# Each needs what the others have.
SOURCES = {
    "kernel": """extern "C" __device__ double g(double x); __device__ int counter = %d;
        extern "C" __global__ void k(double* x) { *x = g(*x) + counter++; printf("%%f", *x); }""",
    "function": """extern "C" __device__ double g(double x) {
        return sin(x) / 3 + pow(2.3, %d.7) * x; }""",
    "alone": """__constant__ float c[4] = {%d}; __device__ float unused;
        extern "C" __global__ void s(float* x, int n) { switch (n) {
            case 1: *x = sqrtf(*x); break; case 2: *x /= c[1]; break; case 3: *x = 3; break;
            case 4: *x *= 7; break; case 5: *x += 2.5f; } }""",
}
OPTIONS = ("-O3", "-O0", "-g", "-lineinfo", "-ftz=true", "-prec-div=false", "-prec-sqrt=0",
           "-fma=0", "-Xptxas=-v", "-Xptxas=-O1", "-maxrregcount=32", "-verbose",
           "-kernels-used=k", "-variables-used=counter", "-optimize-unused-variables", "-no-cache",
           "-device-stack-protector", "-jump-table-density=50", "-ptx")
INVALID = ("-unknown", "-O2", "-maxrregcount=many", "arch", "")
# The program's own nvJitLink answers: lode can't know what else these do.
UNCACHED = ("-time", "-split-compile=2", "-Xptxas=--options-file=options.txt")


def texts(values):
    return (ctypes.c_char_p * max(len(values), 1))(*[value.encode() for value in values])


def compiled(nvrtc, source, options, output):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    if made or nvrtc.nvrtcCompileProgram(program, len(options), texts(options)):
        raise RuntimeError(f"{options} of {source}")
    getattr(nvrtc, f"nvrtcGet{output}Size")(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{output}")(program, code)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


class Maker:
    """Makes random links; the library that compiles their inputs does each once."""

    def __init__(self, library, seed, folders):
        self.nvrtc = ctypes.CDLL(library)
        self.chance = random.Random(seed)
        self.folders = folders
        self.made = {}

    def input(self, part, kind, arch):
        chance = self.chance
        options = {CUBIN: [f"-arch=sm_{arch}"], PTX: [f"-arch=compute_{arch}"],
                   LTOIR: [f"-arch=compute_{arch}", "-dlto"]}[kind]
        options = [*options, "-rdc=true", *chance.choice(([], [], ["-lineinfo"]))]
        number = chance.randrange(3)
        key = (part, kind, number, *options)
        if key not in self.made:
            output = {CUBIN: "CUBIN", PTX: "PTX", LTOIR: "LTOIR"}[kind]
            self.made[key] = compiled(self.nvrtc, SOURCES[part] % number, options, output)
        return self.made[key]

    def link(self):
        chance = self.chance
        arch = chance.choice((80, 90))
        kinds = chance.choice(((LTOIR,), (PTX,), (PTX,), (CUBIN,), (PTX, CUBIN), (LTOIR, PTX)))
        parts = list(chance.choice((("kernel", "function"), ("kernel", "function"), ("alone",),
                                    ("kernel", "function", "alone"), ("alone", "function"))))
        if chance.random() < 0.08:
            parts = ["kernel"]
        chance.shuffle(parts)
        inputs = []
        for part in parts:
            kind = chance.choice(kinds)
            code = self.input(part, kind, arch)
            if chance.random() < 0.04:
                # Machine code that is cut makes nvJitLink read past its end.
                code = chance.choice((b"", b"garbage", code.replace(b"mov", b"vom"),
                                      code[:len(code) // (1 if kind == CUBIN else 2)]))
            inputs.append([chance.choice((kind, kind, kind, kind, ANY)), code.hex(),
                           chance.choice((part, part + ".o", "", None))])
        options = [f"-arch=sm_{chance.choice((arch, arch, arch, 100, 75))}"
                   if chance.random() < 0.2 else f"-arch=sm_{arch}"]
        if LTOIR in kinds and chance.random() < 0.97:
            options.append("-lto")
        options += chance.sample(OPTIONS, chance.choice((0, 0, 1, 1, 2, 3)))
        if chance.random() < 0.06:
            options.append(chance.choice(INVALID))
        uncached = chance.random() < 0.08
        if uncached:
            options.append(chance.choice(UNCACHED))
        file = None
        if chance.random() < 0.05:
            file = [CUBIN, self.folders["cubin"]]
            pathlib.Path(file[1]).write_bytes(self.input("alone", CUBIN, 90))
        chance.shuffle(options)
        return {"options": options, "inputs": inputs, "file": file,
                "is_uncached": uncached or file is not None,
                "peeks": chance.random() < 0.3, "goes_on": chance.random() < 0.3,
                "times": 2 if chance.random() < 0.06 else 1,
                "folder": chance.choice((self.folders["working"], self.folders["other"]))}


class LinkJudge(judge.Judge):
    CLIENT = "link_client.py"
    LOGS = (*(f"{log}{input}" for log in ("ErrorLog", "InfoLog")
              for input in ("", " 1", " 2", " 3")),)
    TIMES = rb"time (= [0-9.]+ ms|[a-zA-Z ]*: [0-9.]+)"

    def run(self, links):
        # What fails may leave nvJitLink so that a later link says something else, or crashes: each
        # has a process of its own inside too.
        wanted = self.outside(links)
        good, bad = [], []
        for link, answer in zip(links, wanted, strict=True):
            codes = [*answer.get("added", [1]), *answer.get("completed", [])]
            (bad if any(codes) or link["file"] else good).append((link, answer))
        for group in (good, *([each] for each in bad)):
            self.run_together(*map(list, zip(*group, strict=True)))
        # The software device's own stand-in answers, which isn't nvJitLink.
        stats = self.root / "stats.json"
        cached = [self.lode, "cached", f"--json={stats}", "--"]
        device = [self.lode, "emulate", "--allow-unused", "--"]
        for before in (cached + device, device + cached):
            self.client([good[0][0]], before)
            self.expect("the device's stand-in lies above the cache's",
                        json.loads(stats.read_text())["compilations"] == 0)
        codes = [code for answer in wanted for code in answer.get("completed", [])]
        self.expect(f"links succeed and fail: {codes}", 0 in codes and set(codes) - {0})
        return codes

    def run_together(self, links, wanted):
        hits = uncached = 0
        for link, answer in zip(links, wanted, strict=True):
            codes = answer.get("completed", [])
            can_hit = not link["is_uncached"] and not any(answer.get("added", [])) and \
                codes[:1] != [INTERNAL]
            hits += bool(codes) and can_hit
            uncached += len(codes) - (bool(codes) and can_hit)
        for what in ("first", "second"):
            answers, stats = self.inside(links)
            self.compare(f"{what} time", links, wanted, answers)
            self.expect(f"{uncached} links can't be cached ({stats['reasons']})",
                        stats["uncached"] == uncached)
        self.expect(f"every other link hits the second time: {stats}", stats["hits"] == hits)


def main():
    lode, *libraries = sys.argv[1:]
    count = int(os.environ.get("LODE_CACHED_CALLS") or 60)
    seed = int(os.environ.get("LODE_CACHED_SEED") or 1)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        if not libraries:
            made = subprocess.run([lode, "cached", "--drop-in", str(root / "drop-in"), "--json"],
                                  check=True, stdout=subprocess.PIPE)
            libraries = [each["library"] for each in json.loads(made.stdout)["libraries"]]
        nvrtc, linker = libraries
        folders = {name: str(root / name) for name in ("working", "other", "cubin")}
        for name in ("working", "other"):
            (root / name).mkdir()
        maker = Maker(nvrtc, seed, folders)
        links = [maker.link() for _ in range(count)]
        link_judge = LinkJudge(lode, linker, root)
        codes = link_judge.run(links)
    print(f"{count} links with seed {seed}, {codes.count(0)} of them succeed; "
          f"{link_judge.differences} differences")
    return 1 if link_judge.differences else 0


if __name__ == "__main__":
    sys.exit(main())
