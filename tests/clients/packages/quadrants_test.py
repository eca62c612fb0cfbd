"""Quadrants, a successor of Taichi: kernels in Python, on the device and on the processor."""

import numpy as np
import pytest
import quadrants as qd


@pytest.fixture
def cuda():
    qd.init(arch=qd.cuda, enable_fallback=False, device_memory_GB=0.3)
    yield
    qd.reset()


def test_field(cuda):
    values = qd.field(qd.f32, 1000)

    @qd.kernel
    def fill():
        for i in values:
            total = 0.0
            for k in range(8):
                total = total * 0.5 + k
            values[i] = total + i

    fill()
    total = 0.0
    for k in range(8):
        total = total * 0.5 + k
    assert np.allclose(values.to_numpy(), total + np.arange(1000))


def test_atomic_sum(cuda):
    total = qd.field(qd.i32, ())

    @qd.kernel
    def count():
        for i in range(1000):
            if i % 3 == 0:
                total[None] += i

    count()
    assert total[None] == sum(range(0, 1000, 3))


def test_matrices(cuda):
    rows = qd.Matrix.field(2, 2, qd.f32, shape=16)

    @qd.kernel
    def turn():
        for i in rows:
            m = qd.Matrix([[1.0, 2.0], [3.0, i * 1.0]])
            rows[i] = m @ m.transpose()

    turn()
    for i, found in enumerate(rows.to_numpy()):
        m = np.array([[1, 2], [3, i]], dtype=np.float32)
        assert np.allclose(found, m @ m.T)
