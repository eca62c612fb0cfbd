#include "runtime/memory.hpp"

#include "runtime/empty.hpp"

#include <lode/runtime/memory.hpp>

#include <cstring>

#include <fmt/format.h>

namespace lode::detail {

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

namespace {

/// Fails if the buffer has no device or the stream is empty.
Status check_present(const DeviceMemory& memory, const StreamRef* stream) {
    if (memory.owner() == nullptr) return fail_empty("buffer");
    if (stream != nullptr && stream->state().device == nullptr) return fail_empty("stream");
    return {};
}

Status check_stream(const DeviceMemory& memory, const StreamRef* stream) {
    if (stream == nullptr || stream->state().device == memory.owner().get()) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The buffer belongs to device {}, but the stream belongs to device {}.",
                            memory.owner()->properties.ordinal,
                            stream->state().device->properties.ordinal));
}

}  // namespace

Status copy_to_device(const DeviceMemory& memory, const void* from, std::size_t bytes,
                      const StreamRef* stream) {
    LODE_TRY(check_present(memory, stream));
    if (bytes == 0) return {};
    DeviceState& device = *memory.owner();
    LODE_TRY(check_stream(memory, stream));
    if (stream != nullptr) {
        return call_on_stream(stream->state(), device.table().cuMemcpyHtoDAsync, memory.get(), from,
                              bytes, stream->native());
    }
    return in_order_with_everything(device, [&] {
        return device.call(device.table().cuMemcpyHtoD, memory.get(), from, bytes);
    });
}

Status copy_to_host(const DeviceMemory& memory, void* to, std::size_t bytes,
                    const StreamRef* stream) {
    LODE_TRY(check_present(memory, stream));
    if (bytes == 0) return {};
    DeviceState& device = *memory.owner();
    LODE_TRY(check_stream(memory, stream));
    if (stream != nullptr) {
        return call_on_stream(stream->state(), device.table().cuMemcpyDtoHAsync, to, memory.get(),
                              bytes, stream->native());
    }
    return in_order_with_everything(
        device, [&] { return device.call(device.table().cuMemcpyDtoH, to, memory.get(), bytes); });
}

Status copy_on_device(const DeviceMemory& to, const DeviceMemory& from, std::size_t bytes,
                      const StreamRef* stream) {
    LODE_TRY(check_present(to, stream));
    if (from.owner() == nullptr) return fail_empty("buffer to copy from");
    if (bytes == 0) return {};
    DeviceState& target = *to.owner();
    DeviceState& source = *from.owner();
    const DriverTable& table = target.table();
    if (target.driver != source.driver) {
        return fail(Errc::invalid_argument,
                    "A copy between two drivers isn't possible; copy through the host.");
    }
    if (&target == &source) {
        LODE_TRY(check_stream(to, stream));
        if (stream != nullptr) {
            return call_on_stream(stream->state(), table.cuMemcpyDtoDAsync, to.get(), from.get(),
                                  bytes, stream->native());
        }
        return in_order_with_everything(
            target, [&] { return target.call(table.cuMemcpyDtoD, to.get(), from.get(), bytes); });
    }

    LODE_TRY_ASSIGN(CUcontext target_context, target.context());
    LODE_TRY_ASSIGN(CUcontext source_context, source.context());
    if (stream != nullptr) {
        if (!check_stream(from, stream)) LODE_TRY(check_stream(to, stream));
        return call_on_stream(stream->state(), table.cuMemcpyPeerAsync, to.get(), target_context,
                              from.get(), source_context, bytes, stream->native());
    }
    return in_order_with_everything(source, [&] {
        return in_order_with_everything(target, [&] {
            return target.call(table.cuMemcpyPeer, to.get(), target_context, from.get(),
                               source_context, bytes);
        });
    });
}

Status fill_device(const DeviceMemory& memory, const void* pattern, std::size_t pattern_bytes,
                   std::size_t count, const StreamRef* stream) {
    LODE_TRY(check_present(memory, stream));
    if (count == 0) return {};
    DeviceState& device = *memory.owner();
    const DriverTable& table = device.table();
    LODE_TRY(check_stream(memory, stream));

    const auto fill = [&](const auto& now, const auto& later, auto value) -> Status {
        std::memcpy(&value, pattern, sizeof(value));
        if (stream != nullptr) {
            return call_on_stream(stream->state(), later, memory.get(), value, count,
                                  stream->native());
        }
        return in_order_with_everything(
            device, [&] { return device.call(now, memory.get(), value, count); });
    };
    switch (pattern_bytes) {
        case sizeof(std::uint8_t):
            return fill(table.cuMemsetD8, table.cuMemsetD8Async, std::uint8_t{});
        case sizeof(std::uint16_t):
            return fill(table.cuMemsetD16, table.cuMemsetD16Async, std::uint16_t{});
        case sizeof(std::uint32_t):
            return fill(table.cuMemsetD32, table.cuMemsetD32Async, std::uint32_t{});
        default:
            return fail(Errc::invalid_argument,
                        fmt::format("A fill pattern has 1, 2 or 4 bytes, not {}.", pattern_bytes));
    }
}

}  // namespace lode::detail
