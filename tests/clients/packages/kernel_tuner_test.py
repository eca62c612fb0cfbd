"""Kernel Tuner: it compiles a kernel for each choice of parameters, and compares the results."""

import kernel_tuner
import numpy as np
import pytest

SOURCE = """extern "C" __global__ void add(float* c, const float* a, const float* b, int n) {
    const int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""


@pytest.mark.parametrize("language", ["CuPy", "NVCUDA"])
def test_tuning(language):
    a, b = (np.random.default_rng(i).random(1000, dtype=np.float32) for i in (1, 2))
    arguments = [np.zeros_like(a), a, b, np.int32(1000)]
    results, _ = kernel_tuner.tune_kernel(
        "add", SOURCE, 1000, arguments, {"block_size_x": [32, 64, 128]}, lang=language,
        answer=[a + b, None, None, None], iterations=2)
    assert [row["block_size_x"] for row in results] == [32, 64, 128]
    assert all(isinstance(row["time"], float) for row in results)
