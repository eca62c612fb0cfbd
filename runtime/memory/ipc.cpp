#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/device_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/ipc.hpp>

#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void IpcMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuIpcCloseMemHandle, handle);
}

namespace {

static_assert(sizeof(IpcMemoryHandle::native) == sizeof(CUipcMemHandle));
static_assert(sizeof(IpcEventHandle::native) == sizeof(CUipcEventHandle));

struct AddressRange {
    NativeDevicePointer base = 0;
    std::size_t bytes = 0;
};

/// The whole allocation of an address.
Result<AddressRange> range_of(DeviceState& device, NativeDevicePointer address) {
    AddressRange range;
    LODE_TRY(call_in_context(device, device.table().cuMemGetAddressRange, &range.base, &range.bytes,
                             address));
    return range;
}

/// Explains what the driver says of a handle that it doesn't open.
Error explain_unopened(Error error, std::string_view what) {
    if (error.native.code == CUDA_ERROR_INVALID_CONTEXT) {
        return Error{Errc::invalid_argument,
                     fmt::format("The handle of {0} was made by this process, and the driver only "
                                 "opens those of other processes. Use the {0} itself.",
                                 what),
                     std::move(error.native)};
    }
    if (error.native.code != CUDA_ERROR_INVALID_VALUE &&
        error.native.code != CUDA_ERROR_INVALID_HANDLE)
        return error;
    return Error{Errc::invalid_argument,
                 fmt::format("The driver doesn't know the handle of {0}: the process that made it "
                             "has ended or has destroyed the {0}, it runs on another machine or in "
                             "another container, or the bytes are no handle.",
                             what),
                 std::move(error.native)};
}

}  // namespace

Result<IpcMemoryHandle> name_memory(DeviceMemoryRef memory, std::size_t bytes) {
    LODE_TRY(check_present(memory, nullptr));
    if (memory.device == nullptr || bytes == 0) {
        return fail(Errc::invalid_argument,
                    "A handle needs at least one element in the memory of a device.");
    }
    DeviceState& device = *memory.device;
    const auto& entry = device.table().cuIpcGetMemHandle;
    LODE_TRY(device.driver->require(entry, "A handle of memory"));
    LODE_TRY_ASSIGN(const AddressRange range, range_of(device, memory.address));
    IpcMemoryHandle handle;
    handle.offset = memory.address - range.base;
    handle.bytes = bytes;
    if (bytes > range.bytes - handle.offset) {
        return fail(Errc::invalid_argument,
                    fmt::format("The span of {} bytes begins at byte {} of an allocation of {} "
                                "bytes and exceeds it.",
                                bytes, handle.offset, range.bytes));
    }
    CUipcMemHandle native{};
    LODE_TRY(call_in_context(device, entry, &native, range.base).map_error([](Error error) {
        return std::move(error).in(
            "making a handle of device memory, which must be from Device::alloc(): a pool's, "
            "managed and mapped memory has none");
    }));
    std::memcpy(handle.native.data(), &native, sizeof native);
    return handle;
}

Result<IpcMemory> open_memory(const std::shared_ptr<DeviceState>& device,
                              const IpcMemoryHandle& handle, std::size_t size, std::size_t align) {
    const auto& entry = device->table().cuIpcOpenMemHandle;
    LODE_TRY(device->driver->require(entry, "A handle of memory"));
    LODE_TRY(check_whole_elements(handle.bytes, size));
    CUipcMemHandle native{};
    std::memcpy(&native, handle.native.data(), sizeof native);
    NativeDevicePointer base = 0;
    const OutsideCapture outside(*device->driver);
    constexpr unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    LODE_TRY(call_in_context(*device, entry, &base, native, flags).map_error([](Error error) {
        return explain_unopened(std::move(error), "memory");
    }));
    IpcMemory memory(base, device);
    // A driver needn't know the size of another process's allocation.
    const auto range = range_of(*device, base);
    if (range && (handle.offset > range->bytes || handle.bytes > range->bytes - handle.offset)) {
        return fail(Errc::invalid_argument,
                    fmt::format("The handle is of {} bytes from byte {} on, but the allocation has "
                                "{} bytes.",
                                handle.bytes, handle.offset, range->bytes));
    }
    LODE_TRY(check_reinterpret(base + handle.offset, handle.bytes, size, align));
    return memory;
}

}  // namespace detail

Result<IpcEventHandle> IpcEventHandle::of(const Event& event) {
    if (!event) return detail::fail_empty("event");
    detail::DeviceState& device = *event.handle_.owner();
    const auto& entry = device.table().cuIpcGetEventHandle;
    LODE_TRY(device.driver->require(entry, "A handle of an event"));
    CUipcEventHandle native{};
    LODE_TRY(
        detail::call_in_context(device, entry, &native, event.native()).map_error([](Error error) {
            return std::move(error).in(
                "making a handle of an event, which needs EventOptions{.timing = false, "
                ".interprocess = true}");
        }));
    IpcEventHandle handle;
    std::memcpy(handle.native.data(), &native, sizeof native);
    return handle;
}

Result<Event> IpcEventHandle::open(const Device& device) const {
    detail::DeviceState& state = *device.state();
    const auto& entry = state.table().cuIpcOpenEventHandle;
    LODE_TRY(state.driver->require(entry, "A handle of an event"));
    CUipcEventHandle handle{};
    std::memcpy(&handle, native.data(), sizeof handle);
    CUevent event = nullptr;
    LODE_TRY(detail::call_in_context(state, entry, &event, handle).map_error([](Error error) {
        return detail::explain_unopened(std::move(error), "event");
    }));
    return Event(UniqueHandle<detail::EventTraits>(event, device.state()), false);
}

}  // namespace LODE_NAMESPACE
