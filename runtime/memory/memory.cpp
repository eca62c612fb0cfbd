#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/memory.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void DeviceMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuMemFree, handle);
}

void PinnedMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuMemFreeHost, handle);
}

Status check_size(const DeviceMemory& memory, std::string_view what, std::size_t given,
                  std::size_t room) {
    if (memory.owner() == nullptr) [[unlikely]]
        return fail_empty("buffer");
    if (given <= room) [[likely]]
        return {};
    return fail(Errc::invalid_argument,
                fmt::format("The size of {} ({} elements) exceeds the buffer ({} elements).", what,
                            given, room));
}

}  // namespace detail

Result<detail::DeviceMemory> Device::allocate(std::size_t count, std::size_t size) const {
    LODE_TRY_ASSIGN(const std::size_t bytes, detail::bytes_of(count, size));
    if (bytes == 0) return detail::DeviceMemory(NativeDevicePointer{}, state_);
    const detail::OutsideCapture outside(*state_->driver);
    NativeDevicePointer address = 0;
    LODE_TRY(detail::call_in_context(*state_, state_->table().cuMemAlloc, &address, bytes)
                 .map_error([&](Error error) {
                     return detail::explain_out_of_memory(*state_, std::move(error), bytes);
                 }));
    return detail::DeviceMemory(address, state_);
}

Result<detail::PinnedMemory> Device::allocate_pinned(std::size_t count, std::size_t size) const {
    return detail::allocate_pinned(*this, count, size, {});
}

Result<detail::PinnedMemory> detail::allocate_pinned(const Device& device, std::size_t count,
                                                     std::size_t size,
                                                     const PinnedOptions& options) {
    const auto& state = device.state();
    LODE_TRY_ASSIGN(const std::size_t bytes, bytes_of(count, size));
    if (bytes == 0) return PinnedMemory(nullptr, state);
    unsigned flags = CU_MEMHOSTALLOC_DEVICEMAP;
    if (options.portable) flags |= CU_MEMHOSTALLOC_PORTABLE;
    if (options.write_combined) flags |= CU_MEMHOSTALLOC_WRITECOMBINED;
    const OutsideCapture outside(*state->driver);
    void* address = nullptr;
    LODE_TRY(call_in_context(*state, state->table().cuMemHostAlloc, &address, bytes, flags)
                 .map_error([&](Error error) {
                     return explain_host_out_of_memory(std::move(error), bytes)
                         .in(fmt::format("allocating {} bytes of pinned memory", bytes));
                 }));
    return PinnedMemory(address, state);
}

}  // namespace LODE_NAMESPACE
