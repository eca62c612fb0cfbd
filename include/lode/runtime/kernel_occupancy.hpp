/// \file
/// Questions about a kernel on its device: clusters, shared memory, and a shape for n elements.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// How many clusters of a launch fit on the device at once (cuOccupancyMaxActiveClusters); 0 if not
/// even one does. `shape` has the cluster, the block and the shared memory.
/// Errors: those of a launch with this shape.
[[nodiscard]] Result<int> max_active_clusters(const UntypedKernel& kernel,
                                              const LaunchShape& shape);

/// The most blocks per cluster that a launch of this kernel can have
/// (cuOccupancyMaxPotentialClusterSize): more than 8 only with
/// LaunchAttributes::non_portable_cluster. Ignores the shape's own cluster.
/// Errors: not_supported before 9.0; those of a launch with this shape.
[[nodiscard]] Result<int> max_cluster_size(const UntypedKernel& kernel, const LaunchShape& shape);

/// The dynamic shared memory, in bytes, that each block may use if `blocks` of this size are to fit
/// on a multiprocessor (cuOccupancyAvailableDynamicSMemPerBlock). Errors: invalid_argument for zero
/// blocks or threads; out_of_resources if that many don't fit with any amount.
[[nodiscard]] Result<std::size_t> available_dynamic_shared(const UntypedKernel& kernel,
                                                           std::uint32_t blocks,
                                                           std::uint32_t threads_per_block);

/// The dynamic shared memory, in bytes, of a block of this many threads.
using SharedBytesOfBlock = std::function<std::size_t(std::uint32_t threads_per_block)>;

/// A one-dimensional shape whose threads cover `elements`, with the block size that keeps most
/// threads resident. Among equals it is the smallest from 128 on: small blocks wait less for each
/// other. (Best Practices Guide 10.3) Ask once and keep the answer: it takes several driver calls.
/// Errors: out_of_resources if no block size fits with its shared memory.
[[nodiscard]] Result<LaunchShape> suggest_launch(const UntypedKernel& kernel,
                                                 std::uint64_t elements,
                                                 std::size_t dynamic_shared_bytes = 0);
/// The same if the shared memory depends on the block size.
[[nodiscard]] Result<LaunchShape> suggest_launch(const UntypedKernel& kernel,
                                                 std::uint64_t elements,
                                                 const SharedBytesOfBlock& dynamic_shared_bytes);

}  // namespace LODE_NAMESPACE

LODE_API_END
