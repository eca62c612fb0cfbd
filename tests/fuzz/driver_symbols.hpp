// The software device's exported functions: from its library, opened on first use, or from this
// program if the device is linked in.
#pragma once

#include <span>

namespace lode::fuzz {

/// Aborts if there is no such function.
void* driver_symbol(const char* name);

/// The entry points that only return CUDA_ERROR_NOT_SUPPORTED.
std::span<const char* const> unsupported_symbols() noexcept;

}  // namespace lode::fuzz
