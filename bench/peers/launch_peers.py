#!/usr/bin/env python3
"""Times the launch of an empty kernel with Python's CUDA libraries, each in a process of its own:

    python3 bench/peers/launch_peers.py [--json FILE] [--rounds N]

lode and the raw calls are measured by lode_bench_launch_overhead in the same way: the host's time of
a launch, 400 launches before each wait, which the driver queues without blocking. The kernel is the
same, with 0, 1, 4, 8 and 16 ints; each library launches it as its documentation shows, with its
arguments made before. A library that isn't installed, or doesn't work here, is left out with the
reason. Needs a GPU.
"""
import argparse
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

COUNTS = (0, 1, 4, 8, 16)
LAUNCHES = 400
SECONDS = 120


def source_of(count):
    parameters = ", ".join(f"int p{i}" for i in range(count))
    return f'extern "C" __global__ void k({parameters}) {{}}'


def of_cuda_core():
    """Each of these gives (version, make): make(count) gives a launch and a wait."""
    import cuda.core
    import numpy

    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch
    device = Device()
    device.set_current()
    stream = device.create_stream()
    capability = device.compute_capability
    arch = f"sm_{capability[0]}{capability[1]}"
    config = LaunchConfig(grid=1, block=1)

    def make(count):
        program = Program(source_of(count), "c++", ProgramOptions(std="c++17", arch=arch))
        kernel = program.compile("cubin").get_kernel("k")
        arguments = [numpy.int32(7)] * count
        return lambda: launch(stream, config, kernel, *arguments), stream.sync

    return cuda.core.__version__, make


def of_cuda_bindings():
    import cuda.bindings
    import numpy
    from cuda.bindings import driver, nvrtc

    def checked(answer):
        if int(answer[0]) != 0:
            raise RuntimeError(str(answer[0]))
        return answer[1] if len(answer) == 2 else answer[1:]

    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
    stream = checked(driver.cuStreamCreate(1))
    keep = []

    def make(count):
        program = checked(nvrtc.nvrtcCreateProgram(source_of(count).encode(), b"k.cu", 0, [], []))
        checked(nvrtc.nvrtcCompileProgram(program, 0, []))
        ptx = b" " * checked(nvrtc.nvrtcGetPTXSize(program))
        checked(nvrtc.nvrtcGetPTX(program, ptx))
        text = numpy.frombuffer(ptx + b"\0", dtype=numpy.uint8)
        module = checked(driver.cuModuleLoadData(text.ctypes.data))
        kernel = checked(driver.cuModuleGetFunction(module, b"k"))
        values = [numpy.array([7], dtype=numpy.int32) for _ in range(count)]
        pointers = numpy.array([value.ctypes.data for value in values] or [0], dtype=numpy.uint64)
        keep.append((module, values, pointers))
        address = pointers.ctypes.data

        checked(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, address, 0))

        def launch():
            driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, address, 0)

        return launch, lambda: driver.cuStreamSynchronize(stream)

    return cuda.bindings.__version__, make


def of_cupy():
    import cupy
    import numpy

    stream = cupy.cuda.Stream(non_blocking=True)
    stream.use()

    def make(count):
        kernel = cupy.RawKernel(source_of(count), "k")
        arguments = tuple([numpy.int32(7)] * count)
        return lambda: kernel((1,), (1,), arguments), stream.synchronize

    return cupy.__version__, make


def of_triton():
    import torch
    import triton

    folder = tempfile.mkdtemp()
    stream = torch.cuda.Stream()

    def make(count):
        parameters = ", ".join(f"p{i}" for i in range(count))
        file = pathlib.Path(folder) / f"triton_empty_{count}.py"
        file.write_text(f"import triton\n\n\n@triton.jit\ndef k({parameters}):\n    pass\n")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        arguments = [7] * count
        torch.cuda.set_stream(stream)
        return lambda: module.k[(1,)](*arguments, num_warps=1), stream.synchronize

    return triton.__version__, make


def of_pytorch():
    import torch

    compile_kernel = getattr(torch.cuda, "_compile_kernel", None)
    if compile_kernel is None:
        raise RuntimeError("this PyTorch has no torch.cuda._compile_kernel")
    torch.zeros(1, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)

    def make(count):
        kernel = compile_kernel(source_of(count), "k")
        arguments = [7] * count
        return (lambda: kernel(grid=(1, 1, 1), block=(1, 1, 1), args=arguments, stream=stream),
                stream.synchronize)

    return torch.__version__, make


PEERS = {"cuda.core": of_cuda_core, "cuda.bindings": of_cuda_bindings, "CuPy": of_cupy,
         "Triton": of_triton, "PyTorch": of_pytorch}


def measure(name, rounds):
    """One library, in this process; prints one JSON object."""
    try:
        version, make = PEERS[name]()
        times = {}
        for count in COUNTS:
            launch, wait = make(count)
            for _ in range(LAUNCHES):
                launch()
            wait()
            times[count] = []
            for _ in range(rounds):
                begin = time.perf_counter_ns()
                for _ in range(LAUNCHES):
                    launch()
                times[count].append((time.perf_counter_ns() - begin) / LAUNCHES)
                wait()
    except Exception as problem:  # Whatever keeps the peer from working is the answer.
        print(json.dumps({"problem": f"{type(problem).__name__}: {problem}"}))
        return
    print(json.dumps({"version": str(version), "times": times}))


def figures_of(name, version, times):
    for count, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        yield {"group": "launch of an empty kernel", "series": f"{name} {version}", "unit": "ns",
               "value": middle, "low": low, "high": high, "x": int(count), "x_name": "arguments",
               "better": "less"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        measure(options.peer, options.rounds)
        return
    figures, left_out = [], []
    for name in PEERS:
        command = [sys.executable, __file__, "--peer", name, "--rounds", str(options.rounds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            lines = done.stdout.strip().splitlines()
            answer = json.loads(lines[-1]) if lines else {
                "problem": (done.stderr.strip().splitlines() or ["it ended without an answer"])[-1]}
        except subprocess.TimeoutExpired:
            answer = {"problem": f"it ran past {SECONDS} s"}
        except json.JSONDecodeError as problem:
            answer = {"problem": f"its answer isn't JSON: {problem}"}
        if "problem" in answer:
            left_out.append(f"{name}: {answer['problem']}")
            print(f"{name:16} left out: {answer['problem']}", flush=True)
            continue
        found = list(figures_of(name, answer["version"], answer["times"]))
        figures += found
        print(f"{name:16} " + "  ".join(f"{row['x']:2}: {row['value'] / 1e3:7.2f} us"
                                        for row in found), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"bench": "launch_peers", "command": " ".join(sys.argv),
                                            "left_out": left_out, "figures": figures},
                                           indent=1) + "\n")


if __name__ == "__main__":
    main()
