#include "base/align_up.hpp"
#include "base/try.hpp"

#include <lode/base/occupancy.hpp>

#include <algorithm>
#include <climits>
#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::size_t kib = 1024;
constexpr int percent = 100;
/// The first major number at which the driver reserves shared memory in every block.
constexpr int first_major_with_reserve = 8;

constexpr int carve_outs_64[] = {32, 64};
constexpr int carve_outs_100[] = {0, 8, 16, 32, 64, 100};
constexpr int carve_outs_164[] = {0, 8, 16, 32, 64, 100, 132, 164};
constexpr int carve_outs_228[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

MultiprocessorLimits limits_row(ComputeCapability cc, int threads, int blocks, std::size_t shared,
                                std::size_t optin, std::size_t unit,
                                std::span<const int> carve_outs, int barriers) {
    MultiprocessorLimits limits;
    limits.cc = cc;
    limits.threads = threads;
    limits.blocks = blocks;
    limits.shared_bytes = shared * kib;
    limits.shared_bytes_per_block_optin = optin * kib;
    limits.reserved_shared_bytes_per_block = cc.cc_major() >= first_major_with_reserve ? kib : 0;
    limits.shared_unit = unit;
    limits.carve_outs_kib = carve_outs;
    limits.barriers = barriers;
    return limits;
}

Status check_limits(const MultiprocessorLimits& limits) {
    const bool positive = limits.warp_size > 0 && limits.max_threads_per_block > 0 &&
                          limits.threads >= limits.warp_size && limits.blocks > 0 &&
                          limits.registers > 0 && limits.register_unit > 0 &&
                          limits.partitions > 0 && limits.shared_unit > 0;
    if (positive) return {};
    return fail(Errc::invalid_argument,
                "The limits of a multiprocessor must be positive; multiprocessor_limits() returns "
                "those of a compute capability.");
}

Status check_needs(const BlockNeeds& needs) {
    if (needs.threads <= 0) {
        return fail(
            Errc::invalid_argument,
            fmt::format("A block of {} threads is too small; it has at least 1.", needs.threads));
    }
    if (needs.registers < 0 || needs.barriers < 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("A kernel can't use {} registers and {} barriers; neither number "
                                "is negative.",
                                needs.registers, needs.barriers));
    }
    const int carve_out = needs.carve_out_percent.value_or(0);
    if (carve_out < 0 || carve_out > percent) {
        return fail(Errc::invalid_argument,
                    fmt::format("A carve-out of {} percent is outside the range from 0 to 100.",
                                carve_out));
    }
    return {};
}

int blocks_by_warps(const MultiprocessorLimits& limits, int threads, int warps) {
    if (threads > limits.max_threads_per_block) return 0;
    return limits.threads / limits.warp_size / warps;
}

/// Each warp's registers come from one partition. The hardware checks a block's registers as if
/// its warps were spread evenly over all partitions.
int blocks_by_registers(const MultiprocessorLimits& limits, int registers, int warps,
                        int per_warp) {
    const int checked = per_warp * align_up(warps, limits.partitions);
    if (checked > limits.registers_per_block || registers > limits.max_registers_per_thread)
        return 0;
    if (per_warp == 0) return INT_MAX;
    return limits.registers / limits.partitions / per_warp * limits.partitions / warps;
}

/// The smallest carve-out of at least `bytes`.
std::size_t carve_out_for(const MultiprocessorLimits& limits, std::size_t bytes) {
    for (const int size : limits.carve_outs_kib) {
        if (bytes <= static_cast<std::size_t>(size) * kib)
            return static_cast<std::size_t>(size) * kib;
    }
    return limits.shared_bytes;
}

int blocks_by_shared(const MultiprocessorLimits& limits, const BlockNeeds& needs,
                     std::size_t per_block) {
    if (per_block > limits.shared_bytes_per_block_optin + limits.reserved_shared_bytes_per_block)
        return 0;
    if (per_block == 0) return INT_MAX;
    const auto preferred = static_cast<std::size_t>(needs.carve_out_percent.value_or(percent)) *
                           limits.shared_bytes / percent;
    std::size_t available = carve_out_for(limits, preferred);
    if (available < per_block) available = carve_out_for(limits, per_block);
    return static_cast<int>(available / per_block);
}

/// Rounded up to the unit; the largest number if a sum overflows.
std::size_t shared_per_block(const MultiprocessorLimits& limits, const BlockNeeds& needs) {
    const std::size_t most = limits.shared_bytes + limits.shared_unit;
    if (needs.static_shared_bytes > most || needs.dynamic_shared_bytes > most) return SIZE_MAX;
    return align_up(needs.static_shared_bytes + needs.dynamic_shared_bytes +
                        limits.reserved_shared_bytes_per_block,
                    limits.shared_unit);
}

}  // namespace

Result<MultiprocessorLimits> multiprocessor_limits(ComputeCapability cc) {
    std::string known;
#define LODE_MULTIPROCESSOR(cc_major, cc_minor, ...)                                     \
    if (cc == ComputeCapability(cc_major, cc_minor)) return limits_row(cc, __VA_ARGS__); \
    known += fmt::format("{}{}.{}", known.empty() ? "" : ", ", cc_major, cc_minor);
#include "base/architectures.def"
    return fail(Errc::unsupported_arch,
                fmt::format("The limits of a multiprocessor of compute capability {} aren't known; "
                            "the table has {}.",
                            cc.to_string(), known));
}

BlockNeeds BlockNeeds::of(const KernelResources& kernel, int threads,
                          std::size_t dynamic_shared_bytes) noexcept {
    return {.threads = threads,
            .registers = kernel.registers,
            .static_shared_bytes = kernel.shared_bytes,
            .dynamic_shared_bytes = dynamic_shared_bytes,
            .barriers = kernel.barriers};
}

std::string_view to_string(OccupancyFactor factor) noexcept {
    switch (factor) {
        case OccupancyFactor::warps:
            return "warps";
        case OccupancyFactor::registers:
            return "registers";
        case OccupancyFactor::shared_memory:
            return "shared memory";
        case OccupancyFactor::blocks:
            return "blocks";
        case OccupancyFactor::barriers:
            return "barriers";
    }
    return "unknown";
}

std::vector<OccupancyFactor> OccupancyEstimate::limited_by() const {
    std::vector<OccupancyFactor> factors;
    for (std::size_t i = 0; i < blocks_by_factor.size(); ++i) {
        if (blocks_by_factor[i] == blocks) factors.push_back(static_cast<OccupancyFactor>(i));
    }
    return factors;
}

Result<OccupancyEstimate> estimate_occupancy(const MultiprocessorLimits& limits,
                                             const BlockNeeds& needs) {
    LODE_TRY(check_limits(limits));
    LODE_TRY(check_needs(needs));
    const int warps = divide_up(needs.threads, limits.warp_size);
    // More registers than any device has can't run; the bound keeps the products below in an int.
    const int registers = std::min(needs.registers, limits.max_registers_per_thread + 1);
    const int per_warp = align_up(registers * limits.warp_size, limits.register_unit);

    OccupancyEstimate estimate;
    estimate.shared_bytes_per_block = shared_per_block(limits, needs);
    const auto allow = [&](OccupancyFactor factor, int blocks) {
        estimate.blocks_by_factor[static_cast<std::size_t>(factor)] = blocks;
    };
    allow(OccupancyFactor::warps, blocks_by_warps(limits, needs.threads, warps));
    if (needs.threads <= limits.max_threads_per_block) {
        estimate.registers_per_block = per_warp * warps;
        allow(OccupancyFactor::registers, blocks_by_registers(limits, registers, warps, per_warp));
    } else {  // No block is that large, whatever its registers.
        allow(OccupancyFactor::registers, INT_MAX);
    }
    allow(OccupancyFactor::shared_memory,
          blocks_by_shared(limits, needs, estimate.shared_bytes_per_block));
    allow(OccupancyFactor::blocks, limits.blocks);
    const bool barriers_count = limits.barriers > 0 && needs.barriers > 0;
    allow(OccupancyFactor::barriers, barriers_count ? limits.barriers / needs.barriers : INT_MAX);

    estimate.blocks = *std::ranges::min_element(estimate.blocks_by_factor);
    estimate.warps = estimate.blocks * warps;
    const int most_warps = limits.threads / limits.warp_size;
    estimate.fraction = static_cast<double>(estimate.warps) / most_warps;
    return estimate;
}

Result<int> best_block_size(const MultiprocessorLimits& limits, BlockNeeds needs) {
    int best = 0;
    int most_warps = 0;
    for (int threads = limits.warp_size; threads > 0 && threads <= limits.max_threads_per_block;
         threads += limits.warp_size) {
        needs.threads = threads;
        LODE_TRY_ASSIGN(const OccupancyEstimate estimate, estimate_occupancy(limits, needs));
        if (estimate.warps < most_warps || estimate.warps == 0) continue;
        most_warps = estimate.warps;
        best = threads;
    }
    return best;
}

}  // namespace LODE_NAMESPACE
