// A kernel of a loaded image.
#pragma once

#include "runtime/state/library_state.hpp"

#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch_path.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::detail {

struct KernelState : LaunchableKernel {
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

/// "`what` (9) exceeds 8, the limit of `whose`, `why`."
[[nodiscard]] tl::unexpected<Error> exceeds_limit(const std::string& what, std::uint64_t value,
                                                  const std::string& whose, std::uint64_t limit,
                                                  std::string_view why = {});

/// Success if a shape is within every limit of the device and the kernel; else the error names the
/// exceeded limit, with value and limit. Ignores the shape's attributes.
[[nodiscard]] Status check_limits(const KernelState& kernel, const LaunchShape& shape);

/// Success if the shape's shared memory is within the limit of its attributes.
[[nodiscard]] Status check_shared(const KernelState& kernel, const LaunchShape& shape);

/// Success if the device supports what the shape's attributes ask for: cluster, programmatic
/// launch, a cooperative grid that fits at once, and the further attributes; opts in to clusters
/// that aren't portable. The shape must be within the limits.
[[nodiscard]] Status check_features(const KernelState& kernel, const LaunchShape& shape);

}  // namespace LODE_NAMESPACE::detail
