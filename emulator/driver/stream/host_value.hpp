#pragma once
// Values in host memory, which callers in C may leave unaligned.

#include <cstring>

#include <cuda.h>

namespace lode::emulator::driver {

template <class Value>
Value load(const void* from) noexcept {
    Value value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Always returns CUDA_SUCCESS, so that an entry point can return its result.
template <class Value>
CUresult store(void* to, Value value) noexcept {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the value may be a pointer.
    std::memcpy(to, &value, sizeof value);
    return CUDA_SUCCESS;
}

}  // namespace lode::emulator::driver
