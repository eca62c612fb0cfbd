// The memory in which NVRTC keeps precompiled headers: at one address in all processes.
//
// A precompiled header is a copy of memory with pointers into itself and into NVRTC, so only a
// process with the same addresses can use it. NVRTC (12.8 and newer) reserves this memory with
// mmap, where lode chooses the address. The address of NVRTC itself is the same where the system
// loads programs without randomisation.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace LODE_NAMESPACE {

/// Whether this process was loaded at fixed addresses (ADDR_NO_RANDOMIZE).
[[nodiscard]] bool has_fixed_addresses() noexcept;

/// Where NVRTC keeps precompiled headers, and where it is itself.
struct PchAddresses {
    std::uintptr_t heap = 0;
    std::size_t heap_bytes = 0;
    std::uintptr_t library = 0;
};

/// Chooses the address for this NVRTC, and its size; call it before the first compilation. nullopt
/// if this NVRTC has no precompiled headers, if NVRTC_DISABLE_PCH switches them off, or if another
/// NVRTC of this process has the address. For processes in which lode is the only user of NVRTC.
[[nodiscard]] std::optional<PchAddresses> place_pch_heap(const NvrtcLibrary& nvrtc);

/// Whether the chosen address was taken when NVRTC asked for memory: precompiled headers of this
/// process are of no use to others.
[[nodiscard]] bool pch_heap_is_elsewhere() noexcept;

}  // namespace LODE_NAMESPACE
