// Math hooks: records what NVRTC calculates with the C library, for file_hooks.hpp.
#pragma once

#include "jit/nvrtc/linux/import_table.hpp"

#include <cstddef>
#include <span>

namespace LODE_NAMESPACE {

/// The functions of calculations.def, with replacements that record each call of a compilation.
/// They are those of one library: `library` is its number, below max_watched_libraries.
[[nodiscard]] std::span<const ImportedFunction> math_hooks(std::size_t library) noexcept;

}  // namespace LODE_NAMESPACE
