// The windows of the generic address space.
#pragma once

#include <cstdint>

namespace lode::emulator {

/// Bits 48 and up of a generic address hold its window; they are zero for global addresses.
inline constexpr std::uint32_t window_shift = 48;
enum class Window : std::uint64_t { global = 0, shared = 1, local = 2, param = 3, code = 4 };
constexpr std::uint64_t window_tag(Window window) noexcept {
    return static_cast<std::uint64_t>(window) << window_shift;
}

}  // namespace lode::emulator
