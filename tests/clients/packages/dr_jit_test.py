"""Dr.Jit: traced arrays, which become PTX."""

import drjit as dr
import numpy as np
import pytest
from drjit.cuda import Float, UInt32

VALUES = np.arange(1000, dtype=np.float32)


def test_expressions_and_reductions():
    values = dr.arange(Float, 1000)
    assert np.isclose(float(dr.sum(dr.sqrt(values * 2 + 1))[0]), np.sqrt(VALUES * 2 + 1).sum())
    assert np.isclose(float(dr.max(dr.sin(values))[0]), np.sin(VALUES).max())


def test_gather_and_scatter():
    order = np.random.default_rng(1).permutation(1000).astype(np.uint32)
    gathered = dr.gather(Float, Float(VALUES), UInt32(order))
    assert (np.array(gathered) == VALUES[order]).all()
    target = dr.zeros(Float, 10)
    dr.scatter_reduce(dr.ReduceOp.Add, target, Float(1), UInt32(order) % 10)
    assert (np.array(target) == 100).all()


def test_loop():
    @dr.syntax
    def collatz(value):
        steps = UInt32(0)
        while value != 1:
            value = dr.select((value & 1) == 0, value // 2, value * 3 + 1)
            steps += 1
        return steps

    def expected(value):
        steps = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else value * 3 + 1
            steps += 1
        return steps

    found = np.array(collatz(dr.arange(UInt32, 1, 50)))
    assert found.tolist() == [expected(i) for i in range(1, 50)]


def test_derivative():
    from drjit.cuda.ad import Float as Differentiable
    values = Differentiable(VALUES)
    dr.enable_grad(values)
    dr.backward(dr.sum(values * values))
    assert (np.array(dr.grad(values)) == 2 * VALUES).all()


@pytest.mark.parametrize("operation", [dr.ReduceOp.Add, dr.ReduceOp.And])
def test_block_reduce(operation):
    found = np.array(dr.block_reduce(operation, dr.arange(UInt32, 16), 4)).tolist()
    rows = np.arange(16, dtype=np.uint32).reshape(4, 4)
    combine = np.add if operation == dr.ReduceOp.Add else np.bitwise_and
    assert found == combine.reduce(rows, axis=1).tolist()
