// Tensor maps that kernels make field by field.
#pragma once

#include "emulator/memory/tensor_map.hpp"

#include <string>

namespace lode::emulator::exec {

/// The first field that a map of its dimensions needs and no kernel has set, such as "box_dim 1";
/// empty if the map is complete.
[[nodiscard]] std::string unset_field(const TensorMap& map);

}  // namespace lode::emulator::exec
