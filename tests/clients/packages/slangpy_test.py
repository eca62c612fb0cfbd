"""slangpy: functions in Slang, called with arrays."""

import numpy as np
import pytest
import slangpy as spy


@pytest.fixture(scope="module")
def device():
    return spy.create_device(type=spy.DeviceType.cuda)


def test_function_of_arrays(device):
    module = spy.Module(device.load_module_from_source(
        "functions", "float f(float a, float b) { return a * b + sin(a); }"))
    a = np.random.default_rng(1).random(1000).astype(np.float32)
    b = np.arange(1000, dtype=np.float32)
    assert np.allclose(module.f(a, b, _result="numpy"), a * b + np.sin(a), rtol=1e-5)


def test_vectors_and_generics(device):
    module = spy.Module(device.load_module_from_source("vectors", """
        float3 turn(float3 v) { return float3(v.y, v.z, v.x); }
        T twice<T : IArithmetic>(T v) { return v + v; }
        int twice_int(int v) { return twice<int>(v); }
    """))
    vectors = np.arange(30, dtype=np.float32).reshape(10, 3)
    assert (module.turn(vectors, _result="numpy") == np.roll(vectors, -1, axis=1)).all()
    numbers = np.arange(100, dtype=np.int32)
    assert (module.twice_int(numbers, _result="numpy") == numbers * 2).all()
