// Shared by the programs of bench/warm_start: the kernel and its check.
#pragma once

namespace lode::bench {

inline constexpr unsigned warm_start_elements = 1 << 16;

inline constexpr const char* warm_start_source = R"(
extern "C" __global__ void fill(unsigned* to, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = i * 2654435761U;
}
)";

inline bool is_filled(const unsigned* values) {
    for (unsigned i = 0; i < warm_start_elements; ++i) {
        if (values[i] != i * 2654435761U) return false;
    }
    return true;
}

}  // namespace lode::bench
