// Math hooks: records what NVRTC calculates with the C library, for file_hooks.hpp.
#pragma once

#include "jit/nvrtc/import_table.hpp"

#include <span>

namespace lode {

/// The functions of calculations.def, with replacements that record each call of a compilation.
[[nodiscard]] std::span<const ImportedFunction> math_hooks() noexcept;

}  // namespace lode
