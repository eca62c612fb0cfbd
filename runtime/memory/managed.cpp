#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/managed.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr CUdevice host_device = CU_DEVICE_CPU;

Result<bool> concurrent_managed(const detail::DriverState& driver, CUdevice device) {
    LODE_TRY_ASSIGN(
        const int value,
        detail::read_attribute(driver, device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS));
    return value != 0;
}

/// Refuses advice and prefetches for a device that doesn't fault pages in.
Status require_concurrent(const detail::DriverState& driver, CUdevice device) {
    if (device == host_device) return {};
    LODE_TRY_ASSIGN(const bool concurrent, concurrent_managed(driver, device));
    if (concurrent) return {};
    return fail(Errc::not_supported,
                fmt::format("Device {} has no concurrent managed access, which prefetches and "
                            "advice need.",
                            device));
}

unsigned attach_flag(ManagedAttachment attachment) noexcept {
    switch (attachment) {
        case ManagedAttachment::host:
            return CU_MEM_ATTACH_HOST;
        case ManagedAttachment::stream:
            return CU_MEM_ATTACH_SINGLE;
        case ManagedAttachment::everywhere:
            break;
    }
    return CU_MEM_ATTACH_GLOBAL;
}

CUmem_advise native_advice(ManagedAdvice advice, bool on) noexcept {
    switch (advice) {
        case ManagedAdvice::read_mostly:
            return on ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY;
        case ManagedAdvice::accessed_by:
            return on ? CU_MEM_ADVISE_SET_ACCESSED_BY : CU_MEM_ADVISE_UNSET_ACCESSED_BY;
        case ManagedAdvice::preferred_location:
            break;
    }
    return on ? CU_MEM_ADVISE_SET_PREFERRED_LOCATION : CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

Result<int> range_value(const detail::DeviceMemory& memory, std::size_t bytes,
                        CUmem_range_attribute which) {
    if (memory.owner() == nullptr) return detail::fail_empty("buffer");
    int value = CU_DEVICE_INVALID;
    if (bytes == 0) return value;
    detail::DeviceState& device = *memory.owner();
    LODE_TRY(device.driver->require(device.table().cuMemRangeGetAttribute, "Managed memory"));
    LODE_TRY(detail::call_in_context(device, device.table().cuMemRangeGetAttribute,
                                     static_cast<void*>(&value), sizeof(value), which, memory.get(),
                                     bytes));
    return value;
}

}  // namespace

namespace detail {

Result<DeviceMemory> allocate_managed(const std::shared_ptr<DeviceState>& device, std::size_t count,
                                      std::size_t size, ManagedAttachment attachment) {
    if (!device->properties.managed_memory) {
        return fail(Errc::not_supported,
                    fmt::format("Managed memory isn't supported by {}.", device->describe()));
    }
    LODE_TRY(device->driver->require(device->table().cuMemAllocManaged, "Managed memory"));
    if (attachment == ManagedAttachment::stream) {
        return fail(Errc::invalid_argument,
                    "Managed memory is allocated for everywhere or the host; attach it to a stream "
                    "with attach_async().");
    }
    LODE_TRY_ASSIGN(const std::size_t bytes, bytes_of(count, size));
    if (bytes == 0) return DeviceMemory(NativeDevicePointer{}, device);
    const OutsideCapture outside(*device->driver);
    NativeDevicePointer address = 0;
    LODE_TRY(call_in_context(*device, device->table().cuMemAllocManaged, &address, bytes,
                             attach_flag(attachment))
                 .map_error([&](Error error) {
                     return explain_out_of_memory(*device, std::move(error), bytes)
                         .in("allocating managed memory");
                 }));
    return DeviceMemory(address, device);
}

Status prefetch_managed(const DeviceMemory& memory, std::size_t bytes, StreamRef stream,
                        bool to_host) {
    if (memory.owner() == nullptr) return fail_empty("buffer");
    const DeviceState* const device = stream.state().device;
    if (device == nullptr) return fail_empty("stream");
    if (!device->same_driver(*memory.owner())) {
        return fail(Errc::invalid_argument,
                    "The stream and the managed memory belong to two drivers.");
    }
    LODE_TRY(require_concurrent(*device->driver, device->device));
    if (bytes == 0) return {};
    return call_on_stream(stream.state(), device->table().cuMemPrefetchAsync, memory.get(), bytes,
                          to_host ? host_device : device->device, stream.native());
}

Status advise_managed(const DeviceMemory& memory, std::size_t bytes, ManagedAdvice advice,
                      ManagedLocation where, bool on) {
    if (memory.owner() == nullptr) return fail_empty("buffer");
    DeviceState& device = *memory.owner();
    const CUdevice place = where.device.value_or(host_device);
    if (advice != ManagedAdvice::read_mostly) LODE_TRY(require_concurrent(*device.driver, place));
    if (bytes == 0) return {};
    return call_in_context(device, device.table().cuMemAdvise, memory.get(), bytes,
                           native_advice(advice, on), place);
}

Status attach_managed(const DeviceMemory& memory, StreamRef stream, ManagedAttachment attachment) {
    if (memory.owner() == nullptr) return fail_empty("buffer");
    const DeviceState& device = *memory.owner();
    LODE_TRY(check_stream_of(device, stream, "managed memory"));
    if (!memory) return {};
    constexpr std::size_t whole = 0;
    return call_on_stream(stream.state(), device.table().cuStreamAttachMemAsync, stream.native(),
                          memory.get(), whole, attach_flag(attachment));
}

Result<bool> is_read_mostly(const DeviceMemory& memory, std::size_t bytes) {
    LODE_TRY_ASSIGN(const int value,
                    range_value(memory, bytes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY));
    return value == 1;
}

Result<std::optional<ManagedLocation>> managed_location(const DeviceMemory& memory,
                                                        std::size_t bytes, bool last_prefetch) {
    LODE_TRY_ASSIGN(const int value,
                    range_value(memory, bytes,
                                last_prefetch ? CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
                                              : CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
    if (value == CU_DEVICE_INVALID) return std::optional<ManagedLocation>();
    if (value == host_device) return std::optional(ManagedLocation::host());
    return std::optional(ManagedLocation{value});
}

}  // namespace detail

Result<bool> has_concurrent_managed_access(const Device& device) {
    return concurrent_managed(*device.state()->driver, device.native());
}

}  // namespace LODE_NAMESPACE
