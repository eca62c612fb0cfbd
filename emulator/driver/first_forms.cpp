// The first forms of entry points that got another symbol later, though their parameters kept their
// meaning: each does what the newest form does.
#include "emulator/driver/abi.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

LODE_ENTRY cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    return cuCtxCreate_v2(pctx, flags, dev);
}

LODE_ENTRY cuCtxDestroy(CUcontext ctx) {
    return cuCtxDestroy_v2(ctx);
}

LODE_ENTRY cuCtxPopCurrent(CUcontext* pctx) {
    return cuCtxPopCurrent_v2(pctx);
}

LODE_ENTRY cuCtxPushCurrent(CUcontext ctx) {
    return cuCtxPushCurrent_v2(ctx);
}

/// The size has 32 bits: it is the largest one that fits.
LODE_ENTRY cuDeviceTotalMem(unsigned int* bytes, CUdevice dev) {
    constexpr std::size_t largest = std::numeric_limits<unsigned>::max();
    std::size_t all = 0;
    const CUresult result = cuDeviceTotalMem_v2(bytes == nullptr ? nullptr : &all, dev);
    if (result == CUDA_SUCCESS) *bytes = static_cast<unsigned>(std::min(all, largest));
    return result;
}

LODE_ENTRY cuEventDestroy(CUevent hEvent) {
    return cuEventDestroy_v2(hEvent);
}

LODE_ENTRY cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size,
                         const char* name, unsigned int numOptions, CUjit_option* options,
                         void** optionValues) {
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

LODE_ENTRY cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                         unsigned int numOptions, CUjit_option* options, void** optionValues) {
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

LODE_ENTRY cuLinkCreate(unsigned int numOptions, CUjit_option* options, void** optionValues,
                        CUlinkState* stateOut) {
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

LODE_ENTRY cuMemAllocHost(void** pp, unsigned int bytesize) {
    return cuMemAllocHost_v2(pp, bytesize);
}

LODE_ENTRY cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

LODE_ENTRY cuStreamDestroy(CUstream hStream) {
    return cuStreamDestroy_v2(hStream);
}
