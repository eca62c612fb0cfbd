// Launch shapes and limits of kernels that work on the rows of a matrix: x rows of y columns.
#pragma once

#include "lode_kernels/family.hpp"

#include <algorithm>

namespace LODE_NAMESPACE::kernels {

constexpr std::uint32_t warp_threads = 32;

/// A row for each block of 256 threads.
inline LaunchShape passes_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {static_cast<std::uint32_t>(problem.x)}, .block = {256}};
}

/// A row for each block; large enough that few rows are read at a time, so that the second pass
/// finds them in the L2 cache.
inline LaunchShape vec16_shape(const Problem& problem, const VariantDeviceProperties&) {
    const auto threads = ceil_div(ceil_div(problem.y, 16), warp_threads) * warp_threads;
    return {.grid = {static_cast<std::uint32_t>(problem.x)},
            .block = {std::clamp(threads, warp_threads, 1024U)}};
}

/// A row for each warp.
inline LaunchShape warps_shape(const Problem& problem, const VariantDeviceProperties&) {
    constexpr std::uint32_t warps = 4;
    return {.grid = {ceil_div(problem.x, warps)}, .block = {warps * warp_threads}};
}

/// A row for each block, as large as the row needs.
template <std::uint32_t columns_per_thread>
LaunchShape registers_shape(const Problem& problem, const VariantDeviceProperties&) {
    const auto warps = ceil_div(problem.y, std::uint64_t{columns_per_thread} * warp_threads);
    return {.grid = {static_cast<std::uint32_t>(problem.x)}, .block = {warps * warp_threads}};
}

/// A row for each cluster of 2, 4 or 8 blocks, with up to 32 columns for each thread. Blocks have
/// up to 512 threads, and only those for more than 131,072 columns more.
inline LaunchShape cluster_shape(const Problem& problem, const VariantDeviceProperties&) {
    constexpr std::uint64_t columns_per_block = std::uint64_t{32} * 512;
    const std::uint32_t blocks = problem.y <= 2 * columns_per_block   ? 2
                                 : problem.y <= 4 * columns_per_block ? 4
                                                                      : 8;
    const auto warps = ceil_div(problem.y, std::uint64_t{32} * warp_threads * blocks);
    return {.grid = {static_cast<std::uint32_t>(problem.x) * blocks},
            .block = {warps * warp_threads},
            .cluster = {blocks}};
}

/// For rows of the table that take 16 bytes at a time; 0 is no limit.
template <std::uint64_t most>
std::optional<std::string> refuses_above(const Problem& problem) {
    if (problem.y % 4 != 0) return text_of(problem.y, " columns aren't a multiple of 4");
    if (most == 0 || problem.y <= most) return std::nullopt;
    return text_of(problem.y, " columns exceed the ", most, " that its registers hold");
}

/// The same for rows that are worse than the next one up to `least` columns.
template <std::uint64_t least, std::uint64_t most>
std::optional<std::string> refuses_outside(const Problem& problem) {
    if (problem.y > least) return refuses_above<most>(problem);
    return text_of(problem.y, " columns don't exceed ", least);
}

template <std::uint64_t columns>
std::optional<std::string> refuses_unless(const Problem& problem) {
    if (problem.y == columns) return std::nullopt;
    return text_of(problem.y, " columns aren't ", columns);
}

}  // namespace LODE_NAMESPACE::kernels
