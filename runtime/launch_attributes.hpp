// The driver's form of a launch: its configuration with all attributes. Allocates nothing.
#pragma once

#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/launch_attributes.hpp>

#include <array>
#include <cstdint>

namespace LODE_NAMESPACE::detail {

/// The driver's form of each value.
[[nodiscard]] CUaccessPolicyWindow native_window(const AccessPolicyWindow& window) noexcept;
[[nodiscard]] CUlaunchMemSyncDomain native_domain(MemorySyncDomain domain) noexcept;
[[nodiscard]] CUlaunchMemSyncDomainMap native_domain_map(const MemorySyncDomainMap& map) noexcept;

inline constexpr ComputeCapability programmatic_launches_since{9, 0};

[[nodiscard]] inline bool has_programmatic_launches(const DeviceState& device) noexcept {
    return device.properties.cc >= programmatic_launches_since;
}

/// The launch attributes of a shape.
class DriverAttributes {
public:
    explicit DriverAttributes(const LaunchShape& shape) noexcept {
        unsigned count = 0;  // In a register, unlike the member.
        // For values whose every member is set: clearing takes longer than the rest of a launch.
        const auto next = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
            auto& attribute = attributes_[count++];
            attribute.id = id;
            return attribute.value;
        };
        if (shape.cooperative) next(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
        if (shape.programmatic_serialization) {
            next(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
                .programmaticStreamSerializationAllowed = 1;
        }
        if (shape.cluster != Dim3{}) {
            auto& cluster = next(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
            cluster.x = shape.cluster.x;
            cluster.y = shape.cluster.y;
            cluster.z = shape.cluster.z;
        }
        if (shape.priority) next(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *shape.priority;
        count_ = count;
        if (shape.attributes != nullptr) add_further(*shape.attributes);
    }

    CUlaunchAttribute* data() noexcept { return attributes_.data(); }
    [[nodiscard]] unsigned count() const noexcept { return count_; }

private:
    static constexpr std::size_t most = 15;

    CUlaunchAttributeValue& add(CUlaunchAttributeID id) noexcept {
        auto& attribute = attributes_[count_++];
        attribute.id = id;
        attribute.value = {};
        return attribute.value;
    }
    void add_further(const LaunchAttributes& from) noexcept;

    std::array<CUlaunchAttribute, most> attributes_;  // Set as they are added.
    unsigned count_ = 0;
};

/// The configuration of a launch; it refers to `attributes`.
[[nodiscard]] inline CUlaunchConfig driver_config(const LaunchShape& shape, CUstream stream,
                                                  DriverAttributes& attributes) noexcept {
    CUlaunchConfig config{};
    config.gridDimX = shape.grid.x;
    config.gridDimY = shape.grid.y;
    config.gridDimZ = shape.grid.z;
    config.blockDimX = shape.block.x;
    config.blockDimY = shape.block.y;
    config.blockDimZ = shape.block.z;
    config.sharedMemBytes = shape.dynamic_shared_bytes;
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = attributes.count();
    return config;
}

/// Success if the device has clusters, the shape's cluster divides its grid and isn't too large.
/// Opts in to a cluster that isn't portable.
[[nodiscard]] Status check_cluster(const KernelState& kernel, const LaunchShape& shape);

/// The most dynamic shared memory that the shape's attributes leave to the kernel, in bytes.
[[nodiscard]] std::size_t most_dynamic_shared(const KernelState& kernel, const LaunchShape& shape);
/// Whether the launch says how much shared memory it may take, so that the kernel needs no opt-in.
[[nodiscard]] inline bool has_shared_memory_mode(const LaunchShape& shape) noexcept {
    return shape.attributes != nullptr && shape.attributes->shared_memory_mode.has_value();
}

/// Success if device and driver accept the shape's further attributes, which must not be null.
[[nodiscard]] Status check_further_attributes(const KernelState& kernel, const LaunchShape& shape);

/// Success if the device accepts the window; the error names the limit.
[[nodiscard]] Status check_window(const DeviceState& device, const AccessPolicyWindow& window);
[[nodiscard]] Status check_domain_map(const DeviceState& device, const MemorySyncDomainMap& map);

/// Allows clusters of a size that isn't portable, once per kernel.
[[nodiscard]] Status opt_in_to_large_clusters(const KernelState& kernel);

}  // namespace LODE_NAMESPACE::detail
