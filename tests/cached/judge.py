#!/usr/bin/env python3
"""Compares what a program gets of NVRTC inside `lode cached` with what it gets outside.

Outside, each call has a process of its own. Inside, all calls are made in one process, first with
an empty cache, then with a full one; then again after files changed, after they changed back, and
in another working folder.
Every result code and byte must be the same, but for the time that the assembler took. What the
options say can't be cached must not be, and everything else must be a hit the second time.

    judge.py LODE

LODE_CACHED_CALLS says how many calls are made (60), LODE_CACHED_SEED which (1).
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import calls as generator

HERE = pathlib.Path(__file__).parent
ATTEMPTS = 6  # Outside, where NVRTC itself gives one of several codes.


def write_tree(root, is_changed):
    """The headers that calls include; two of them change, one appears and one goes."""
    include = root / "include"
    (include / "deep").mkdir(parents=True, exist_ok=True)
    (include / "own.h").write_text(f"#pragma once\n#define OWN {2 if is_changed else 1}\n")
    (include / "big.h").write_text(
        generator.BIG + ("static __device__ int big_changed;\n" if is_changed else ""))
    (include / "deep/first.h").write_text('#include "second.h"\n#define FIRST SECOND\n')
    second = include / "deep/second.h"
    later = root / "working/later.h"
    later.unlink(missing_ok=True)
    second.unlink(missing_ok=True)
    if is_changed:
        later.write_text("#define LATER 7\n")
        (include / "second.h").write_text("#define SECOND 9\n")
    else:
        second.write_text("#define SECOND 4\n")
        (include / "second.h").unlink(missing_ok=True)


class Judge:
    CLIENT = "client.py"
    LOGS = ("ProgramLog",)
    TIMES = rb"time = [0-9.]+ ms"

    def __init__(self, lode, library, root):
        self.lode, self.library, self.root = lode, library, root
        self.differences = 0
        self.environment = {**os.environ, "LODE_CACHE_DIR": str(root / "cache"), "LODE_CACHE": "on",
                            "CUDA_CACHE_DISABLE": "1"}
        self.environment.pop("NVRTC_APPEND_FLAGS", None)

    def client(self, calls, before=()):
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            (pathlib.Path(folder) / "calls").write_text(json.dumps(calls), encoding="utf-8")
            subprocess.run([*before, sys.executable, str(HERE / self.CLIENT), self.library,
                            f"{folder}/calls", f"{folder}/answers"],
                           check=True, env=self.environment, stderr=subprocess.DEVNULL)
            return json.loads((pathlib.Path(folder) / "answers").read_text(encoding="utf-8"))

    def outside(self, calls):
        with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count() or 1, 1)) as pool:
            return [answer for answer, in pool.map(lambda call: self.client([call]), calls)]

    def inside(self, calls):
        stats = self.root / "stats.json"
        answers = self.client(calls, [self.lode, "cached", f"--json={stats}", "--"])
        return answers, json.loads(stats.read_text())

    @classmethod
    def difference(cls, wanted, got):
        """What differs. The assembler says in the log how long it took.

        The stand-in may have functions that this NVRTC lacks.
        """
        def timeless(answer, key):
            if key not in cls.LOGS or key not in answer:
                return answer.get(key)
            log = bytes.fromhex(answer[key][3])[:answer[key][1]]
            return answer[key][0], answer[key][2], re.sub(cls.TIMES, b"time", log)
        return next((key for key in wanted if timeless(wanted, key) != timeless(got, key)), None)

    def compare(self, what, calls, wanted, got):
        for call, expected, answer in zip(calls, wanted, got, strict=True):
            key = self.difference(expected, answer)
            for _ in range(ATTEMPTS if key else 0):
                if self.difference(self.client([call])[0], answer) is None:
                    key = None
                    break
            if key is None:
                continue
            self.differences += 1
            print(f"{what}: {key} differs for {json.dumps(call)}\n"
                  f"  outside: {str(expected[key])[:300]}\n  inside: {str(answer.get(key))[:300]}")

    def expect(self, what, holds):
        if not holds:
            self.differences += 1
            print(f"It isn't so that {what}.")

    def relocate(self, folders):
        """The same source from a folder with another name is a hit, unless the name counts."""
        write_tree(self.root, False)
        plain = 'extern "C" __global__ void k(float* x) { *x = 1; }'
        hidden = ("static __device__ int hidden; namespace { __device__ int other; }\n"
                  "__global__ void k(int* x) { *x = hidden++ + other++; }")
        for source, hits, *options in (
                             (plain, 1), (hidden, 1), (hidden, 1, "-rdc=true"),
                             (hidden, 0, "-dc", "-dlto"), (hidden, 0, "-optix-ir"),
                             ('#include "own.h"\n' + plain, 1),
                             ('#include "near.h"\n' + plain, 1),
                             (plain + "\n__device__ const char* f = __FILE__;", 0),
                             (plain + '\n#include "name.h"\n__device__ const char* f = NAME;', 0),
                             ('#include "first/near.h"\n' + plain, 0),
                             ("#warning about this\n" + plain, 0)):
            calls = []
            for place in ("first", "second"):
                beside = self.root / "places" / place
                (beside / "first").mkdir(parents=True, exist_ok=True)
                for near in ("near.h", "first/near.h"):
                    (beside / near).write_text("static __device__ int near = 3;\n")
                (beside / "name.h").write_text("#define NAME __FILE__\n")
                calls.append({"source": source, "headers": [], "names": [],
                              "options": ["-arch=sm_90", "-I" + folders["include"], *options],
                              "name": str(beside / "k.cu"), "folder": folders["working"]})
            answers, stats = self.inside(calls)
            self.compare("another folder", calls, self.outside(calls), answers)
            self.expect(f"{source!r} hits {hits} times with {options}: {stats}",
                        stats["hits"] == hits)

    def run(self, calls, folders):
        wanted = {}
        first = calls
        for step, (is_changed, is_moved) in enumerate(((False, False), (True, False),
                                                       (False, False), (False, True))):
            if is_moved:
                calls = [{**call, "folder": folders["other" if call["folder"] == folders["working"]
                                                    else "working"]} for call in calls]
                wanted = {}
            write_tree(self.root, is_changed)
            if is_changed not in wanted:
                wanted[is_changed] = self.outside(calls)
            # An invalid option is found before the compilation.
            invalid = [answer["result"] == 5 for answer in wanted[is_changed]]
            uncached = sum(call["is_uncached"] or bad
                           for call, bad in zip(calls, invalid, strict=True))
            answers, cold = self.inside(calls)
            self.compare(f"state {step}, first time", calls, wanted[is_changed], answers)
            answers, warm = self.inside(calls)
            self.compare(f"state {step}, second time", calls, wanted[is_changed], answers)
            for stats in (cold, warm):
                self.expect(f"{uncached} calls can't be cached ({stats['reasons']})",
                            stats["uncached"] == uncached)
            self.expect(f"every other call hits the second time: {warm}",
                        warm["hits"] == len(calls) - uncached)
            if step == 1:
                self.expect(f"some calls depend on the files, and some don't: {cold}",
                            0 < cold["compiled"] < len(calls) - uncached)
            if step == 2:
                self.expect(f"former files give former answers: {cold}", cold["compiled"] == 0)
        self.expect("calls have moved", calls != first)
        self.relocate(folders)
        headers = [path for path in self.root.glob("cache/v*/pch/*") if not path.suffix]
        self.expect("large headers are precompiled", headers)
        codes = [answer.get("result") for answer in wanted[False]]
        self.expect("calls succeed and fail", 0 in codes and 6 in codes)
        return codes


def main():
    lode, = sys.argv[1:]
    info = subprocess.run([lode, "info", "--json"], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    compiler = json.loads(info.stdout)["compiler"]
    count = int(os.environ.get("LODE_CACHED_CALLS") or 60)
    seed = int(os.environ.get("LODE_CACHED_SEED") or 1)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        folders = {name: str(root / name) for name in ("include", "working", "other")}
        for path in folders.values():
            pathlib.Path(path).mkdir()
        judge = Judge(lode, compiler["library"], root)
        folders["toolkit"] = compiler["include_folders"][0]
        codes = judge.run(generator.make_calls(count, seed, folders), folders)
    print(f"{count} calls with seed {seed}, {codes.count(0)} of them succeed; "
          f"{judge.differences} differences")
    return 1 if judge.differences else 0


if __name__ == "__main__":
    sys.exit(main())
