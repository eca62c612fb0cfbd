#include "runtime/launch_attributes.hpp"

#include "base/cuda_additions.hpp"
#include "runtime/state/empty.hpp"

#include <lode/jit/target.hpp>
#include <lode/runtime/device_attributes.hpp>
#include <lode/runtime/stream.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

constexpr ComputeCapability clusters_since{9, 0};
constexpr std::uint64_t portable_cluster_blocks = 8;
constexpr std::uint64_t largest_cluster_blocks = 16;
constexpr int whole_percent = 100;

CUaccessProperty native_property(CachePersistence persistence) noexcept {
    switch (persistence) {
        case CachePersistence::streaming:
            return CU_ACCESS_PROPERTY_STREAMING;
        case CachePersistence::persisting:
            return CU_ACCESS_PROPERTY_PERSISTING;
        default:
            return CU_ACCESS_PROPERTY_NORMAL;
    }
}

CUclusterSchedulingPolicy native_scheduling(ClusterScheduling scheduling) noexcept {
    switch (scheduling) {
        case ClusterScheduling::spread:
            return CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
        case ClusterScheduling::load_balancing:
            return CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
        default:
            return CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
    }
}

Status check_capability(const DeviceState& device, std::string_view what) {
    if (device.properties.cc >= clusters_since) return success();
    return fail(Errc::not_supported,
                fmt::format("{} needs compute capability {}; this is {}.", what,
                            clusters_since.to_string(), device.describe()));
}

/// Whether `part` divides `whole` in every extent.
bool divides(const Dim3& part, const Dim3& whole) noexcept {
    return part.volume() != 0 && whole.x % part.x == 0 && whole.y % part.y == 0 &&
           whole.z % part.z == 0;
}

Status check_preferred_cluster(const KernelState& kernel, const LaunchShape& shape) {
    const Dim3& preferred = *shape.attributes->preferred_cluster;
    LODE_TRY(kernel.device->driver->require_version(12080, "A preferred cluster"));
    LODE_TRY(check_capability(*kernel.device, "A preferred cluster"));
    if (!divides(shape.cluster, preferred) || preferred.z != shape.cluster.z) {
        return fail(Errc::invalid_argument,
                    fmt::format("The preferred cluster {} isn't a multiple of the cluster {} in x "
                                "and y, and equal to it in z.",
                                preferred.to_string(), shape.cluster.to_string()));
    }
    if (divides(preferred, shape.grid)) return success();
    return fail(Errc::invalid_argument,
                fmt::format("Grid {} isn't a multiple of the preferred cluster {} in every extent.",
                            shape.grid.to_string(), preferred.to_string()));
}

Status check_event(const DeviceState& device, const Event& event, std::string_view what) {
    if (!event) return fail_empty(what);
    if (event.owner() != &device) {
        return fail(Errc::invalid_argument,
                    fmt::format("The {} belongs to {}, but the kernel is loaded on {}.", what,
                                event.owner()->describe(), device.describe()));
    }
    if (!event.has_timing()) return success();
    return fail(Errc::invalid_argument,
                fmt::format("The {} records times, which a launch attribute can't. Create it with "
                            "EventOptions{{.timing = false}}.",
                            what));
}

Status check_events(const DeviceState& device, const LaunchAttributes& attributes) {
    if (attributes.programmatic_event != nullptr) {
        LODE_TRY(check_capability(device, "A programmatic event"));
        LODE_TRY(check_event(device, *attributes.programmatic_event, "programmatic event"));
    }
    if (attributes.launch_completion_event == nullptr) return success();
    LODE_TRY(device.driver->require_version(12030, "A launch completion event"));
    return check_event(device, *attributes.launch_completion_event, "launch completion event");
}

}  // namespace

CUaccessPolicyWindow native_window(const AccessPolicyWindow& window) noexcept {
    CUaccessPolicyWindow native{};
    native.base_ptr = reinterpret_cast<void*>(window.address);
    native.num_bytes = window.size_bytes;
    native.hitRatio = window.hit_ratio;
    native.hitProp = native_property(window.hits);
    native.missProp = native_property(window.misses);
    return native;
}

CUlaunchMemSyncDomain native_domain(MemorySyncDomain domain) noexcept {
    return domain == MemorySyncDomain::remote ? CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
                                              : CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
}

CUlaunchMemSyncDomainMap native_domain_map(const MemorySyncDomainMap& map) noexcept {
    return {map.usual, map.remote};
}

namespace {

/// Sets a value that is an enumerator of a newer cuda.h.
template <class Mode>
void set_mode(CUlaunchAttributeValue& value, Mode mode) noexcept {
    const auto number = static_cast<unsigned>(mode);
    std::memcpy(static_cast<void*>(&value), &number, sizeof(number));
}

}  // namespace

void DriverAttributes::add_further(const LaunchAttributes& from) noexcept {
    if (from.preferred_cluster) {
        auto& cluster = add(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).preferredClusterDim;
        cluster.x = from.preferred_cluster->x;
        cluster.y = from.preferred_cluster->y;
        cluster.z = from.preferred_cluster->z;
    }
    if (from.cluster_scheduling) {
        add(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
            .clusterSchedulingPolicyPreference = native_scheduling(*from.cluster_scheduling);
    }
    if (from.programmatic_event != nullptr) {
        auto& event = add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT).programmaticEvent;
        event.event = from.programmatic_event->native();
        event.triggerAtBlockStart = from.trigger_at_block_start ? 1 : 0;
    }
    if (from.launch_completion_event != nullptr) {
        add(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT).launchCompletionEvent.event =
            from.launch_completion_event->native();
    }
    if (from.access_policy) {
        add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow =
            native_window(*from.access_policy);
    }
    if (from.shared_carveout_percent) {
        add(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout =
            static_cast<unsigned>(*from.shared_carveout_percent);
    }
    if (from.memory_sync_domain) {
        add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain =
            native_domain(*from.memory_sync_domain);
    }
    if (from.memory_sync_domain_map) {
        add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap =
            native_domain_map(*from.memory_sync_domain_map);
    }
    if (from.nvlink_centric) {
        add(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING).nvlinkUtilCentricScheduling =
            *from.nvlink_centric ? 1 : 0;
    }
    if (from.cluster_size_mode)
        set_mode(add(launch_attribute_cluster_mode), *from.cluster_size_mode);
    if (from.shared_memory_mode)
        set_mode(add(launch_attribute_shared_memory_mode), *from.shared_memory_mode);
}

Status check_cluster(const KernelState& kernel, const LaunchShape& shape) {
    const Dim3& cluster = shape.cluster;
    const auto& device = *kernel.device;
    if (!device.properties.cluster_launch) {
        return fail(
            Errc::not_supported,
            fmt::format("A cluster {} needs compute capability {}; this is {}.",
                        cluster.to_string(), clusters_since.to_string(), device.describe()));
    }
    if (!divides(cluster, shape.grid)) {
        return fail(Errc::invalid_argument,
                    fmt::format("Grid {} isn't a multiple of the cluster {} in every extent.",
                                shape.grid.to_string(), cluster.to_string()));
    }
    const auto mode =
        shape.attributes == nullptr ? std::nullopt : shape.attributes->cluster_size_mode;
    const bool non_portable =
        mode ? *mode == ClusterSizeMode::non_portable
             : shape.attributes != nullptr && shape.attributes->non_portable_cluster;
    if (cluster.volume() > largest_cluster_blocks) {
        return exceeds_limit("Blocks per cluster", cluster.volume(), device.describe(),
                             largest_cluster_blocks);
    }
    if (cluster.volume() > portable_cluster_blocks && !non_portable) {
        return exceeds_limit("Blocks per cluster", cluster.volume(), "clusters on every device",
                             portable_cluster_blocks,
                             mode ? "beyond which ClusterSizeMode::portable doesn't go"
                                  : "beyond which LaunchAttributes::non_portable_cluster must be "
                                    "set");
    }
    if (cluster.volume() <= portable_cluster_blocks || mode) return success();
    return opt_in_to_large_clusters(kernel);
}

Status check_window(const DeviceState& device, const AccessPolicyWindow& window) {
    const auto most = device.properties.access_policy_window_bytes;
    if (window.size_bytes > most) {
        return exceeds_limit("The size of the access-policy window", window.size_bytes,
                             device.describe(), most);
    }
    if (!(window.hit_ratio >= 0 && window.hit_ratio <= 1)) {
        return fail(Errc::invalid_argument,
                    fmt::format("The hit ratio {} of the access-policy window isn't from 0 to 1.",
                                window.hit_ratio));
    }
    if (window.misses != CachePersistence::persisting) return success();
    return fail(Errc::invalid_argument,
                "The misses of an access-policy window can be normal or streaming, not "
                "persisting.");
}

Status check_domain_map(const DeviceState& device, const MemorySyncDomainMap& map) {
    const int domains = device.properties.memory_sync_domains;
    if (std::max(map.usual, map.remote) < domains) return success();
    return fail(Errc::invalid_argument,
                fmt::format("The memory sync domains {} and {} aren't both below {}, the number "
                            "of domains of {}.",
                            map.usual, map.remote, domains, device.describe()));
}

namespace {

/// The modes of clusters and of shared memory.
Status check_modes(const KernelState& kernel, const LaunchShape& shape) {
    const LaunchAttributes& attributes = *shape.attributes;
    const DeviceState& device = *kernel.device;
    if (attributes.cluster_size_mode)
        LODE_TRY(device.driver->require_version(13020, "LaunchAttributes::cluster_size_mode"));
    if (!attributes.shared_memory_mode) return success();
    const bool oversized = *attributes.shared_memory_mode > SharedMemoryMode::non_portable;
    LODE_TRY(device.driver->require_version(
        oversized ? 13040 : 13020,
        oversized ? "Oversized shared memory" : "LaunchAttributes::shared_memory_mode"));
    return check_shared(kernel, shape);
}

}  // namespace

std::size_t most_dynamic_shared(const KernelState& kernel, const LaunchShape& shape) {
    if (!has_shared_memory_mode(shape)) return kernel.attributes.max_dynamic_shared_bytes;
    const DeviceProperties& device = kernel.device->properties;
    std::size_t most = device.shared_bytes_per_block_optin;
    switch (*shape.attributes->shared_memory_mode) {
        case SharedMemoryMode::portable:
            most = device.shared_bytes_per_block;
            break;
        case SharedMemoryMode::non_portable:
            break;
        default: {
            const auto oversized =
                read_attribute(*kernel.device->driver, kernel.device->device,
                               static_cast<CUdevice_attribute>(
                                   DeviceAttribute::max_oversized_shared_memory_per_block));
            if (oversized) most = std::max(most, static_cast<std::size_t>(*oversized));
        }
    }
    return most - std::min(most, kernel.attributes.static_shared_bytes);
}

Status check_further_attributes(const KernelState& kernel, const LaunchShape& shape) {
    const LaunchAttributes& attributes = *shape.attributes;
    const DeviceState& device = *kernel.device;
    if (attributes.preferred_cluster) LODE_TRY(check_preferred_cluster(kernel, shape));
    if (attributes.cluster_scheduling) LODE_TRY(check_capability(device, "Cluster scheduling"));
    LODE_TRY(check_events(device, attributes));
    if (attributes.access_policy) LODE_TRY(check_window(device, *attributes.access_policy));
    if (const auto percent = attributes.shared_carveout_percent) {
        LODE_TRY(device.driver->require_version(12050, "A launch's shared-memory carve-out"));
        if (*percent < 0 || *percent > whole_percent) {
            return fail(Errc::invalid_argument,
                        fmt::format("The shared-memory carve-out of {} percent isn't from 0 to {}.",
                                    *percent, whole_percent));
        }
    }
    if (attributes.memory_sync_domain_map)
        LODE_TRY(check_domain_map(device, *attributes.memory_sync_domain_map));
    if (attributes.nvlink_centric)
        LODE_TRY(device.driver->require_version(13000, "NVLink-centric scheduling"));
    return check_modes(kernel, shape);
}

Status opt_in_to_large_clusters(const KernelState& kernel) {
    const std::lock_guard guard(kernel.opt_in_mutex);
    if (kernel.large_clusters_ready) return success();
    DeviceState& device = *kernel.device;
    LODE_TRY(device.call(device.table().cuKernelSetAttribute,
                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel.handle,
                         device.device));
    kernel.large_clusters_ready = true;
    return success();
}

}  // namespace LODE_NAMESPACE::detail
