"""Triton kernels, compiled for several architectures and run on the software device of each.

Triton's compiler makes PTX without a GPU; the PTX is loaded through the driver API, and the results
are compared with numpy.
"""

import math

import numpy as np
import pytest
import triton
import triton.language as tl
from cuda.bindings import driver
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ARCHITECTURES = [80, 90, 120]


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(mask, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    result = centred * scale * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
    tl.store(out + row * columns + at, result, mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           PRECISION: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + inner[None, :],
                       mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None, :],
                        mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        total += tl.dot(left, right, input_precision=PRECISION)
    tl.store(c + rows[:, None] * n + columns[None, :], total,
             mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, ROWS: tl.constexpr, STEP: tl.constexpr,
              WIDTH: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + rows[:, None] * WIDTH + width[None, :])
    highest = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    result = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for start in range(0, length, STEP):
        at = start + tl.arange(0, STEP)
        keys = tl.load(k + at[None, :] * WIDTH + width[:, None])
        scores = tl.dot(query, keys, input_precision=PRECISION) * scale
        highest_now = tl.maximum(highest, tl.max(scores, axis=1))
        powers = tl.exp(scores - highest_now[:, None])
        fade = tl.exp(highest - highest_now)
        values = tl.load(v + at[:, None] * WIDTH + width[None, :])
        result = result * fade[:, None] + tl.dot(powers.to(values.dtype), values,
                                                 input_precision=PRECISION)
        total = total * fade + tl.sum(powers, axis=1)
        highest = highest_now
    tl.store(out + rows[:, None] * WIDTH + width[None, :], result / total[:, None])


def check(outcome):
    """Unpacks what a driver call returns; an error is an exception with the error's name."""
    code, *values = outcome
    if code != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(driver.cuGetErrorName(code)[1].decode())
    return values[0] if len(values) == 1 else values


class Bench:
    """A context on the software device of one architecture."""

    def __init__(self, arch):
        self.arch = arch
        check(driver.cuInit(0))
        for ordinal in range(check(driver.cuDeviceGetCount())):
            device = check(driver.cuDeviceGet(ordinal))
            attribute = driver.CUdevice_attribute
            major = check(driver.cuDeviceGetAttribute(
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
            minor = check(driver.cuDeviceGetAttribute(
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
            if 10 * major + minor == arch:
                self.device = device
        self.context = check(driver.cuDevicePrimaryCtxRetain(self.device))
        check(driver.cuCtxSetCurrent(self.context))

    def close(self):
        check(driver.cuDevicePrimaryCtxRelease(self.device))

    def run(self, kernel, constants, grid, arguments, warps=4):
        """Compiles, loads and launches; numpy arrays are copied to the device and back."""
        names = kernel.arg_names
        types = {np.dtype(np.float32): "*fp32", np.dtype(np.float16): "*fp16"}
        signature = {}
        for name, value in zip(names, arguments):
            if isinstance(value, np.ndarray):
                signature[name] = types[value.dtype]
            else:
                signature[name] = "i32" if isinstance(value, int) else "fp32"
        signature.update({name: "constexpr" for name in constants})
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        compiled = triton.compile(source, target=GPUTarget("cuda", self.arch, 32),
                                  options={"num_warps": warps})
        ptx = compiled.asm["ptx"]
        module = check(driver.cuModuleLoadData(ptx.encode() + b"\0"))
        function = check(driver.cuModuleGetFunction(module, compiled.metadata.name.encode()))
        shared = compiled.metadata.shared
        if shared > 48 * 1024:
            check(driver.cuFuncSetAttribute(
                function,
                driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared))
        buffers = []
        cells = []
        for value in arguments:
            if isinstance(value, np.ndarray):
                buffer = check(driver.cuMemAlloc(value.nbytes))
                check(driver.cuMemcpyHtoD(buffer, value.ctypes.data, value.nbytes))
                buffers.append((buffer, value))
                cells.append(np.array([int(buffer)], dtype=np.uint64))
            else:
                kind = np.int32 if isinstance(value, int) else np.float32
                cells.append(np.array([value], dtype=kind))
        # Triton's kernels have two more parameters, for scratch memory that these don't use.
        cells += [np.zeros(1, dtype=np.uint64)] * 2
        addresses = np.array([cell.ctypes.data for cell in cells], dtype=np.uint64)
        check(driver.cuLaunchKernel(function, *grid, 32 * warps, 1, 1, shared, 0,
                                    addresses.ctypes.data, 0))
        for buffer, value in buffers:
            check(driver.cuMemcpyDtoH(value.ctypes.data, buffer, value.nbytes))
            check(driver.cuMemFree(buffer))
        check(driver.cuModuleUnload(module))


@pytest.fixture(params=ARCHITECTURES, ids=lambda arch: f"sm_{arch}")
def bench(request):
    made = Bench(request.param)
    yield made
    made.close()


def randoms(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def test_vector_add(bench):
    x, y = randoms(1000), randoms(1001)[:1000].copy()
    out = np.zeros_like(x)
    bench.run(vector_add, {"BLOCK": 256}, (4, 1, 1), [x, y, out, 1000])
    np.testing.assert_array_equal(out, x + y)


def test_softmax(bench):
    x = randoms(13, 200)
    out = np.zeros_like(x)
    bench.run(softmax, {"BLOCK": 256}, (13, 1, 1), [x, out, 200])
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_layer_norm(bench):
    x, weight, bias = randoms(9, 300), randoms(300), randoms(301)[:300].copy()
    out = np.zeros_like(x)
    bench.run(layer_norm, {"BLOCK": 512}, (9, 1, 1), [x, weight, bias, out, 300, 1e-5])
    expected = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, expected * weight + bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision, dtype, tolerance", [
    ("ieee", np.float32, 1e-5), ("tf32", np.float32, 2e-2), ("ieee", np.float16, 1e-2)],
    ids=["fp32", "tf32", "fp16"])
def test_matmul(bench, precision, dtype, tolerance):
    a, b = randoms(70, 50, dtype=dtype), randoms(50, 90, dtype=dtype)
    c = np.zeros((70, 90), dtype=np.float32)
    constants = {"M": 64, "N": 64, "K": 32, "PRECISION": precision}
    bench.run(matmul, constants, (2, 2, 1), [a, b, c, 70, 90, 50])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("precision, dtype, tolerance", [
    ("ieee", np.float32, 1e-5), ("ieee", np.float16, 1e-2)], ids=["fp32", "fp16"])
def test_attention(bench, precision, dtype, tolerance):
    length, width = 128, 32
    q, k, v = (randoms(length + i, width, dtype=dtype)[:length].copy() for i in range(3))
    out = np.zeros((length, width), dtype=np.float32)
    scale = 1 / math.sqrt(width)
    constants = {"ROWS": 64, "STEP": 32, "WIDTH": width, "PRECISION": precision}
    bench.run(attention, constants, (2, 1, 1), [q, k, v, out, length, scale])
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.T * scale
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True) @ v
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
