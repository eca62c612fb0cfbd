#!/usr/bin/env python3
"""Exchanges arrays between NumPy and lode: exchange_test.py LIBRARY

Exits with 77 where there is no NumPy with DLPack 1.0.
"""

import ctypes
import sys
import unittest

SKIPPED = 77
CPU = (1, 0)
NAME = b"dltensor_versioned"

try:
    import numpy
except ImportError:
    print("skipped: NumPy isn't installed")
    sys.exit(SKIPPED)
if tuple(int(part) for part in numpy.__version__.split(".")[:2]) < (2, 1):
    print(f"skipped: NumPy {numpy.__version__} is older than 2.1, the first with DLPack 1.0")
    sys.exit(SKIPPED)

LODE = ctypes.CDLL(sys.argv.pop(1))
LODE.lode_dlpack_make.restype = ctypes.c_void_p
LODE.lode_dlpack_double.argtypes = [ctypes.c_void_p]
LODE.lode_dlpack_double.restype = ctypes.c_int64
LODE.lode_dlpack_first.argtypes = [ctypes.c_void_p]
LODE.lode_dlpack_first.restype = ctypes.c_float

NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NEW_CAPSULE.restype = ctypes.py_object
GET_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
GET_POINTER.argtypes = [ctypes.py_object, ctypes.c_char_p]
GET_POINTER.restype = ctypes.c_void_p
IS_VALID = ctypes.pythonapi.PyCapsule_IsValid
IS_VALID.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Tensor:
    """A tensor of lode's, as Python's array protocol wants it."""

    def __init__(self):
        self.capsule = None

    def __dlpack_device__(self):
        return CPU

    def __dlpack__(self, **_):
        self.capsule = NEW_CAPSULE(LODE.lode_dlpack_make(), NAME, None)
        return self.capsule


def pointer_of(array):
    """Returns a capsule of an array, which owns its tensor, and the tensor."""
    capsule = array.__dlpack__(max_version=(1, 0))
    return capsule, GET_POINTER(capsule, NAME)


class Exchange(unittest.TestCase):
    def test_numpy_views_a_tensor_of_lode(self):
        tensor = Tensor()
        array = numpy.from_dlpack(tensor)
        self.assertEqual(array.dtype, numpy.float32)
        self.assertEqual(array.tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertFalse(IS_VALID(tensor.capsule, NAME))  # NumPy owns the tensor now.
        array[1, 2] = 9
        self.assertEqual(array.sum(), 19)

    def test_lode_changes_an_array_of_numpy(self):
        array = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)
        capsule, tensor = pointer_of(array)
        self.assertEqual(LODE.lode_dlpack_double(tensor), 6)
        self.assertEqual(array.tolist(), [[0, 2], [4, 6], [8, 10]])
        del capsule

    def test_lode_refuses_what_it_cannot_view(self):
        for array in (numpy.zeros(3), numpy.zeros((4, 4), numpy.float32)[:, :2],
                      numpy.zeros((2, 3), numpy.float32).T):
            capsule, tensor = pointer_of(array)
            self.assertEqual(LODE.lode_dlpack_double(tensor), -1)
            del capsule

    def test_a_read_only_array_is_only_read(self):
        array = numpy.full(3, 7, numpy.float32)
        array.flags.writeable = False
        capsule, tensor = pointer_of(array)
        self.assertEqual(LODE.lode_dlpack_double(tensor), -1)
        self.assertEqual(LODE.lode_dlpack_first(tensor), 7)
        del capsule

    def test_a_tensor_returns_through_numpy(self):
        array = numpy.from_dlpack(Tensor())
        capsule, tensor = pointer_of(array)
        del array  # The tensor keeps the memory.
        self.assertEqual(LODE.lode_dlpack_double(tensor), 6)
        self.assertEqual(LODE.lode_dlpack_first(tensor), 0)
        del capsule


if __name__ == "__main__":
    unittest.main()
