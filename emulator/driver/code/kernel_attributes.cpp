#include "emulator/driver/code/kernel_attributes.hpp"

namespace lode::emulator::driver {

bool is_kernel_attribute(CUlaunchAttributeID id) noexcept {
    if (id == launch_attribute_cluster_mode || id == launch_attribute_shared_memory_mode)
        return true;
    switch (id) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
#if CUDA_VERSION >= 13000
        case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
#endif
            return true;
        default:
            return false;
    }
}

std::vector<CUlaunchAttribute> listed(const KernelAttributes& attributes) {
    std::vector<CUlaunchAttribute> list;
    for (const auto& [id, value] : attributes) {
        CUlaunchAttribute& one = list.emplace_back();
        one.id = id;
        one.value = value;
    }
    return list;
}

KernelAttributes captured_attributes(const CUlaunchConfig* config, bool cooperative, int priority) {
    KernelAttributes attributes;
    attributes[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority = priority;
    if (config != nullptr) {
        for (unsigned i = 0; i < config->numAttrs; ++i) {
            const CUlaunchAttribute& one = config->attrs[i];
            if (is_kernel_attribute(one.id)) attributes[one.id] = one.value;
        }
    }
    if (cooperative) attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
    return attributes;
}

}  // namespace lode::emulator::driver
