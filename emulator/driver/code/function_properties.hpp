// Launch limits and occupancy of functions, shared by attribute queries, launches and occupancy
// calls.
#pragma once

#include "emulator/devices/profiles.hpp"
#include "emulator/driver/code/code.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lode::emulator::driver {

/// Registers per thread: the executor's estimate, rounded up to whole allocation units and limited
/// by the kernel's launch bounds.
int registers_of(const KernelInfo& info) noexcept;

/// The most threads per block, given launch bounds and registers.
int max_threads_of(const KernelInfo& info) noexcept;

/// The most dynamic shared memory that a launch may use with these settings, in bytes.
int max_dynamic_shared_of(const KernelInfo& info, const FunctionSettings& settings) noexcept;

/// Resident blocks per multiprocessor for `threads` threads with `dynamic_shared` bytes; 0 if such
/// a block can't run. Uses the published formula: registers per warp and partition, shared memory
/// per block, warps and blocks per multiprocessor.
int blocks_per_multiprocessor(const Profile& profile, const KernelInfo& info,
                              const FunctionSettings& settings, int threads,
                              std::size_t dynamic_shared) noexcept;

/// Whether the device has clusters of several blocks.
bool has_clusters(const Profile& profile) noexcept;

/// The cluster of a launch: the given one, or the kernel's own, or zeros.
Dim3 cluster_of(const KernelInfo& info, const Dim3& given) noexcept;

/// The clusters of `blocks` blocks each that the device runs at once; 0 if not even one fits. A
/// cluster stays within a group of 16 multiprocessors.
int clusters_at_once(const Profile& profile, const KernelInfo& info,
                     const FunctionSettings& settings, int threads, std::size_t dynamic_shared,
                     int blocks) noexcept;

/// The largest cluster that these settings allow, whether or not it fits.
int largest_cluster(const FunctionSettings& settings) noexcept;

/// What the driver calls the dynamic shared memory available to each of `blocks` resident blocks:
/// it leaves out what it reserves in each block, so that one block fewer may fit, and stays within
/// what the function has opted in to. nullopt if that many blocks don't fit for other reasons.
std::optional<std::size_t> dynamic_shared_for(const Profile& profile, const KernelInfo& info,
                                              const FunctionSettings& settings, int blocks,
                                              int threads) noexcept;

}  // namespace lode::emulator::driver
