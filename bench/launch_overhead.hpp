// Shared by the two halves of launch_overhead: timing, and kernels of 0, 1, 4, 8 and 16 arguments.
#pragma once

#include "bench/results.hpp"
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <cuda.h>
#include <cudaTypedefs.h>

namespace lode::bench {

/// Keeps the compiler from moving or folding the surrounding code.
inline void keep_in_place() {
    asm volatile("" ::: "memory");
}

/// The signature of a kernel with N ints.
template <class Sequence>
struct IntSignature;
template <std::size_t... I>
struct IntSignature<std::index_sequence<I...>> {
    template <std::size_t>
    using Int = int;
    using type = void(Int<I>...);
};
template <std::size_t N>
using IntKernel = Kernel<typename IntSignature<std::make_index_sequence<N>>::type>;

/// One launch without lode: the pointers to N arguments, then the driver's call.
template <std::size_t N>
CUresult launch_by_hand(PFN_cuLaunchKernel_v4000 launch, CUfunction kernel, CUstream stream,
                        std::array<int, N>& values, unsigned blocks, unsigned threads) {
    void* arguments[N + 1] = {};
    for (std::size_t i = 0; i < N; ++i)
        arguments[i] = &values[i];
    return launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
}

/// One typed launch through lode.
template <std::size_t N>
Status launch_typed(const IntKernel<N>& kernel, StreamRef stream, const std::array<int, N>& values,
                    const LaunchShape& shape) {
    return std::apply([&](const auto&... value) { return kernel.launch(stream, shape, value...); },
                      values);
}

/// The arguments of a launch by hand whose pointers are made once, as in a prepared launch.
template <std::size_t N>
struct KeptArguments {
    explicit KeptArguments(std::array<int, N>& values) {
        for (std::size_t i = 0; i < N; ++i)
            pointers[i] = &values[i];
    }
    std::array<void*, N + 1> pointers{};
};

/// A prepared launch of these values.
template <std::size_t N>
auto prepare(const IntKernel<N>& kernel, StreamRef stream, const std::array<int, N>& values,
             const LaunchShape& shape) {
    return std::apply(
        [&](const auto&... value) { return unwrap(kernel.prepare(stream, shape, value...)); },
        values);
}

/// N ints, packed.
template <std::size_t N>
PackedArguments pack(const std::array<int, N>& values) {
    PackedArguments packed;
    for (const int value : values)
        unwrap(packed.add(value));
    return packed;
}

/// Prints the table of nanoseconds that lode adds to a driver that does nothing.
void report_noop(Results& results);

/// Prints the ratios on a real device, or why there is none.
void report_device(Results& results);

}  // namespace lode::bench
