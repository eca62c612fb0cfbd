// Stands in for NVRTC inside `lode emulate`: gives the PTX of a compilation where its cubin is
// asked for. The software device loads it like any other PTX.
//
// All other functions are NVIDIA's own, in whatever release the program has: the original is a
// dependency of this library, so that what isn't here is found there. liblode_redirect.so gives the
// loader its file.
#include "emulator/toolkit/original.hpp"

#include <cstddef>

#include <nvrtc.h>

namespace {

using lode::emulator::toolkit::original;

/// Finds out the size of what stands for the cubin. It is 0 if the compilation has none.
nvrtcResult size_of_cubin(nvrtcProgram prog, std::size_t* size, bool& is_ptx) noexcept {
    const auto cubin_size = original<decltype(nvrtcGetCUBINSize)>("nvrtcGetCUBINSize");
    const auto ptx_size = original<decltype(nvrtcGetPTXSize)>("nvrtcGetPTXSize");
    if (cubin_size == nullptr || ptx_size == nullptr) return NVRTC_ERROR_INTERNAL_ERROR;
    is_ptx = false;
    const nvrtcResult result = cubin_size(prog, size);
    if (result != NVRTC_SUCCESS || *size == 0) return result;
    std::size_t with_nul = 0;
    is_ptx = ptx_size(prog, &with_nul) == NVRTC_SUCCESS && with_nul > 1;
    if (is_ptx) *size = with_nul;
    return NVRTC_SUCCESS;
}

}  // namespace

#define LODE_EXPORTED extern "C" __attribute__((visibility("default")))

LODE_EXPORTED const int lode_stand_in = 1;

// NOLINTBEGIN(readability-identifier-naming): the names are those of nvrtc.h.

LODE_EXPORTED nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, std::size_t* cubinSizeRet) {
    bool is_ptx = false;
    return size_of_cubin(prog, cubinSizeRet, is_ptx);
}

LODE_EXPORTED nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char* cubin) {
    bool is_ptx = false;
    std::size_t size = 0;
    if (const nvrtcResult result = size_of_cubin(prog, &size, is_ptx); result != NVRTC_SUCCESS)
        return result;
    const auto give = is_ptx ? original<decltype(nvrtcGetPTX)>("nvrtcGetPTX")
                             : original<decltype(nvrtcGetCUBIN)>("nvrtcGetCUBIN");
    return give != nullptr ? give(prog, cubin) : NVRTC_ERROR_INTERNAL_ERROR;
}

// NOLINTEND(readability-identifier-naming)
