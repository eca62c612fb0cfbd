#!/usr/bin/env python3
"""Measures PyTorch and Triton on the problems of a result of lode_bench_kernels, on the same machine:

    lode_bench_kernels softmax transpose --json kernels.json
    bench/peers/kernel_peers.py --like kernels.json --json peers.json
    bench/peers/merge_kernels.py kernels.json peers.json

Every peer works on fresh random data in two buffers or more that take turns, as lode's rows do, and
its result is compared with one in double precision. Times are medians of batches between device
events. The problems of families that have no peer here are left out.
"""
import argparse
import json
import pathlib
import sys

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

EPSILON = 1e-5
FACTOR = 1.7

if triton:

    @triton.jit
    def softmax_kernel(source, target, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(source + row * columns + offsets, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(target + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)

    @triton.jit
    def layer_norm_kernel(source, target, scales, shifts, columns, epsilon, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(source + row * columns + offsets, mask=mask, other=0.0)
        mean = tl.sum(x, axis=0) / columns
        distance = tl.where(mask, x - mean, 0.0)
        scale = tl.rsqrt(tl.sum(distance * distance, axis=0) / columns + epsilon)
        a = tl.load(scales + offsets, mask=mask)
        b = tl.load(shifts + offsets, mask=mask)
        tl.store(target + row * columns + offsets, distance * scale * a + b, mask=mask)

    @triton.jit
    def axpy_kernel(x, y, z, factor, count, BLOCK: tl.constexpr):
        offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < count
        a = tl.load(x + offsets, mask=mask)
        b = tl.load(y + offsets, mask=mask)
        tl.store(z + offsets, factor * a + b, mask=mask)


def warps_for(columns):
    return 1 if columns <= 256 else 4 if columns <= 2048 else 8 if columns <= 8192 else 16


class Softmax:
    def __init__(self, x, y, _):
        self.data = torch.rand(x, y, device="cuda") * 20 - 10
        self.out = torch.empty_like(self.data)

    def wanted(self):
        return torch.softmax(self.data[:64].double(), 1)

    def calls(self):
        yield "PyTorch", lambda: torch.softmax(self.data, 1, out=self.out)
        rows, columns = self.data.shape
        if triton and columns <= 65536:
            block = triton.next_power_of_2(columns)
            yield "Triton", lambda: softmax_kernel[(rows,)](
                self.data, self.out, columns, BLOCK=block, num_warps=warps_for(columns))


class LayerNorm:
    def __init__(self, x, y, _):
        self.data = torch.rand(x, y, device="cuda") * 6 - 1
        self.out = torch.empty_like(self.data)
        self.scales = torch.rand(y, device="cuda")
        self.shifts = torch.rand(y, device="cuda")

    def wanted(self):
        return torch.nn.functional.layer_norm(self.data[:64].double(), self.data.shape[1:],
                                              self.scales.double(), self.shifts.double(), EPSILON)

    def calls(self):
        def pytorch():
            self.out = torch.nn.functional.layer_norm(self.data, self.data.shape[1:], self.scales,
                                                      self.shifts, EPSILON)

        yield "PyTorch", pytorch
        rows, columns = self.data.shape
        if triton and columns <= 65536:
            block = triton.next_power_of_2(columns)
            yield "Triton", lambda: layer_norm_kernel[(rows,)](
                self.data, self.out, self.scales, self.shifts, columns, EPSILON, BLOCK=block,
                num_warps=warps_for(columns))


class Transpose:
    def __init__(self, x, y, _):
        self.data = torch.rand(x, y, device="cuda")
        self.out = torch.empty(y, x, device="cuda")

    def wanted(self):
        return self.data.double().t()[:64]

    def calls(self):
        def contiguous():
            self.out = self.data.t().contiguous()

        yield "PyTorch", contiguous
        yield "PyTorch copy_", lambda: self.out.copy_(self.data.t())


class Vector:
    def __init__(self, x, _, __):
        self.x = torch.rand(x, device="cuda")
        self.y = torch.rand(x, device="cuda")
        self.out = torch.empty_like(self.x)

    def wanted(self):
        return self.x[:64].double() * FACTOR + self.y[:64].double()

    def calls(self):
        yield "PyTorch", lambda: torch.add(self.y, self.x, alpha=FACTOR, out=self.out)
        if triton:
            count = self.x.numel()
            yield "Triton", lambda: axpy_kernel[(triton.cdiv(count, 1024),)](
                self.x, self.y, self.out, FACTOR, count, BLOCK=1024)


class Reduce:
    def __init__(self, x, _, __, dtype=torch.float32):
        self.data = torch.randint(-8, 8, (x,), device="cuda").to(dtype)
        self.out = torch.empty((), device="cuda", dtype=dtype)

    def wanted(self):
        return self.data.double().sum()

    def calls(self):
        yield "PyTorch", lambda: torch.sum(self.data, 0, dtype=self.data.dtype, out=self.out)


class Scan(Reduce):
    def __init__(self, x, _, __, dtype=torch.float32):
        super().__init__(x, 1, 1, dtype)
        self.out = torch.empty_like(self.data)

    def wanted(self):
        return self.data[:64].double().cumsum(0)

    def calls(self):
        yield "PyTorch", lambda: torch.cumsum(self.data, 0, dtype=self.data.dtype, out=self.out)


FAMILIES = {
    "softmax": Softmax, "layer_norm": LayerNorm, "transpose": Transpose, "vector": Vector,
    "reduce_float": Reduce, "scan_float": Scan,
    "reduce": lambda *sizes: Reduce(*sizes, dtype=torch.int32),
    "scan": lambda *sizes: Scan(*sizes, dtype=torch.int32),
    "reduce_int64": lambda *sizes: Reduce(*sizes, dtype=torch.int64),
    "scan_int64": lambda *sizes: Scan(*sizes, dtype=torch.int64),
}


def is_right(work):
    wanted = work.wanted()
    found = work.out.double() if wanted.dim() == 0 else work.out[:wanted.shape[0]].double()
    return bool(torch.allclose(found, wanted, rtol=1e-4, atol=1e-5))


def times_of(calls, rounds):
    """The times of each peer's calls on the data sets, in milliseconds; the peers take turns."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(sets, count):
        start.record()
        for i in range(count):
            sets[i % len(sets)]()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / count

    counts = []
    for sets in calls:
        batch(sets, 4)
        counts.append(int(max(2, min(128, 2 / max(batch(sets, 4), 1e-3)))))
    found = [[] for _ in calls]
    for _ in range(rounds):
        for i, sets in enumerate(calls):
            found[i].append(batch(sets, counts[i]))
    return [(sorted(times), count) for times, count in zip(found, counts)]


def measure(problem, rounds):
    make = FAMILIES[problem["family"]]
    sets = [make(*problem["problem"]) for _ in range(problem["sets"])]
    names = [name for name, _ in sets[0].calls()]
    calls = [[dict(work.calls())[name] for work in sets] for name in names]
    verified = []
    for peer in calls:
        sets[0].out.fill_(-77)
        peer[0]()
        torch.cuda.synchronize()
        verified.append(is_right(sets[0]))
    results = []
    for name, right, (times, count) in zip(names, verified, times_of(calls, rounds)):
        n = len(times)
        results.append({"name": name, "kind": "peer", "verified": right,
                        "median_ms": times[n // 2], "low_ms": times[n // 4],
                        "high_ms": times[(n * 3 - 1) // 4], "rounds": n, "batch": count})
    return problem | {"results": results}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", required=True, type=pathlib.Path, metavar="FILE",
                        help="a result of lode_bench_kernels --json")
    parser.add_argument("--json", required=True, type=pathlib.Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    like = json.loads(options.like.read_text())
    problems = []
    for problem in like["problems"]:
        if problem["family"] not in FAMILIES:
            continue
        try:
            problems.append(measure(problem, options.rounds))
        except Exception as error:  # A peer that can't do a size doesn't stop the others.
            print(f"{problem['family']} {problem['problem']}: {error}", file=sys.stderr)
        torch.cuda.empty_cache()
    versions = f"PyTorch {torch.__version__}, Triton {triton.__version__ if triton else 'absent'}"
    result = {key: like[key] for key in ("lode", "commit", "device", "driver", "copy_rate")}
    result |= {"program": "kernel_peers.py", "command": " ".join(sys.argv), "versions": versions,
               "problems": problems}
    options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(versions)


main()
