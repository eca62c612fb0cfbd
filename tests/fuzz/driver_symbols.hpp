// The software device's exported functions: of its library, opened when first asked, or of this
// very program where it is linked in.
#pragma once

#include <span>

namespace lode::fuzz {

/// Aborts when there is no such function.
void* driver_symbol(const char* name);

/// The entry points that only answer CUDA_ERROR_NOT_SUPPORTED.
std::span<const char* const> unsupported_symbols() noexcept;

}  // namespace lode::fuzz
