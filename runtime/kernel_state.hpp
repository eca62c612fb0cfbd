// A kernel of a loaded image: what a launch reads first, everything else behind it.
#pragma once

#include "runtime/library_state.hpp"

#include <lode/runtime/kernel.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lode::detail {

/// The extents that a launch of this kernel may have.
struct LaunchLimits {
    Dim3 grid;
    Dim3 block;
    std::uint32_t threads = 0;  ///< Per block, after registers and launch bounds.

    /// Every extent is from 1 to its limit, and the block's volume is within its own. Written
    /// without branches: an extent of 0 wraps around and doesn't fit.
    [[nodiscard]] bool fit(const Dim3& g, const Dim3& b) const noexcept {
        const bool grid_fits = bool(unsigned(g.x - 1 < grid.x) & unsigned(g.y - 1 < grid.y) &
                                    unsigned(g.z - 1 < grid.z));
        const bool block_fits =
            bool(unsigned(b.x - 1 < block.x) & unsigned(b.y - 1 < block.y) &
                 unsigned(b.z - 1 < block.z) & unsigned(b.x * b.y * b.z <= threads));
        return bool(unsigned(grid_fits) & unsigned(block_fits));
    }
};

struct KernelState {
    // Read by every launch.
    PFN_cuLaunchKernel_v4000 launch = nullptr;
    CUkernel handle = nullptr;
    DeviceState* device = nullptr;            ///< Kept by `library`.
    const std::string* breadcrumb = nullptr;  ///< `name`, interned in the device.
    LaunchLimits limits;
    /// Dynamic shared memory that needs no (further) opt-in, in bytes.
    mutable std::atomic<std::uint32_t> shared_ready{0};

    // Read when kernels are made and when launches fail.
    std::shared_ptr<const LibraryState> library;
    std::string name;
    std::string symbol;
    KernelAttributes attributes;
    std::vector<ParameterSlot> parameters;
    bool parameters_known = false;
    mutable std::mutex opt_in_mutex;
    /// The last answer about resident blocks: threads << 48 | blocks per SM << 32 | shared bytes.
    mutable std::atomic<std::uint64_t> residency_memo{0};
};

/// Finds a kernel by name expression or symbol and reads all that launches need.
[[nodiscard]] Result<std::shared_ptr<const KernelState>> find_kernel(
    std::shared_ptr<const LibraryState> library, std::string_view name);

/// Raises the kernel's dynamic shared memory limit to `bytes` if that isn't done yet.
[[nodiscard]] Status opt_in_to_shared(const KernelState& kernel, std::uint32_t bytes);

/// Blocks of this size that fit on one multiprocessor at once.
[[nodiscard]] Result<int> resident_blocks(const KernelState& kernel, std::uint32_t threads,
                                          std::uint32_t dynamic_shared_bytes);

/// Which limit a shape breaks: the sentence for each, with value and limit. Success if none.
[[nodiscard]] Status explain_shape(const KernelState& kernel, const LaunchShape& shape);

/// Whether a cooperative grid fits on the device at once.
[[nodiscard]] Status check_residency(const KernelState& kernel, const LaunchShape& shape);

}  // namespace lode::detail
