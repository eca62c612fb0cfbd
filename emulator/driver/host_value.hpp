#pragma once
// Values in memory of the host, which C callers may leave unaligned.

#include <cstring>

#include <cuda.h>

namespace lode::emulator::driver {

template <class Value>
Value load(const void* from) noexcept {
    Value value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Returns CUDA_SUCCESS, so that an entry point can end with it.
template <class Value>
CUresult store(void* to, Value value) noexcept {
    std::memcpy(to, &value, sizeof value);
    return CUDA_SUCCESS;
}

}  // namespace lode::emulator::driver
