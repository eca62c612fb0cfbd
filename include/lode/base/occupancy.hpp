/// \file
/// Occupancy without a device: how many blocks of a kernel fit on one multiprocessor.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What one multiprocessor offers to resident blocks, and in which units. A plain value: change
/// members to ask what another device would do.
struct MultiprocessorLimits {
    ComputeCapability cc;              ///< The compute capability.
    int warp_size = 32;                ///< Threads.
    int max_threads_per_block = 1024;  ///< The largest block.
    int threads = 0;                   ///< Resident at once.
    int blocks = 0;                    ///< Resident at once.

    int registers = 65536;               ///< 32-bit registers.
    int registers_per_block = 65536;     ///< The most that one block may use.
    int max_registers_per_thread = 256;  ///< A kernel with more can't run.
    int register_unit = 256;             ///< A warp's registers are rounded up to a multiple.
    int partitions = 4;                  ///< Each has its share of the registers and of the warps.

    std::size_t shared_bytes = 0;                     ///< For all resident blocks together.
    std::size_t shared_bytes_per_block_optin = 0;     ///< The maximum of one block, with opt-in.
    std::size_t reserved_shared_bytes_per_block = 0;  ///< Added to every block by the driver.
    std::size_t shared_unit = 0;                      ///< A block's bytes are rounded up to it.
    /// The sizes in KiB that the part of the L1 cache used as shared memory can have, ascending.
    std::span<const int> carve_outs_kib = {};

    int barriers = 0;  ///< For all resident blocks together; 0 if they limit nothing.
};

/// The limits of a compute capability from 7.5 to 12.1, from a table. On a device, its
/// attributes are authoritative. Errors: unsupported_arch with the capabilities of the table.
[[nodiscard]] Result<MultiprocessorLimits> multiprocessor_limits(ComputeCapability cc);

/// What a launch needs of a multiprocessor.
struct BlockNeeds {
    int threads = 0;                       ///< Per block.
    int registers = 0;                     ///< Per thread.
    std::size_t static_shared_bytes = 0;   ///< Per block.
    std::size_t dynamic_shared_bytes = 0;  ///< Per block.
    int barriers = 0;                      ///< Named barriers per block.
    /// The shared memory that the kernel prefers, in percent of the most that a multiprocessor has;
    /// nullopt for the most. At least one block always fits.
    std::optional<int> carve_out_percent = std::nullopt;

    /// The needs of a compiled kernel in blocks of `threads` threads.
    [[nodiscard]] static BlockNeeds of(const KernelResources& kernel, int threads,
                                       std::size_t dynamic_shared_bytes = 0) noexcept;
};

/// What can keep further blocks from becoming resident.
enum class OccupancyFactor : std::uint8_t {
    warps,          ///< Threads per multiprocessor or per block.
    registers,      ///< Registers per multiprocessor, block or thread.
    shared_memory,  ///< Shared memory per multiprocessor or block.
    blocks,         ///< Blocks per multiprocessor.
    barriers        ///< Named barriers per multiprocessor.
};

/// The number of factors.
inline constexpr std::size_t occupancy_factor_count = 5;

/// The enumerator in words, such as "shared memory".
std::string_view to_string(OccupancyFactor factor) noexcept;

/// Occupancy as computed from limits and needs.
struct OccupancyEstimate {
    int blocks = 0;       ///< Resident at once on one multiprocessor; 0 if none can run.
    int warps = 0;        ///< Resident warps in all these blocks.
    double fraction = 0;  ///< warps over the multiprocessor's maximum, 0 … 1.
    /// How many blocks each factor alone would allow, by OccupancyFactor; INT_MAX for any number.
    std::array<int, occupancy_factor_count> blocks_by_factor{};
    std::size_t shared_bytes_per_block = 0;  ///< After rounding, with the driver's own.
    int registers_per_block = 0;             ///< After rounding.

    /// The factors that allow no more than `blocks`, in the order of the enumeration.
    [[nodiscard]] std::vector<OccupancyFactor> limited_by() const;
};

/// How many blocks fit on one multiprocessor, by the formula of the toolkit's cuda_occupancy.h
/// (Programming Guide 5.2.3.1). Blocks that can't run at all are no error: the estimate is 0, and
/// limited_by() says why. Errors: invalid_argument for no threads, a negative number, or a
/// carve-out outside 0 … 100.
[[nodiscard]] Result<OccupancyEstimate> estimate_occupancy(const MultiprocessorLimits& limits,
                                                           const BlockNeeds& needs);

/// The block size with the most resident warps, a multiple of the warp size; the largest if several
/// have as many. 0 if the kernel can't run. `needs.threads` is ignored. Errors: those of
/// estimate_occupancy().
[[nodiscard]] Result<int> best_block_size(const MultiprocessorLimits& limits, BlockNeeds needs);

}  // namespace LODE_NAMESPACE

LODE_API_END
