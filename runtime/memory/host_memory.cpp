#include "base/os/process.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/registered_memory.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

constexpr std::string_view registering = "registering host memory";

/// Explains the codes that only calls about registered memory return.
Error explain_registered(Error error, const void* address, std::size_t bytes) {
    const auto memory = fmt::format("The host memory of {} bytes at {}", bytes, address);
    switch (error.native.code) {
        case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
            error.code = Errc::invalid_argument;
            error.message = fmt::format("{} is already registered, at least in part.", memory);
            break;
        case CUDA_ERROR_INVALID_VALUE:
            error.message = fmt::format(
                "{} can't be registered: it isn't memory of this process, or a device may not "
                "write it, and RegisterOptions::read_only isn't set.",
                memory);
            break;
        case CUDA_ERROR_OUT_OF_MEMORY:
            error = explain_host_out_of_memory(std::move(error), bytes);
            break;
        default:
            break;
    }
    return error;
}

}  // namespace

Error explain_host_out_of_memory(Error error, std::size_t bytes) {
    if (error.code != Errc::out_of_memory) return error;
    error.message = fmt::format(
        "{} bytes of host memory can't be page-locked; {} of {} bytes are free. The system or the "
        "container may also limit locked memory.",
        bytes, os::free_memory(), os::all_memory());
    return error;
}

void RegisteredMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuMemHostUnregister, handle);
}

Result<DeviceMemoryRef> map_host(DeviceState* device, void* address) {
    if (device == nullptr) return fail_empty("host memory");
    DeviceMemoryRef mapped{0, device};
    if (address == nullptr) return mapped;
    const auto& entry = device->table().cuMemHostGetDevicePointer;
    LODE_TRY(device->driver->require(entry, "mapping host memory"));
    LODE_TRY(call_in_context(*device, entry, &mapped.address, address, 0U));
    return mapped;
}

Result<RegisteredHandle> register_host(const Device& device, const void* address, std::size_t bytes,
                                       const RegisterOptions& options) {
    const auto& state = device.state();
    if (bytes == 0) return RegisteredHandle(nullptr, state);
    const DriverTable& table = state->table();
    LODE_TRY(state->driver->require(table.cuMemHostRegister, registering));
    LODE_TRY(state->driver->require(table.cuMemHostUnregister, registering));
    LODE_TRY(require_attribute(*state, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
                               "Registering host memory"));
    unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP;
    if (options.portable) flags |= CU_MEMHOSTREGISTER_PORTABLE;
    if (options.io_memory) flags |= CU_MEMHOSTREGISTER_IOMEMORY;
    if (options.read_only) {
        LODE_TRY(require_attribute(*state, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
                                   "Registering host memory as read-only"));
        flags |= CU_MEMHOSTREGISTER_READ_ONLY;
    }
    const OutsideCapture outside(*state->driver);
    void* const memory = const_cast<void*>(address);
    LODE_TRY(call_in_context(*state, table.cuMemHostRegister, memory, bytes, flags)
                 .map_error([&](Error error) {
                     return explain_registered(std::move(error), address, bytes);
                 }));
    return RegisteredHandle(memory, state);
}

Status unregister_host(RegisteredHandle handle) {
    if (handle.owner() == nullptr) return fail_empty("host memory");
    if (!handle) return {};
    DeviceState& device = *handle.owner();
    const OutsideCapture outside(*device.driver);
    void* const address = handle.release();
    return call_in_context(device, device.table().cuMemHostUnregister, address)
        .map_error([&](Error error) {
            if (error.native.code == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) {
                error.code = Errc::invalid_argument;
                error.message = fmt::format(
                    "The host memory at {} isn't registered any more: something else has "
                    "unregistered it.",
                    address);
            }
            return error;
        });
}

}  // namespace LODE_NAMESPACE::detail
