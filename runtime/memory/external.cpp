#include "base/os/file.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/device_checks.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/external.hpp>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void ExternalMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuDestroyExternalMemory, handle);
}

void ExternalSemaphoreTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuDestroyExternalSemaphore, handle);
}

Result<DeviceMemoryRef> external_part(const DeviceMemory& mapped, std::size_t room,
                                      std::size_t offset, std::size_t count, std::size_t size,
                                      std::size_t align) {
    if (!mapped) return fail_empty("external memory");
    LODE_TRY_ASSIGN(const std::size_t bytes, bytes_of(count, size));
    if (offset > room || bytes > room - offset) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} elements of {} bytes from byte {} on exceed the {} bytes of "
                                "external memory.",
                                count, size, offset, room));
    }
    LODE_TRY(check_reinterpret(mapped.get() + offset, bytes, size, align));
    return DeviceMemoryRef{mapped.get() + offset, mapped.owner().get()};
}

namespace {

Result<Descriptor> duplicate(int descriptor) {
    if (Descriptor copy = os::duplicate(descriptor)) return copy;
    if (errno == EBADF) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} isn't an open file descriptor.", descriptor));
    }
    return fail(Errc::file_failed,
                fmt::format("File descriptor {} can't be duplicated: the process has too many.",
                            descriptor));
}

/// The state of a semaphore's device, if the stream belongs to it.
Result<DeviceState*> device_of(const UniqueHandle<ExternalSemaphoreTraits>& semaphore,
                               StreamRef stream) {
    if (!semaphore) return fail_empty("external semaphore");
    DeviceState* const device = semaphore.owner().get();
    LODE_TRY(check_stream_of(*device, stream, "semaphore"));
    return device;
}

}  // namespace
}  // namespace detail

Result<ExternalMemory> ExternalMemory::import(const Device& device, int descriptor,
                                              std::size_t bytes, bool dedicated) {
    detail::DeviceState& state = *device.state();
    const detail::DriverTable& table = state.table();
    LODE_TRY(state.driver->require(table.cuImportExternalMemory, "External memory"));
    // The driver takes the descriptor when it imports, but the mapping may still fail.
    LODE_TRY_ASSIGN(Descriptor duplicate, detail::duplicate(descriptor));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = duplicate.get();
    description.size = bytes;
    description.flags = dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0U;
    CUexternalMemory memory = nullptr;
    LODE_TRY(detail::call_in_context(state, table.cuImportExternalMemory, &memory, &description)
                 .map_error([&](Error error) {
                     return std::move(error).in(
                         fmt::format("importing {} bytes of external memory from file descriptor "
                                     "{}",
                                     bytes, descriptor));
                 }));
    static_cast<void>(duplicate.release());
    UniqueHandle<detail::ExternalMemoryTraits> handle(memory, device.state());
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole{};
    whole.size = bytes;
    NativeDevicePointer address = 0;
    LODE_TRY(detail::call_in_context(state, table.cuExternalMemoryGetMappedBuffer, &address, memory,
                                     &whole)
                 .map_error([&](Error error) {
                     return std::move(error).in(
                         fmt::format("mapping {} bytes of external memory", bytes));
                 }));
    os::close_file(descriptor);
    return ExternalMemory(std::move(handle), detail::DeviceMemory(address, device.state()), bytes);
}

Result<ExternalSemaphore> ExternalSemaphore::import(const Device& device, int descriptor,
                                                    ExternalSemaphoreKind kind) {
    detail::DeviceState& state = *device.state();
    const auto& entry = state.table().cuImportExternalSemaphore;
    LODE_TRY(state.driver->require(entry, "An external semaphore"));
    LODE_TRY_ASSIGN(Descriptor duplicate, detail::duplicate(descriptor));
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = kind == ExternalSemaphoreKind::timeline
                           ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
                           : CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = duplicate.get();
    CUexternalSemaphore semaphore = nullptr;
    LODE_TRY(
        detail::call_in_context(state, entry, &semaphore, &description).map_error([&](Error error) {
            return std::move(error).in(
                fmt::format("importing an external semaphore from file descriptor {}", descriptor));
        }));
    static_cast<void>(duplicate.release());
    os::close_file(descriptor);
    return ExternalSemaphore(
        UniqueHandle<detail::ExternalSemaphoreTraits>(semaphore, device.state()));
}

Status ExternalSemaphore::wait_async(StreamRef stream, std::uint64_t value) const {
    LODE_TRY_ASSIGN(const detail::DeviceState* const device, detail::device_of(handle_, stream));
    CUexternalSemaphore semaphore = native();
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS parameters{};
    parameters.params.fence.value = value;
    return detail::call_on_stream(stream.state(), device->table().cuWaitExternalSemaphoresAsync,
                                  &semaphore, &parameters, 1U, stream.native());
}

Status ExternalSemaphore::signal_async(StreamRef stream, std::uint64_t value) const {
    LODE_TRY_ASSIGN(const detail::DeviceState* const device, detail::device_of(handle_, stream));
    CUexternalSemaphore semaphore = native();
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS parameters{};
    parameters.params.fence.value = value;
    return detail::call_on_stream(stream.state(), device->table().cuSignalExternalSemaphoresAsync,
                                  &semaphore, &parameters, 1U, stream.native());
}

}  // namespace LODE_NAMESPACE
