// Random elements for the workloads of matrix products.
#pragma once

#include "gemm/elements.hpp"
#include "lode_kernels/workload.hpp"

#include <cstdint>
#include <vector>

namespace LODE_NAMESPACE::kernels {

/// Random elements of magnitude in [0.25, 1), either sign. T has the format's bytes.
template <class T>
std::vector<T> random_elements(const ElementFormat& format, std::size_t count, std::uint64_t seed) {
    constexpr std::uint32_t sign = 1U << (sizeof(T) * 8 - 1);
    // Two binades from 0.25 on: the lowest bit of the exponent and the fraction are random.
    const std::uint32_t span = 2U << format.fraction_bits;
    return random_values<T>(count, seed, [&](std::uint64_t random) {
        const auto bits = static_cast<std::uint32_t>(random >> 32);
        return static_cast<T>((bits & sign) | (format.quarter + (bits >> 16 & (span - 1))));
    });
}

}  // namespace LODE_NAMESPACE::kernels
