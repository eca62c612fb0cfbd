#include "emulator/driver/code/function_properties.hpp"

#include "base/align_up.hpp"

#include <algorithm>
#include <optional>

namespace lode::emulator::driver {
namespace {

constexpr int fewest_registers = 16;

constexpr int warps_in(int threads) noexcept {
    return divide_up(threads, warp_size);
}

int bound_threads(const KernelInfo& info) noexcept {
    const Dim3 bounds = info.required_ntid.count() > 0 ? info.required_ntid : info.max_ntid;
    const auto threads = static_cast<int>(std::min<std::uint64_t>(bounds.count(), 1U << 20));
    return threads == 0 ? max_threads_per_block : std::min(threads, max_threads_per_block);
}

/// Registers available per thread in a block of `threads` threads, whose warps are spread over the
/// partitions of a multiprocessor.
int register_budget(int threads) noexcept {
    constexpr int unit = register_granularity / warp_size;
    const int warps = align_up(warps_in(threads), multiprocessor_partitions);
    const int budget = registers_per_block / (warps * warp_size);
    return std::min(budget / unit * unit, max_registers_per_thread);
}

int blocks_by_registers(const KernelInfo& info, int warps) noexcept {
    const int per_warp = align_up(registers_of(info) * warp_size, register_granularity);
    const int per_partition = registers_per_multiprocessor / multiprocessor_partitions / per_warp;
    return per_partition * multiprocessor_partitions / warps;
}

std::size_t shared_per_block(const Profile& profile, const KernelInfo& info,
                             std::size_t dynamic_shared) noexcept {
    const std::size_t bytes = info.static_shared + dynamic_shared +
                              static_cast<std::size_t>(profile.reserved_shared_bytes());
    return align_up(bytes, profile.limits.shared_unit);
}

int blocks_without_shared(const Profile& profile, const KernelInfo& info, int threads) noexcept {
    if (threads <= 0 || threads > max_threads_of(info)) return 0;
    const int warps = warps_in(threads);
    return std::min({blocks_by_registers(info, warps), profile.limits.threads / warp_size / warps,
                     profile.limits.blocks});
}

}  // namespace

int registers_of(const KernelInfo& info) noexcept {
    constexpr int unit = register_granularity / warp_size;
    const int wanted =
        std::clamp(static_cast<int>(std::min<std::uint32_t>(info.registers, 1U << 16)),
                   fewest_registers, max_registers_per_thread);
    // PTX names values, not registers. A register allocator would usually fit the kernel into the
    // budget of the largest allowed block, so no launch is refused because of this estimate.
    return std::min(
        {align_up(wanted, unit), register_budget(bound_threads(info)), max_registers_per_thread});
}

int max_threads_of(const KernelInfo& info) noexcept {
    const int per_warp = align_up(registers_of(info) * warp_size, register_granularity);
    const int by_registers = registers_per_block / per_warp * warp_size;
    return std::min(bound_threads(info), by_registers);
}

int max_dynamic_shared_of(const KernelInfo& info, const FunctionSettings& settings) noexcept {
    const int set = settings.max_dynamic_shared;
    if (set >= 0) return set;
    return std::max(0, shared_bytes_per_block - static_cast<int>(info.static_shared));
}

int blocks_per_multiprocessor(const Profile& profile, const KernelInfo& info,
                              const FunctionSettings& settings, int threads,
                              std::size_t dynamic_shared) noexcept {
    const int others = blocks_without_shared(profile, info, threads);
    if (dynamic_shared > static_cast<std::size_t>(max_dynamic_shared_of(info, settings))) return 0;
    const std::size_t shared = shared_per_block(profile, info, dynamic_shared);
    if (shared == 0) return others;
    return static_cast<int>(
        std::min(static_cast<std::size_t>(others), profile.limits.shared_bytes / shared));
}

bool has_clusters(const Profile& profile) noexcept {
    return profile.cc.cc_major() >= 9;
}

Dim3 cluster_of(const KernelInfo& info, const Dim3& given) noexcept {
    return given.count() != 0 ? given : info.required_cluster;
}

int clusters_at_once(const Profile& profile, const KernelInfo& info,
                     const FunctionSettings& settings, int threads, std::size_t dynamic_shared,
                     int blocks) noexcept {
    constexpr int group = 16;
    const int each = blocks_per_multiprocessor(profile, info, settings, threads, dynamic_shared);
    if (blocks == 1) return each * profile.multiprocessors;
    const int rest = profile.multiprocessors % group;
    return profile.multiprocessors / group * (each * group / blocks) + each * rest / blocks;
}

int largest_cluster(const FunctionSettings& settings) noexcept {
    constexpr int portable = 8;
    constexpr int non_portable = 16;
    return settings.nonportable_cluster != 0 ? non_portable : portable;
}

std::optional<std::size_t> dynamic_shared_for(const Profile& profile, const KernelInfo& info,
                                              const FunctionSettings& settings, int blocks,
                                              int threads) noexcept {
    if (blocks <= 0 || blocks > blocks_without_shared(profile, info, threads)) return std::nullopt;
    const std::size_t unit = profile.limits.shared_unit;
    const std::size_t share =
        profile.limits.shared_bytes / static_cast<std::size_t>(blocks) / unit * unit;
    if (share < info.static_shared) return std::nullopt;
    return std::min(share - info.static_shared,
                    static_cast<std::size_t>(max_dynamic_shared_of(info, settings)));
}

}  // namespace lode::emulator::driver
