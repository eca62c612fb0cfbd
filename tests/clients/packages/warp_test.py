"""Warp: kernels in Python. Its library has the static runtime of CUDA 12.8, and no symbols."""

import numpy as np
import pytest
import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def count(values: wp.array(dtype=int), counts: wp.array(dtype=int)):
    wp.atomic_add(counts, values[wp.tid()] % 4, 1)


@wp.kernel
def square(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i])


@wp.kernel(module="unique")
def increment(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@pytest.fixture(scope="module")
def device():
    wp.init()
    return wp.get_device("cuda:0")


def test_arrays(device):
    values = np.arange(1000, dtype=np.float32)
    x, y = wp.array(values, device=device), wp.ones(1000, dtype=float, device=device)
    wp.launch(saxpy, dim=1000, inputs=[x, y, 2.0], device=device)
    assert (y.numpy() == 2 * values + 1).all()


def test_atomics_and_graphs(device):
    values = wp.array(np.arange(1000, dtype=np.int32), device=device)
    counts = wp.zeros(4, dtype=int, device=device)
    with wp.ScopedCapture(device=device) as capture:
        wp.launch(count, dim=1000, inputs=[values, counts], device=device)
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert (counts.numpy() == 750).all()


def test_module_loaded_in_a_capture(device):
    x = wp.zeros(100, dtype=float, device=device)
    with wp.ScopedCapture(device=device, force_module_load=False) as capture:
        wp.launch(increment, dim=100, inputs=[x], device=device)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert (x.numpy() == 2).all()


def test_derivative(device):
    x = wp.array(np.arange(10, dtype=np.float32), device=device, requires_grad=True)
    total = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, dim=10, inputs=[x, total], device=device)
    tape.backward(total)
    assert (x.grad.numpy() == 2 * np.arange(10)).all()


def test_scan_and_sort(device):
    numbers = np.random.default_rng(1).integers(0, 1000, 500).astype(np.int32)
    source, scanned = wp.array(numbers, device=device), wp.zeros(500, dtype=int, device=device)
    wp.utils.array_scan(source, scanned, inclusive=True)
    assert (scanned.numpy() == np.cumsum(numbers)).all()
