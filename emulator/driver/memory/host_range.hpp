// What host memory the process has.
#pragma once

#include <cstddef>

namespace lode::emulator::driver {

/// Whether a whole range is mapped, readable and, if `writes`, writable in this process: kernels
/// will access it unchecked, or its size comes from data.
bool is_mapped(const void* at, std::size_t bytes, bool writes);

}  // namespace lode::emulator::driver
