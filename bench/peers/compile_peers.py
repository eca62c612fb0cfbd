#!/usr/bin/env python3
"""Compiles the same kernels with lode and with its peers, side by side, and compares the times.

    python3 -m venv peers && peers/bin/pip install cupy-cuda13x "cuda-core[cu13]"
    peers/bin/python bench/peers/compile_peers.py --lode build/release/bench/lode_bench_peer

Each library compiles KERNELS kernels that include CUB for each architecture, in a process of its
own that has imported and warmed up everything else, with as many threads as there are processors
(each as its documentation advises: a thread pool for the Python libraries, whose NVRTC takes a
lock; lode's compile_async). lode's cache is off, except for its last row, which is a second process.
jitify2 takes part if JITIFY_DIR names a checkout of its branch jitify2. A peer that isn't installed
is left out with a sentence. No GPU is needed: nothing is loaded.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KERNEL = """#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const int* in, int* out) {{
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    const int sum = Reduce(storage).Sum(in[threadIdx.x] * {number});
    if (threadIdx.x == 0) *out = sum;
}}
"""


def sources(count):
    return [KERNEL.format(number=number) for number in range(1, count + 1)]


def include_folders(cuda):
    folders = [cuda / "include", cuda / "include" / "cccl"]
    return [str(folder) for folder in folders if folder.is_dir()]


def worker_cupy(arguments):
    from cupy.cuda import compiler

    options = tuple("-I" + folder for folder in include_folders(arguments.cuda)) + ("-std=c++17",)

    def compile_one(source, arch):
        cubin, _ = compiler.compile_using_nvrtc(source, options, arch, "k.cu")
        return len(cubin)

    return compile_one


def worker_cuda_core(arguments):
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError:
        from cuda.core.experimental import Program, ProgramOptions

    def compile_one(source, arch):
        options = ProgramOptions(arch="sm_" + arch, std="c++17",
                                 include_path=include_folders(arguments.cuda))
        return len(Program(source, "c++", options).compile("cubin").code)

    return compile_one


PYTHON_PEERS = {"cupy": worker_cupy, "cuda.core": worker_cuda_core}


def run_worker(arguments):
    """The part of a Python peer, in a process of its own; prints one JSON object."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        compile_one = PYTHON_PEERS[arguments.worker](arguments)
        compile_one('extern "C" __global__ void warm_up() {}', arguments.archs[0])
    except Exception as problem:  # Whatever keeps the peer from working is the answer.
        print(json.dumps({"problem": f"{type(problem).__name__}: {problem}"}))
        return
    jobs = [(source, arch) for source in sources(arguments.kernels) for arch in arguments.archs]
    start = time.perf_counter()
    with ThreadPoolExecutor(arguments.threads) as pool:
        sizes = list(pool.map(lambda job: compile_one(*job), jobs))
    print(json.dumps({"seconds": time.perf_counter() - start, "images": len(sizes),
                      "smallest": min(sizes)}))


def build_jitify(arguments, folder):
    """jitify_peer.cpp as a program, or the reason why it can't be built."""
    jitify = os.environ.get("JITIFY_DIR")
    if not jitify:
        return None, "JITIFY_DIR doesn't name a checkout of jitify2"
    here = pathlib.Path(__file__).parent
    program = folder / "jitify_peer"
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-I" + jitify,
               "-I" + str(arguments.cuda / "include"), str(here / "jitify_peer.cpp"),
               "-o", str(program), "-ldl", "-pthread"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        return None, "it doesn't compile: " + built.stderr.strip().splitlines()[0]
    return program, None


def measure(command, arguments, environment=None):
    result = subprocess.run(command, capture_output=True, text=True,
                            env={**os.environ, **(environment or {})})
    lines = result.stdout.strip().splitlines()
    if result.returncode != 0 or not lines:
        return {"problem": (result.stderr.strip().splitlines() or ["it ended without a result"])[-1]}
    answer = json.loads(lines[-1])
    expected = arguments.kernels * len(arguments.archs)
    if "seconds" in answer and (answer["images"] != expected or answer["smallest"] == 0):
        return {"problem": f"{answer['images']} images instead of {expected}, or an empty one"}
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lode", type=pathlib.Path, help="the program lode_bench_peer")
    parser.add_argument("--kernels", type=int, default=8)
    parser.add_argument("--archs", default="80,90", type=lambda text: text.split(","))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cuda", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return run_worker(arguments)

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        cache = folder / "cache"
        own = [str(arguments.kernels), ",".join(arguments.archs), str(arguments.threads)]
        rows = {}
        if arguments.lode:
            rows["lode"] = ([str(arguments.lode), *own], {"LODE_CACHE": "off"})
        for name in PYTHON_PEERS:
            rows[name] = ([sys.executable, __file__, "--worker", name, "--kernels", own[0],
                           "--archs", own[1], "--threads", own[2], "--cuda", str(arguments.cuda)],
                          {"CUPY_CACHE_DIR": str(folder / "cupy")})
        left_out = []
        jitify, problem = build_jitify(arguments, folder)
        if jitify:
            rows["jitify2"] = ([str(jitify), *own, *include_folders(arguments.cuda)], {})
        else:
            left_out.append(f"jitify2: {problem}")
            print(f"jitify2 is left out: {problem}.")
        times = {}
        for _ in range(arguments.rounds):  # The libraries take turns.
            for name, (command, environment) in list(rows.items()):
                answer = measure(command, arguments, environment)
                if "problem" in answer:
                    left_out.append(f"{name}: {answer['problem']}")
                    print(f"{name} is left out: {answer['problem']}")
                    del rows[name]
                    continue
                times.setdefault(name, []).append(answer["seconds"])
            if arguments.lode:
                shutil.rmtree(cache, ignore_errors=True)
                with_cache = {"LODE_CACHE": "on", "LODE_CACHE_DIR": str(cache)}
                for name in ("lode, filling its cache", "lode, from its cache"):
                    answer = measure([str(arguments.lode), *own], arguments, with_cache)
                    if "seconds" in answer:
                        times.setdefault(name, []).append(answer["seconds"])
        print(f"{arguments.kernels} kernels × {len(arguments.archs)} architectures, "
              f"{arguments.threads} threads, medians of {arguments.rounds} rounds")
        base = statistics.median(times["lode"]) if "lode" in times else None
        for name, seconds in times.items():
            middle = statistics.median(seconds)
            ratio = f"{middle / base:8.2f} × lode" if base else ""
            print(f"{name:24} {middle:8.2f} s {ratio}")
        if arguments.json:
            figures = [{"group": "compilation by library", "series": name, "unit": "s",
                        "value": statistics.median(seconds), "low": min(seconds),
                        "high": max(seconds), "better": "less"} for name, seconds in times.items()]
            arguments.json.write_text(json.dumps(
                {"bench": "compile_peers", "command": " ".join(sys.argv), "left_out": left_out,
                 "what": f"{arguments.kernels} kernels with CUB for {len(arguments.archs)} "
                         f"architectures, {arguments.threads} threads",
                 "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
