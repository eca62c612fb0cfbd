// The windows of the generic address space.
#pragma once

#include <cstdint>

namespace lode::emulator {

/// Generic addresses carry their window in bits 48 and up; global addresses have zeros there.
inline constexpr std::uint32_t window_shift = 48;
enum class Window : std::uint64_t { global = 0, shared = 1, local = 2, param = 3, code = 4 };
constexpr std::uint64_t window_tag(Window window) noexcept {
    return static_cast<std::uint64_t>(window) << window_shift;
}

}  // namespace lode::emulator
