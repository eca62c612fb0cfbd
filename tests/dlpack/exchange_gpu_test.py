#!/usr/bin/env python3
"""Exchanges arrays between GPU frameworks and lode: exchange_gpu_test.py LIBRARY

Tries PyTorch and CuPy. Exits with 77 where neither is installed with a GPU and DLPack 1.0.
"""

import ctypes
import gc
import sys

SKIPPED = 77
CUDA = 2
NAME = b"dltensor_versioned"

NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NEW_CAPSULE.restype = ctypes.py_object
GET_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
GET_POINTER.argtypes = [ctypes.py_object, ctypes.c_char_p]
GET_POINTER.restype = ctypes.c_void_p


LODE = None  # Loaded after the frameworks, which bring libraries of their own.


def load_lode():
    global LODE
    LODE = ctypes.CDLL(sys.argv[1])
    LODE.lode_dlpack_make_on_device.restype = ctypes.c_void_p
    LODE.lode_dlpack_double_on_device.argtypes = [ctypes.c_void_p]
    LODE.lode_dlpack_double_on_device.restype = ctypes.c_int64


class Tensor:
    """A tensor of lode's in device memory, as Python's array protocol wants it."""

    def __dlpack_device__(self):
        return (CUDA, 0)

    def __dlpack__(self, **_):
        return NEW_CAPSULE(LODE.lode_dlpack_make_on_device(), NAME, None)


def torch_framework():
    import torch
    if not torch.cuda.is_available():
        raise ImportError("PyTorch sees no GPU")
    return (torch.from_dlpack, lambda shape: torch.ones(shape, device="cuda:0"),
            lambda array: array.t(), torch.cuda.synchronize)


def cupy_framework():
    import cupy
    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise ImportError("CuPy sees no GPU")
    return (cupy.from_dlpack, lambda shape: cupy.ones(shape, dtype=cupy.float32),
            lambda array: array.T, cupy.cuda.runtime.deviceSynchronize)


def double(array):
    """Doubles an array of the framework through lode; -1 if lode refuses it."""
    capsule = array.__dlpack__(max_version=(1, 0))
    return LODE.lode_dlpack_double_on_device(GET_POINTER(capsule, NAME))


def exchange(from_dlpack, ones, transposed, synchronize):
    # The framework views a buffer of lode, changes it, and keeps it alive.
    array = from_dlpack(Tensor())
    assert tuple(array.shape) == (2, 3), array.shape
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]], array.tolist()
    array += 1
    synchronize()
    assert double(array) == 6
    assert array.tolist() == [[2, 4, 6], [8, 10, 12]], array.tolist()
    del array
    gc.collect()
    # lode's kernel changes an array of the framework.
    array = ones((4, 5))
    synchronize()
    assert double(array) == 20
    assert float(array.sum()) == 40
    assert double(transposed(array)) == -1, "lode accepts rows that aren't dense"
    assert float(array.sum()) == 40


def main():
    found = {}
    for name, framework in (("PyTorch", torch_framework), ("CuPy", cupy_framework)):
        try:
            found[name] = framework()
        except Exception as problem:  # Without a GPU, frameworks raise errors of their own.
            print(f"{name} is left out: {problem}", flush=True)
    if not found:
        return SKIPPED
    load_lode()
    for name, parts in found.items():
        exchange(*parts)
        print(f"arrays exchanged with {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
