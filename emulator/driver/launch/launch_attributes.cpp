#include "emulator/driver/launch/launch_attributes.hpp"

#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/version.hpp"

#include <cstring>

namespace lode::emulator::driver {
namespace {

constexpr unsigned most_carveout_percent = 100;
constexpr int memory_sync_domains = 1;  // The device attribute MEM_SYNC_DOMAIN_COUNT.

/// The values of one launch that are checked against each other; zeros if there is none.
struct Clusters {
    Dim3 regular{0, 0, 0};
    Dim3 preferred{0, 0, 0};
    bool has_regular = false, has_preferred = false;
};

/// Whether `small` divides `large` in every extent.
bool divides(const Dim3& small, const Dim3& large) noexcept {
    return small.x != 0 && small.y != 0 && small.z != 0 && large.x % small.x == 0 &&
           large.y % small.y == 0 && large.z % small.z == 0;
}

bool is_valid_window(const Device& device, const CUaccessPolicyWindow& window) noexcept {
    const bool properties = window.hitProp >= CU_ACCESS_PROPERTY_NORMAL &&
                            window.hitProp <= CU_ACCESS_PROPERTY_PERSISTING &&
                            window.missProp >= CU_ACCESS_PROPERTY_NORMAL &&
                            window.missProp <= CU_ACCESS_PROPERTY_STREAMING;
    return properties && window.hitRatio >= 0 && window.hitRatio <= 1 &&
           window.num_bytes <= device.profile.access_policy_window_bytes();
}

/// An event in an attribute is recorded without its time.
CUresult read_event(CUevent handle, int flags, const Context& context,
                    std::vector<std::shared_ptr<Event>>& events) {
    const auto event = driver().events.find(handle);
    if (event == nullptr || &event->context() != &context) return CUDA_ERROR_INVALID_HANDLE;
    if (flags != CU_EVENT_RECORD_DEFAULT || (event->flags() & CU_EVENT_DISABLE_TIMING) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    events.push_back(event);
    return CUDA_SUCCESS;
}

CUresult check_carveout(unsigned percent) noexcept {
    const bool is_default = percent == static_cast<unsigned>(CU_SHAREDMEM_CARVEOUT_DEFAULT);
    return percent <= most_carveout_percent || is_default ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_scheduling(CUclusterSchedulingPolicy policy) noexcept {
    return policy >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
                   policy <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/// An attribute whose value is an enumerator that older headers of CUDA lack: up to `last` in the
/// reported driver, or none if it doesn't know the attribute.
CUresult read_mode(const CUlaunchAttributeValue& value, unsigned last, unsigned& mode) noexcept {
    constexpr int first_with_modes = 13020;
    std::memcpy(&mode, &value, sizeof(mode));
    return reported_version() >= first_with_modes && mode <= last ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
}

/// The last CUsharedMemoryMode.
unsigned last_shared_memory_mode() noexcept {
    constexpr int first_with_oversized = 13040;
    return reported_version() >= first_with_oversized ? 4 : 2;
}

CUresult read_one(const CUlaunchAttribute& attribute, const Context& context, Clusters& clusters,
                  LaunchAttributes& to) {
    const auto& value = attribute.value;
    if (attribute.id == launch_attribute_cluster_mode) return read_mode(value, 2, to.cluster_mode);
    if (attribute.id == launch_attribute_shared_memory_mode)
        return read_mode(value, last_shared_memory_mode(), to.shared_memory_mode);
    switch (attribute.id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            to.cooperative = value.cooperative != 0;
            return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            clusters.regular = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
            // Three zeros mean no cluster.
            clusters.has_regular = !(clusters.regular == Dim3{0, 0, 0});
            return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
            clusters.preferred = {value.preferredClusterDim.x, value.preferredClusterDim.y,
                                  value.preferredClusterDim.z};
            clusters.has_preferred = true;
            return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            return check_scheduling(value.clusterSchedulingPolicyPreference);
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            return read_event(value.programmaticEvent.event, value.programmaticEvent.flags, context,
                              to.events);
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            return read_event(value.launchCompletionEvent.event, value.launchCompletionEvent.flags,
                              context, to.events);
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            return check_carveout(value.sharedMemCarveout);
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
            if (value.deviceUpdatableKernelNode.deviceUpdatable == 0) return CUDA_SUCCESS;
            return gate::refuse("kernel nodes that kernels update");
        default:
            return check_stream_attribute(context.device(), attribute.id, value);
    }
}

/// Clusters divide the grid. A preferred one is a multiple of the regular one. The device is free
/// to use the regular clusters, and this one does.
CUresult check_clusters(const CUlaunchConfig& config, const Clusters& clusters) {
    const Dim3 grid{config.gridDimX, config.gridDimY, config.gridDimZ};
    if (clusters.has_regular && !divides(clusters.regular, grid))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!clusters.has_preferred) return CUDA_SUCCESS;
    const Dim3 regular = clusters.has_regular ? clusters.regular : Dim3{1, 1, 1};
    if (!divides(regular, clusters.preferred) || !divides(clusters.preferred, grid))
        return CUDA_ERROR_INVALID_VALUE;
    return clusters.preferred.z == regular.z ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult read_launch_attributes(const CUlaunchConfig& config, const Context& context,
                                LaunchAttributes& attributes) {
    if (config.numAttrs > 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Clusters clusters;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        if (const CUresult state = read_one(config.attrs[i], context, clusters, attributes);
            state != CUDA_SUCCESS)
            return state;
    }
    attributes.cluster = clusters.regular;
    if (clusters.regular.count() > 1 && !has_clusters(context.device().profile))
        return gate::refuse("launches with clusters on a device before sm_90");
    return check_clusters(config, clusters);
}

CUresult check_stream_attribute(const Device& device, CUlaunchAttributeID id,
                                const CUlaunchAttributeValue& value) {
    const auto valid_if = [](bool is_valid) {
        return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    switch (id) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
            return valid_if(is_valid_window(device, value.accessPolicyWindow));
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
            return valid_if(value.syncPolicy >= CU_SYNC_POLICY_AUTO &&
                            value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC);
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
            return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
            return valid_if(value.memSyncDomainMap.default_ < memory_sync_domains &&
                            value.memSyncDomainMap.remote < memory_sync_domains);
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
            return valid_if(value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
                            value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
#if CUDA_VERSION >= 13000
        case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
            return valid_if(value.nvlinkUtilCentricScheduling <= 1);
#endif
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace lode::emulator::driver
