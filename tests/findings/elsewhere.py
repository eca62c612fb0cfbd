"""Section 3 of the issue: the command, the environment, the build, and findings of kernels."""

import os
import subprocess
import sys

from bench import HERE, define, finding, kernel, require

FAILING = (("compile", "missing.cu", "--arch", "sm_90"), ("run", "a.cu"), ("nothing",), ())


def failing_with(bench, how):
    seen = []
    for arguments in FAILING:
        usual = bench.lode(*arguments).code
        got = bench.lode(*arguments, **how())
        if got.code != usual:
            seen.append(f"'lode {' '.join(arguments)}': {got.how()} instead of exit {usual}")
    require(not seen, "; ".join(seen))


@finding("command: a failing command with stderr closed")
def stderr_closed(bench):
    failing_with(bench, lambda: {"err": None, "before": lambda: os.close(2)})


@finding("command: a failing command with stderr full")
def stderr_full(bench):
    with open("/dev/full", "w", encoding="ascii") as full:
        failing_with(bench, lambda: {"err": full})


@finding("command: what comes after -- is read as options")
def behind_dashes(bench):
    seen = []
    for word in ("--help", "--version"):
        # To info, the word is a file, which doesn't exist.
        for code, front in ((1, ("info",)), (2, ("cache", "stats")),
                            (2, ("run", "a.cu", "k", "--grid", "1"))):
            outcome = bench.lode(*front, "--", word)
            if outcome.code != code or outcome.out:
                seen.append(f"{' '.join(front)} -- {word}: {outcome.how()}")
    require(not seen, "; ".join(seen))


def wrong_value(bench, name, value):
    bench.write("k.cu", 'extern "C" __global__ void k(int* x) { *x = 1; }\n')
    outcome = bench.lode("run", "k.cu", "k", "--grid", "1", "--block", "1", "--", "i32[1]",
                         env={name: value})
    require(outcome.code == 1 and name in outcome.err, f"{name}={value}: {outcome.how()}")


@finding("environment: LODE_SYNC_LAUNCHES=x is accepted silently")
def sync_launches(bench):
    wrong_value(bench, "LODE_SYNC_LAUNCHES", "x")


@finding("environment: LODE_FORCE_PTX=2 is accepted silently")
def force_ptx(bench):
    wrong_value(bench, "LODE_FORCE_PTX", "2")


@finding("environment: LODE_EMULATOR_LOG=x is accepted silently")
def emulator_log(bench):
    wrong_value(bench, "LODE_EMULATOR_LOG", "x")


@finding("environment: LODE_FORCE_VARIANT with an unknown family is ignored")
def force_variant(bench):
    outcome = bench.lode("variants", "reduce", env={"LODE_FORCE_VARIANT": "redcue:shuffle"})
    require("redcue" in outcome.err, f"it isn't mentioned: {outcome.how()}")


@finding("command: an NVRTC that can't be opened is reported twice")
def nvrtc_twice(bench):
    bench.write("a.cu", kernel(define(1)))
    seen = []
    for line in (("compile", "a.cu", "--arch", "sm_90"), ("compile", "a.cu"),
                 ("run", "a.cu", "k", "--cover", "1", "--", "i32[1]")):
        outcome = bench.lode(*line, env={"LODE_NVRTC": "/nonexistent/nvrtc"})
        told = outcome.err.count("No usable NVRTC library can be found")
        if outcome.code != 1 or told != 1:
            seen.append(f"'lode {' '.join(line)}': exit {outcome.code}, reported {told} times")
    require(not seen, "; ".join(seen))


@finding("build: nlohmann_json is used by jit and declared nowhere")
def undeclared_library(bench):
    check = subprocess.run([sys.executable, HERE.parent / "layering/check_layering.py",
                            bench.tree.source], capture_output=True, text=True, check=False)
    told = [line for line in check.stdout.splitlines() if "nlohmann" in line]
    require(not told, "; ".join(told))


@finding("runtime: a buffer of one device is accepted in a launch on another")
def foreign_buffer(bench):
    libraries = [str(path) for path in bench.tree.build.glob("*/liblode_*.a")
                 if "emulator" not in path.name and "kernels" not in path.name]
    program, why = bench.build("foreign_buffer.cpp", "-Wl,--start-group", *libraries,
                               "-Wl,--end-group", "-lfmt", "-lzstd", "-lcrypto", "-ldl", "-pthread")
    require(program, f"foreign_buffer.cpp doesn't build: {why[:300]}")
    outcome = bench.program(program, env={"LODE_EMULATOR_DEVICES": "sm_90,sm_90"})
    require(outcome.code == 0, outcome.how())


WRONG = """
extern "C" __global__ void race(int* out) {
    __shared__ int values[33];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[threadIdx.x + 1];
}
extern "C" __global__ void init(int* out) {
    __shared__ volatile int values[33];
    out[threadIdx.x] = values[threadIdx.x];
}
"""


@finding("command: race and init findings are in the log only, and lode run says ok")
def findings_in_log(bench):
    bench.write("wrong.cu", WRONG)
    seen = []
    for check in ("race", "init"):
        outcome = bench.lode("run", "wrong.cu", check, "--grid", "1", "--block", "32", "--json", "--",
                             "i32[32]", env={"LODE_EMULATOR_CHECK": check})
        told = outcome.json()
        if outcome.code != 1 or told["ok"] or not told.get("findings"):
            seen.append(f"{check}: exit {outcome.code}, ok is {told['ok']}, "
                        f"the log is '{told.get('log', '')}'")
    require(not seen, "; ".join(seen))
