// The stack of the lanes of a warp: the local memory of their frames.
#pragma once

#include "emulator/exec/warp_context.hpp"

namespace lode::emulator::exec {

/// The first byte after a frame's own variables.
[[nodiscard]] u32 end_of_variables(const Frame& frame) noexcept;
/// Ensures that every lane's local memory has at least `top` bytes. Throws std::bad_alloc.
void grow_local(WarpContext& c, u32 top);
/// For the check of unwritten bytes: the bytes from `base` to `top` of one lane count as unwritten.
void forget_local(WarpContext& c, u32 lane, u32 base, u32 top);

}  // namespace lode::emulator::exec
