#include "runtime/state/device_state.hpp"

#include <lode/runtime/pointer_info.hpp>

#include <array>
#include <iterator>

namespace LODE_NAMESPACE {
namespace {

MemoryKind kind_of(CUmemorytype type, bool managed) {
    if (managed) return MemoryKind::managed;
    if (type == CU_MEMORYTYPE_HOST) return MemoryKind::host;
    if (type == CU_MEMORYTYPE_DEVICE) return MemoryKind::device;
    return MemoryKind::unknown;
}

}  // namespace

const char* to_string(MemoryKind kind) noexcept {
    switch (kind) {
        case MemoryKind::host:
            return "host";
        case MemoryKind::device:
            return "device";
        case MemoryKind::managed:
            return "managed";
        case MemoryKind::unknown:
            break;
    }
    return "unknown";
}

Result<PointerInfo> inspect_pointer(const Device& device, NativeDevicePointer address) {
    detail::DeviceState& state = *device.state();
    const auto& entry = state.table().cuPointerGetAttributes;
    LODE_TRY(state.driver->require(entry, "inspecting pointers"));
    CUmemorytype type{};
    unsigned managed = 0;
    PointerInfo info;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    };
    void* values[] = {
        &type,      &managed,  &info.device_ordinal, &info.device_address, &info.host_address,
        &info.base, &info.size};
    static_assert(std::size(attributes) == std::size(values));
    LODE_TRY(call_in_context(state, entry, static_cast<unsigned>(std::size(attributes)), attributes,
                             values, address));
    info.kind = kind_of(type, managed != 0);
    if (info.kind == MemoryKind::unknown) return PointerInfo{};
    return info;
}

Result<PointerInfo> inspect_pointer(const Device& device, const void* address) {
    return inspect_pointer(device, reinterpret_cast<NativeDevicePointer>(address));
}

}  // namespace LODE_NAMESPACE
