#include "runtime/launch_attributes.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/stream_attributes.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

CUsynchronizationPolicy native_policy(SyncPolicy policy) noexcept {
    switch (policy) {
        case SyncPolicy::spin:
            return CU_SYNC_POLICY_SPIN;
        case SyncPolicy::yield:
            return CU_SYNC_POLICY_YIELD;
        case SyncPolicy::block:
            return CU_SYNC_POLICY_BLOCKING_SYNC;
        default:
            return CU_SYNC_POLICY_AUTO;
    }
}

SyncPolicy policy_of(CUsynchronizationPolicy native) noexcept {
    switch (native) {
        case CU_SYNC_POLICY_SPIN:
            return SyncPolicy::spin;
        case CU_SYNC_POLICY_YIELD:
            return SyncPolicy::yield;
        case CU_SYNC_POLICY_BLOCKING_SYNC:
            return SyncPolicy::block;
        default:
            return SyncPolicy::automatic;
    }
}

CachePersistence persistence_of(CUaccessProperty native) noexcept {
    switch (native) {
        case CU_ACCESS_PROPERTY_STREAMING:
            return CachePersistence::streaming;
        case CU_ACCESS_PROPERTY_PERSISTING:
            return CachePersistence::persisting;
        default:
            return CachePersistence::normal;
    }
}

AccessPolicyWindow window_of(const CUaccessPolicyWindow& native) noexcept {
    return {.address = reinterpret_cast<NativeDevicePointer>(native.base_ptr),
            .size_bytes = native.num_bytes,
            .hit_ratio = native.hitRatio,
            .hits = persistence_of(native.hitProp),
            .misses = persistence_of(native.missProp)};
}

/// Sets attributes until the first error.
class AttributeWriter {
public:
    explicit AttributeWriter(StreamRef stream) : stream_(stream) {}

    void set(CUstreamAttrID id, const CUstreamAttrValue& value) {
        if (!status_) return;
        const auto& state = stream_.state();
        status_ = detail::call_on_stream(state, state.device->table().cuStreamSetAttribute,
                                         stream_.native(), id, &value);
    }
    [[nodiscard]] Status status() && { return std::move(status_); }

private:
    StreamRef stream_;
    Status status_;
};

Result<CUstreamAttrValue> read_attribute(StreamRef stream, CUstreamAttrID id) {
    CUstreamAttrValue value{};
    const auto& state = stream.state();
    LODE_TRY(detail::call_on_stream(state, state.device->table().cuStreamGetAttribute,
                                    stream.native(), id, &value));
    return value;
}

}  // namespace

Status set_stream_attributes(StreamRef stream, const StreamAttributes& attributes) {
    const detail::DeviceState* const device = stream.state().device;
    if (device == nullptr) return detail::fail_empty("stream");
    if (attributes.access_policy)
        LODE_TRY(detail::check_window(*device, *attributes.access_policy));
    if (attributes.memory_sync_domain_map)
        LODE_TRY(detail::check_domain_map(*device, *attributes.memory_sync_domain_map));

    AttributeWriter writer(stream);
    CUstreamAttrValue value{};
    if (attributes.access_policy) {
        value.accessPolicyWindow = detail::native_window(*attributes.access_policy);
        writer.set(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value);
    }
    if (attributes.sync_policy) {
        value = {};
        value.syncPolicy = native_policy(*attributes.sync_policy);
        writer.set(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value);
    }
    if (attributes.priority) {
        value = {};
        value.priority = *attributes.priority;
        writer.set(CU_LAUNCH_ATTRIBUTE_PRIORITY, value);
    }
    if (attributes.memory_sync_domain) {
        value = {};
        value.memSyncDomain = detail::native_domain(*attributes.memory_sync_domain);
        writer.set(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value);
    }
    if (attributes.memory_sync_domain_map) {
        value = {};
        value.memSyncDomainMap = detail::native_domain_map(*attributes.memory_sync_domain_map);
        writer.set(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value);
    }
    return std::move(writer).status();
}

Result<StreamAttributes> stream_attributes(StreamRef stream) {
    if (stream.state().device == nullptr) return detail::fail_empty("stream");
    const auto read = [&](CUstreamAttrID id) { return read_attribute(stream, id); };
    StreamAttributes attributes;
    LODE_TRY_ASSIGN(const auto window, read(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW));
    attributes.access_policy = window_of(window.accessPolicyWindow);
    LODE_TRY_ASSIGN(const auto policy, read(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY));
    attributes.sync_policy = policy_of(policy.syncPolicy);
    LODE_TRY_ASSIGN(const auto priority, read(CU_LAUNCH_ATTRIBUTE_PRIORITY));
    attributes.priority = priority.priority;
    LODE_TRY_ASSIGN(const auto domain, read(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN));
    attributes.memory_sync_domain = domain.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
                                        ? MemorySyncDomain::remote
                                        : MemorySyncDomain::usual;
    LODE_TRY_ASSIGN(const auto map, read(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP));
    attributes.memory_sync_domain_map =
        MemorySyncDomainMap{map.memSyncDomainMap.default_, map.memSyncDomainMap.remote};
    return attributes;
}

Status copy_stream_attributes(StreamRef to, StreamRef from) {
    const detail::DeviceState* const device = to.state().device;
    if (device == nullptr || from.state().device == nullptr) return detail::fail_empty("stream");
    if (from.state().device != device) {
        return fail(
            Errc::invalid_argument,
            fmt::format("The streams belong to device {} and device {}.",
                        from.state().device->properties.ordinal, device->properties.ordinal));
    }
    return detail::call_on_stream(to.state(), device->table().cuStreamCopyAttributes, to.native(),
                                  from.native());
}

}  // namespace LODE_NAMESPACE
