// A quicker way to the most frequent products.
#pragma once

#include "emulator/isa/tensor.hpp"

namespace lode::emulator::exec {

/// Performs the product if it has a quick way and its numbers allow it; otherwise false, and
/// nothing is changed.
bool multiply_quickly(WarpContext& c, const MatrixProduct& plan) noexcept;

}  // namespace lode::emulator::exec
