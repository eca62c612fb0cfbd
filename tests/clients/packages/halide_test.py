"""Halide: pipelines with a schedule for a GPU, against the same ones on the processor."""

import halide as hl
import numpy as np
import pytest

TARGET = hl.Target("host-cuda-cuda_capability_80")


def realized(function, sizes, target):
    buffer = function.realize(sizes, target)
    buffer.copy_to_host()
    return np.array(buffer)


def test_stencil():
    def pipeline():
        x, y = hl.Var("x"), hl.Var("y")
        inner, outer = hl.Func("inner"), hl.Func("outer")
        inner[x, y] = hl.sin(hl.cast(hl.Float(32), x)) * y + hl.sqrt(hl.cast(hl.Float(32), x * y + 1))
        outer[x, y] = inner[x, y] + inner[x + 1, y] + inner[x, y + 1]
        return x, y, inner, outer

    _, _, inner, outer = pipeline()
    inner.compute_root()
    expected = realized(outer, [64, 48], hl.get_host_target())
    x, y, inner, outer = pipeline()
    outer.gpu_tile(x, y, hl.Var("xi"), hl.Var("yi"), 16, 16)
    inner.compute_at(outer, x).gpu_threads(x, y)
    assert np.allclose(realized(outer, [64, 48], TARGET), expected, rtol=1e-5, atol=1e-4)


def test_histogram():
    x, inner = hl.Var("x"), hl.Var("inner")
    counts, domain = hl.Func("counts"), hl.RDom([(0, 1000)])
    counts[x] = hl.u32(0)
    counts[(domain * 7) % 16] += hl.u32(1)
    counts.compute_root().gpu_tile(x, inner, 16)
    expected = np.bincount(np.arange(1000) * 7 % 16, minlength=16)
    assert (realized(counts, [16], TARGET) == expected).all()


@pytest.mark.parametrize("size", [32, 48])
def test_matrix_product(size):
    x, y, xi, yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))
    a, b = (np.random.default_rng(i).random((size, size), dtype=np.float32) for i in (1, 2))
    left, right = hl.Buffer(a), hl.Buffer(b)
    product, k = hl.Func("product"), hl.RDom([(0, size)])
    product[x, y] = hl.f32(0)
    product[x, y] += left[k, y] * right[x, k]
    product.compute_root().gpu_tile(x, y, xi, yi, 16, 16)
    product.update().gpu_tile(x, y, xi, yi, 16, 16)
    assert np.allclose(realized(product, [size, size], TARGET), a @ b, rtol=1e-4)
