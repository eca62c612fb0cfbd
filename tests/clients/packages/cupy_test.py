"""CuPy: kernels of its own kinds, against NumPy. Its wheel has the static runtime."""

import cupy
import numpy as np
from cupyx import jit

VALUES = np.arange(1000, dtype=np.float32)


def test_raw_kernel():
    kernel = cupy.RawKernel(r"""extern "C" __global__ void twice(float* x, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= 2;
    }""", "twice")
    values = cupy.asarray(VALUES)
    kernel((8,), (128,), (values, np.int32(len(VALUES))))
    assert (values.get() == VALUES * 2).all()


def test_raw_module():
    module = cupy.RawModule(code=r"""template <class T> __global__ void fill(T* x, T value) {
        x[threadIdx.x] = value;
    }""", options=("-std=c++17",), name_expressions=("fill<float>", "fill<int>"))
    for name, kind in (("fill<float>", np.float32), ("fill<int>", np.int32)):
        values = cupy.zeros(32, dtype=kind)
        module.get_function(name)((1,), (32,), (values, kind(7)))
        assert (values.get() == 7).all()


def test_elementwise_kernel():
    kernel = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    found = kernel(cupy.asarray(VALUES), cupy.float32(3))
    assert (found.get() == (VALUES - 3) ** 2).all()


def test_reduction_kernel():
    kernel = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
    assert int(kernel(cupy.arange(1000))) == sum(i * i for i in range(1000))


def test_expressions_and_a_reduction_of_rows():
    values = cupy.asarray(VALUES).reshape(10, 100)
    found = (cupy.sqrt(values) + values.T.reshape(10, 100)).max(axis=1)
    host = VALUES.reshape(10, 100)
    assert np.allclose(found.get(), (np.sqrt(host) + host.T.reshape(10, 100)).max(axis=1))


def test_jit_kernel():
    @jit.rawkernel()
    def add(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] += x[i]

    x, y = cupy.asarray(VALUES), cupy.asarray(VALUES * 3)
    add((8,), (128,), (x, y, len(VALUES)))
    assert (y.get() == VALUES * 4).all()


def test_streams_and_graphs():
    stream = cupy.cuda.Stream(non_blocking=True)
    values = cupy.asarray(VALUES)
    cupy.cuda.Device().synchronize()
    with stream:
        values *= 2  # Compiles what the graph launches.
        stream.begin_capture()
        values *= 2
        graph = stream.end_capture()
        graph.launch()
    stream.synchronize()
    assert (values.get() == VALUES * 4).all()
