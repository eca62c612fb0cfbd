#!/usr/bin/env python3
"""lode from Python, by ctypes and the C interface (lode/lode.h): no package is needed.

    main.py LIBLODE.so        uses the GPU, or the software device where there is none
"""

import array
import ctypes
import pathlib
import sys
from ctypes import byref, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("driver", c_char_p), ("emulator", c_int32),
                ("emulator_fallback", c_int32)]  # The members after these keep their defaults.


class Error(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("status", c_int32), ("native_code", c_int32),
                ("message", c_char_p), ("native_name", c_char_p), ("log", c_char_p)]


class Source(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("file", c_char_p), ("cuda", c_char_p), ("ptx", c_char_p),
                ("name", c_char_p)]


class Shape(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3)]


if len(sys.argv) != 2:
    sys.exit("usage: main.py liblode.so.0.3")
lode = ctypes.CDLL(sys.argv[1])
lode.lode_buffer_address.restype = c_uint64


def call(name, *arguments):
    """Calls a function that returns a status; raises its message."""
    if getattr(lode, name)(*arguments) != 0:
        error = Error(ctypes.sizeof(Error))
        lode.lode_get_error(byref(error))
        raise RuntimeError((error.message + b"\n" + error.log).decode())


def make(name, *arguments):
    """Calls a function whose last parameter receives a handle."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle


runtime = make("lode_runtime_open", byref(Options(ctypes.sizeof(Options), emulator_fallback=1)))
device = make("lode_device_open", runtime, c_int32(0))
file = pathlib.Path(__file__).with_name("saxpy.cu")
kernel = make("lode_kernel_load", device, byref(Source(ctypes.sizeof(Source), bytes(file))),
              c_char_p(b"saxpy"), None)

n = 100_000
x, y = array.array("f", range(n)), array.array("f", [1.0] * n)
buffers = []
for values in (x, y):
    buffers.append(make("lode_buffer_alloc", device, c_size_t(4 * n)))
    call("lode_buffer_write", buffers[-1], c_size_t(0), c_void_p(values.buffer_info()[0]),
         c_size_t(4 * n), None)

values = [c_float(2.0), *(c_uint64(lode.lode_buffer_address(b)) for b in buffers), c_int32(n)]
pointers = (c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
sizes = (c_size_t * len(values))(*(ctypes.sizeof(value) for value in values))
shape = Shape(ctypes.sizeof(Shape), ((n + 255) // 256, 1, 1), (256, 1, 1))
call("lode_kernel_launch", kernel, None, byref(shape), pointers, sizes, c_size_t(len(values)))
call("lode_buffer_read", buffers[1], c_size_t(0), c_void_p(y.buffer_info()[0]), c_size_t(4 * n), None)

wrong = sum(1 for i in range(n) if y[i] != c_float(2.0 * i + 1.0).value)
print(f"{n} elements, {wrong} wrong")
for name, handles in (("buffer", buffers), ("kernel", [kernel]), ("device", [device]),
                      ("runtime", [runtime])):
    for handle in handles:
        getattr(lode, f"lode_{name}_free")(handle)
sys.exit(wrong != 0)
