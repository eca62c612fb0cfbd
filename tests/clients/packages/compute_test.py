"""cuda.compute: algorithms of CUB, compiled for the types that they get. Its library has the static
runtime."""

import numpy as np
import pytest
from cuda.bindings import runtime
from cuda.compute import OpKind, make_exclusive_scan, make_radix_sort, reduce_into


class Device:
    """An array on the device, as cuda.compute takes it."""

    def __init__(self, values):
        self.dtype, self.shape = values.dtype, values.shape
        error, self.pointer = runtime.cudaMalloc(values.nbytes)
        assert error == 0
        self.copy(self.pointer, values.ctypes.data, values.nbytes, "HostToDevice")

    @staticmethod
    def copy(to, source, size, kind):
        kinds = runtime.cudaMemcpyKind
        assert runtime.cudaMemcpy(to, source, size, getattr(kinds, f"cudaMemcpy{kind}"))[0] == 0

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False),
                "strides": None, "version": 3}

    def get(self):
        values = np.empty(self.shape, self.dtype)
        self.copy(values.ctypes.data, self.pointer, values.nbytes, "DeviceToHost")
        return values


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32])
def test_reduce(kind):
    values = np.arange(10000).astype(kind)
    found = Device(np.zeros(1, kind))
    reduce_into(d_in=Device(values), d_out=found, op=OpKind.PLUS, num_items=len(values),
                h_init=np.array([5], kind))
    assert np.isclose(found.get()[0], values.sum(dtype=np.float64) + 5)
