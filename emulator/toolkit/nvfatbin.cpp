// Stands in for nvFatbin inside `lode emulate`: what other stand-ins give as a cubin goes into the
// fat binary as the PTX that it is. All other functions are NVIDIA's own, as in nvrtc.cpp.
#include "emulator/toolkit/original.hpp"

#include <cstddef>
#include <string_view>

namespace {

/// nvFatbinResult's values that occur here; the toolkit may lack its header.
enum Outcome : int { internal = 1, elf_arch_mismatch = 2, ptx_arch_mismatch = 13 };

using AddCubin = int(void* handle, const void* code, std::size_t size, const char* arch,
                     const char* identifier);
using AddPtx = int(void* handle, const char* code, std::size_t size, const char* arch,
                   const char* identifier, const char* options);

}  // namespace

#define LODE_EXPORTED extern "C" __attribute__((visibility("default")))

LODE_EXPORTED const int lode_stand_in = 1;

// NOLINTNEXTLINE(readability-identifier-naming): the name is that of nvFatbin.h.
LODE_EXPORTED int nvFatbinAddCubin(void* handle, const void* code, std::size_t size,
                                   const char* arch, const char* identifier) {
    using namespace lode::emulator::toolkit;
    const std::string_view text(static_cast<const char*>(code), code != nullptr ? size : 0);
    if (text.starts_with("\177ELF") || text.find(".version") == std::string_view::npos) {
        const auto add = original<AddCubin>("nvFatbinAddCubin");
        return add != nullptr ? add(handle, code, size, arch, identifier) : internal;
    }
    const auto add = original<AddPtx>("nvFatbinAddPTX");
    if (add == nullptr) return internal;
    const int outcome = add(handle, text.data(), size, arch, identifier, "");
    return outcome == ptx_arch_mismatch ? elf_arch_mismatch : outcome;
}
