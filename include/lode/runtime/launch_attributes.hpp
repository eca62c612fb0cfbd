/// \file
/// Launch attributes beyond those in LaunchShape.
#pragma once

#include <lode/base/api.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Event;

/// How the L2 cache treats an access.
enum class CachePersistence : std::uint8_t {
    normal,     ///< As any other access.
    streaming,  ///< Evicted first.
    persisting  ///< Kept in the part of L2 that is set aside (Limit::persisting_l2).
};

/// A range of device memory whose accesses get a share of the L2 cache of their own (8.0 and newer;
/// CUaccessPolicyWindow).
struct AccessPolicyWindow {
    NativeDevicePointer address = 0;  ///< The first byte; the driver may align it.
    /// At most DeviceProperties::access_policy_window_bytes; 0 is no window.
    std::size_t size_bytes = 0;
    float hit_ratio = 1;  ///< The part of the accesses that are hits, 0 … 1.
    CachePersistence hits = CachePersistence::persisting;   ///< For hits.
    CachePersistence misses = CachePersistence::streaming;  ///< For the others; not persisting.

    /// Compares every member.
    friend bool operator==(const AccessPolicyWindow&, const AccessPolicyWindow&) = default;
};

/// Which clusters a launch may have, whatever the kernel is set to
/// (CUlaunchAttributePortableClusterMode).
enum class ClusterSizeMode : std::uint8_t {
    portable = 1,     ///< Up to 8 blocks, as on every device with clusters.
    non_portable = 2  ///< Up to 16 blocks, if the device has them.
};

/// How much shared memory a launch may take, whatever the kernel is set to (CUsharedMemoryMode).
enum class SharedMemoryMode : std::uint8_t {
    portable = 1,         ///< Up to DeviceProperties::shared_bytes_per_block.
    non_portable = 2,     ///< Up to DeviceProperties::shared_bytes_per_block_optin.
    allow_oversized = 3,  ///< Up to DeviceAttribute::max_oversized_shared_memory_per_block, which
                          ///< leaves 8 KiB of L1 cache (driver for CUDA 13.4).
    prefer_oversized = 4  ///< The same, and L1 is made small where it needn't be.
};

/// Where the blocks of a cluster are put; a hint.
enum class ClusterScheduling : std::uint8_t {
    device_default,  ///< The driver's choice.
    spread,          ///< Spread over the multiprocessors.
    load_balancing   ///< Wherever the load is least.
};

/// The domain in which a kernel's memory fences order its accesses. A kernel in the remote domain
/// doesn't wait for the traffic of kernels in the usual one, and the other way round.
enum class MemorySyncDomain : std::uint8_t {
    usual,  ///< For most kernels.
    remote  ///< For kernels whose traffic leaves the device.
};

/// Which of the device's domains each enumerator of MemorySyncDomain stands for.
struct MemorySyncDomainMap {
    std::uint8_t usual = 0;   ///< Below DeviceProperties::memory_sync_domains.
    std::uint8_t remote = 1;  ///< Below it too.

    /// Compares both members.
    friend bool operator==(const MemorySyncDomainMap&, const MemorySyncDomainMap&) = default;
};

/// Attributes of a launch that few launches need; LaunchShape::attributes points to them. A plain
/// value. A launch checks each against the device and the driver; what is unset isn't passed.
struct LaunchAttributes {
    /// Allows clusters of up to 16 blocks on this device: the kernel may not run with them on
    /// others. The device may still refuse a size: see max_cluster_size().
    bool non_portable_cluster = false;
    /// The clusters that the device forms where it has room, instead of LaunchShape::cluster: a
    /// multiple of it in x and y that divides the grid (driver for CUDA 12.8).
    std::optional<Dim3> preferred_cluster = std::nullopt;
    /// Where the blocks of a cluster are put.
    std::optional<ClusterScheduling> cluster_scheduling = std::nullopt;

    /// Recorded once every block has triggered it (griddepcontrol.launch_dependents) or ended, so
    /// that a programmatic launch can depend on it (9.0 and newer). The event has no timing, and is
    /// of the kernel's device.
    const Event* programmatic_event = nullptr;
    /// Whether the start of a block triggers programmatic_event.
    bool trigger_at_block_start = false;
    /// Recorded once every block has begun; a best effort (driver for CUDA 12.3). The event has no
    /// timing, and is of the kernel's device.
    const Event* launch_completion_event = nullptr;

    /// How the L2 cache treats accesses to a range of memory.
    std::optional<AccessPolicyWindow> access_policy = std::nullopt;
    /// The part of L1 and shared memory that is shared memory, in percent, 0 … 100; a hint (driver
    /// for CUDA 12.5).
    std::optional<int> shared_carveout_percent = std::nullopt;
    /// The domain of the kernel's fences.
    std::optional<MemorySyncDomain> memory_sync_domain = std::nullopt;
    /// The device's domains that `memory_sync_domain` chooses from.
    std::optional<MemorySyncDomainMap> memory_sync_domain_map = std::nullopt;
    /// Whether the driver schedules for the most NVLink traffic; a hint (driver for CUDA 13.0).
    std::optional<bool> nvlink_centric = std::nullopt;
    /// Which clusters the launch may have, in place of `non_portable_cluster` (driver for CUDA
    /// 13.2).
    std::optional<ClusterSizeMode> cluster_size_mode = std::nullopt;
    /// How much shared memory the launch may take (driver for CUDA 13.2). Unset is as much as
    /// SharedMemoryMode::non_portable allows.
    std::optional<SharedMemoryMode> shared_memory_mode = std::nullopt;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
