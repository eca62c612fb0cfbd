// The system's pages.
#pragma once

#include <cstddef>

#include <unistd.h>

namespace lode::emulator {

/// Bytes of a page: 4 KiB on x86-64; on AArch64 4, 16 or 64 KiB, as the system is built.
[[nodiscard]] inline std::size_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace lode::emulator
