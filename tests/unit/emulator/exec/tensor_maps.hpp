// Tensor maps as bytes, for kernels under test.
#pragma once

#include "emulator/memory/tensor_map.hpp"
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec::testing {

struct alignas(64) MapBytes {
    std::uint8_t bytes[128] = {};
};

inline MapBytes bytes_of(const TensorMap& map) {
    MapBytes made;
    std::memcpy(made.bytes, &map, sizeof map);
    return made;
}

}  // namespace lode::emulator::exec::testing
