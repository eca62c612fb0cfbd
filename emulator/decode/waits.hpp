// Which functions wait for other blocks, so that a launch of them runs its blocks at the same time.
#pragma once

#include "emulator/decode/ptx/ast.hpp"

namespace lode::emulator::decode {

/// Whether the function may wait for what other blocks do: it reads global memory in a way that
/// sees their writes while both run, or asks which blocks haven't begun.
[[nodiscard]] bool may_wait(const ptx::Function& function);

}  // namespace lode::emulator::decode
