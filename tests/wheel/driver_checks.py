"""What a project's tests may look like: they load CUDA's driver and run a kernel through it.

Run by pytest under `lode emulate`.
"""

import ctypes

PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry set(.param .u64 to) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    st.global.u32 [%rd1], 42;
    ret;
}"""


def check(result):
    assert result == 0, f"CUresult {result}"


def test_kernel():
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0))
    name = ctypes.create_string_buffer(100)
    check(cuda.cuDeviceGetName(name, 100, 0))
    assert b"lode emulator" in name.value
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"set"))
    memory, result = ctypes.c_uint64(), ctypes.c_uint32()
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4)))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
    check(cuda.cuMemcpyDtoH_v2(ctypes.byref(result), memory, ctypes.c_size_t(4)))
    assert result.value == 42
    check(cuda.cuMemFree_v2(memory))
