// The windows of the generic address space.
#pragma once

#include <cstdint>

namespace lode::emulator {

/// Bits 48 and up of a generic address hold its window; they are zero for global addresses.
inline constexpr std::uint32_t window_shift = 48;
enum class Window : std::uint8_t { global = 0, shared = 1, local = 2, param = 3, code = 4 };
constexpr std::uint64_t window_tag(Window window) noexcept {
    return static_cast<std::uint64_t>(window) << window_shift;
}

/// Bits 32 to 47 of a generic address of local memory hold its thread in the block, plus one. A
/// GPU's have none.
inline constexpr std::uint32_t owner_shift = 32;
constexpr std::uint64_t owner_tag(std::uint32_t thread) noexcept {
    return (std::uint64_t{thread} + 1) << owner_shift;
}
/// The thread plus one; 0 if it isn't known.
constexpr std::uint32_t owner_of(std::uint64_t address) noexcept {
    return static_cast<std::uint32_t>(address >> owner_shift) & 0xffff;
}

}  // namespace lode::emulator
