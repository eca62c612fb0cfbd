// Kernel sources that several benchmarks compile.
#pragma once

#include <lode/jit/source.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace lode::bench {

/// A small kernel; each number gives another one.
inline Source trivial(std::size_t number) {
    return Source::text(fmt::format("__global__ void k(int* x) {{ *x = {}; }}", number));
}

/// A kernel that includes about 600 headers; each number gives another one.
inline Source with_cub(std::size_t number) {
    return Source::text(
        fmt::format("#include <cub/block/block_reduce.cuh>\n"
                    "extern \"C\" __global__ void k(const int* in, int* out) {{\n"
                    "    using Reduce = cub::BlockReduce<int, 128>;\n"
                    "    __shared__ typename Reduce::TempStorage storage;\n"
                    "    const int sum = Reduce(storage).Sum(in[threadIdx.x] * {});\n"
                    "    if (threadIdx.x == 0) *out = sum;\n"
                    "}}\n",
                    number));
}

}  // namespace lode::bench
