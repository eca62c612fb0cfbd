// A kernel of a loaded image. Fields read on every launch come first.
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

/// The largest extents of a launch of this kernel.
struct LaunchLimits {
    Dim3 grid;
    Dim3 block;
    std::uint32_t threads = 0;  ///< Per block, after registers and launch bounds.

    /// Whether every extent is from 1 to its limit (0 wraps around and fails), and the block's
    /// volume within its own limit. The product can't overflow once the extents fit.
    [[nodiscard]] bool fit(const Dim3& g, const Dim3& b) const noexcept {
        return g.x - 1 < grid.x && g.y - 1 < grid.y && g.z - 1 < grid.z && b.x - 1 < block.x &&
               b.y - 1 < block.y && b.z - 1 < block.z && b.x * b.y * b.z <= threads;
    }
};

struct KernelState {
    // Read by every launch.
    PFN_cuLaunchKernel_v4000 launch = nullptr;
    CUfunction function = nullptr;  ///< `handle` in the device's context: faster to launch.
    DeviceState* device = nullptr;  ///< Kept by `library`. Null for an empty kernel.
    const std::string* breadcrumb = nullptr;  ///< `name`, interned in the device.
    LaunchLimits limits;
    /// Dynamic shared memory, in bytes, that needs no further opt-in.
    mutable std::atomic<std::uint32_t> shared_ready{0};

    // Read when kernels are created and when launches fail.
    CUkernel handle = nullptr;
    std::shared_ptr<const LibraryState> library;
    std::string name;
    std::string symbol;
    KernelAttributes attributes;
    std::vector<ParameterSlot> parameters;
    bool parameters_known = false;
    mutable std::mutex opt_in_mutex;
    mutable bool large_clusters_ready = false;  ///< Guarded by opt_in_mutex.
    /// The last result of resident_blocks(): threads << 48 | blocks per SM << 32 | shared bytes.
    mutable std::atomic<std::uint64_t> residency_memo{0};
};

/// Finds a kernel by name expression or symbol and reads everything that launches need.
[[nodiscard]] Result<std::shared_ptr<const KernelState>> find_kernel(
    std::shared_ptr<const LibraryState> library, std::string_view name);

/// Raises the kernel's limit of dynamic shared memory to at least `bytes`.
[[nodiscard]] Status opt_in_to_shared(const KernelState& kernel, std::uint32_t bytes);

/// The number of blocks of this size that fit on one multiprocessor at once.
[[nodiscard]] Result<int> resident_blocks(const KernelState& kernel, std::uint32_t threads,
                                          std::uint32_t dynamic_shared_bytes);

/// "`what` (9) exceeds the limit of `whose` (8), `why`."
[[nodiscard]] tl::unexpected<Error> exceeds_limit(const std::string& what, std::uint64_t value,
                                                  const std::string& whose, std::uint64_t limit,
                                                  std::string_view why = {});

/// Success if a shape is within every limit of the device and the kernel; else the error names the
/// exceeded limit, with value and limit. Ignores the shape's attributes.
[[nodiscard]] Status check_limits(const KernelState& kernel, const LaunchShape& shape);

/// Success if the device supports what the shape's attributes ask for: cluster, programmatic
/// launch, a cooperative grid that fits at once, and the further attributes; opts in to clusters
/// that aren't portable. The shape must be within the limits.
[[nodiscard]] Status check_features(const KernelState& kernel, const LaunchShape& shape);

/// Launches with the driver's "extra" list instead of pointers to arguments (cuLaunchKernel);
/// `packed` is null if there are no arguments.
[[nodiscard]] Status launch_packed(const KernelState& kernel, StreamRef stream,
                                   const LaunchShape& shape, void** packed);

}  // namespace lode::detail
