// The system's pages.
#pragma once

#include "base/os/process.hpp"

#include <cstddef>

namespace lode::emulator {

/// Bytes of a page: 4 KiB on x86-64; on AArch64 4, 16 or 64 KiB, as the system is built.
[[nodiscard]] inline std::size_t page_bytes() noexcept {
    static const std::size_t bytes = os::page_size();
    return bytes;
}

}  // namespace lode::emulator
