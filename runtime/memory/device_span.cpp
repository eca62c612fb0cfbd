#include "runtime/memory/device_memory.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device_span.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
Status check_present(DeviceMemoryRef memory, const StreamRef* stream, std::string_view what) {
    if (memory.device == nullptr && memory.address == 0) return fail_empty(what);
    if (stream != nullptr && stream->state().device == nullptr) return fail_empty("stream");
    return {};
}

Result<DeviceState*> device_for(DeviceMemoryRef memory, const StreamRef* stream) {
    if (stream == nullptr) {
        if (memory.device != nullptr) return memory.device;
        return fail(Errc::invalid_argument,
                    "A span of no particular device can be copied and filled only on a stream.");
    }
    if (memory.device != nullptr) LODE_TRY(check_stream_of(*memory.device, *stream, "memory"));
    return stream->state().device;
}

Status check_same_driver(const DeviceState& to, const DeviceState& from) {
    if (from.was_reset()) return tl::unexpected<Error>(from.lost_error());
    if (to.driver == from.driver) return {};
    return fail(Errc::invalid_argument,
                "A copy between two drivers isn't possible; copy through the host.");
}

Error explain_out_of_memory(DeviceState& device, Error error, std::size_t bytes,
                            std::string_view limit) {
    if (error.code != Errc::out_of_memory) return error;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    const auto now =
        call_in_context(device, device.table().cuMemGetInfo, &free_bytes, &total_bytes);
    if (now && bytes <= free_bytes) {
        error.message = fmt::format(
            "An allocation of {} bytes isn't possible on {}, although {} of {} bytes are free: "
            "{}the free memory is fragmented.",
            bytes, device.describe(), free_bytes, total_bytes,
            limit.empty() ? "" : fmt::format("{}, or ", limit));
        return error;
    }
    error.message = fmt::format(
        "An allocation of {} bytes exceeds the free memory of {}{}.", bytes, device.describe(),
        now ? fmt::format(" ({} of {} bytes)", free_bytes, total_bytes) : "");
    return error;
}

DeviceState* state_of(const Device& device) noexcept {
    return device.state().get();
}

Status check_same_size(std::string_view what, std::size_t given, std::size_t size) {
    if (given == size) [[likely]]
        return {};
    return fail(Errc::invalid_argument,
                fmt::format("The size of {} ({} elements) differs from that of the span ({} "
                            "elements).",
                            what, given, size));
}

Status check_part(std::size_t offset, std::size_t count, std::size_t size) {
    if (offset <= size && count <= size - offset) [[likely]]
        return {};
    return fail(Errc::invalid_argument,
                fmt::format("A part of {} elements from offset {} on exceeds the span ({} "
                            "elements).",
                            count, offset, size));
}

Status check_native(NativeDevicePointer address, std::size_t count, std::size_t size,
                    std::size_t align) {
    if (address == 0 && count != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("A null address can't have {} elements.", count));
    }
    if (address % align != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("The address {:#x} isn't aligned to the {} bytes that its elements "
                                "need.",
                                address, align));
    }
    if (count <= (std::numeric_limits<NativeDevicePointer>::max() - address) / size) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} elements of {} bytes at the address {:#x} exceed the address "
                            "space.",
                            count, size, address));
}

Status check_reinterpret(NativeDevicePointer address, std::size_t bytes, std::size_t size,
                         std::size_t align) {
    if (bytes % size != 0) {
        return fail(
            Errc::invalid_argument,
            fmt::format("{} bytes aren't a whole number of elements of {} bytes.", bytes, size));
    }
    return check_native(address, bytes / size, size, align);
}

Status copy_to_device(DeviceMemoryRef to, const void* from, std::size_t bytes,
                      const StreamRef* stream) {
    LODE_TRY(check_present(to, stream));
    if (bytes == 0) return {};
    LODE_TRY_ASSIGN(DeviceState* const device, device_for(to, stream));
    const DriverTable& table = device->table();
    return copy_in_order(*device, stream, table.cuMemcpyHtoD, table.cuMemcpyHtoDAsync, to.address,
                         from, bytes);
}

Status copy_to_host(DeviceMemoryRef from, void* to, std::size_t bytes, const StreamRef* stream) {
    LODE_TRY(check_present(from, stream));
    if (bytes == 0) return {};
    LODE_TRY_ASSIGN(DeviceState* const device, device_for(from, stream));
    const DriverTable& table = device->table();
    return copy_in_order(*device, stream, table.cuMemcpyDtoH, table.cuMemcpyDtoHAsync, to,
                         from.address, bytes);
}

Status copy_on_device(DeviceMemoryRef to, DeviceMemoryRef from, std::size_t bytes,
                      const StreamRef* stream) {
    LODE_TRY(check_present(to, stream));
    LODE_TRY(check_present(from, stream, "buffer to copy from"));
    if (bytes == 0) return {};
    if (to.device != nullptr && from.device != nullptr) {
        LODE_TRY(check_same_driver(*to.device, *from.device));
        if (to.device != from.device) {
            const DriverTable& table = to.device->table();
            LODE_TRY_ASSIGN(CUcontext to_context, to.device->context());
            LODE_TRY_ASSIGN(CUcontext from_context, from.device->context());
            return copy_to_peer(*to.device, *from.device, stream, table.cuMemcpyPeer,
                                table.cuMemcpyPeerAsync, to.address, to_context, from.address,
                                from_context, bytes);
        }
    }
    LODE_TRY_ASSIGN(DeviceState* const device,
                    device_for(to.device != nullptr ? to : from, stream));
    const DriverTable& table = device->table();
    return copy_in_order(*device, stream, table.cuMemcpyDtoD, table.cuMemcpyDtoDAsync, to.address,
                         from.address, bytes);
}

Status fill_device(DeviceMemoryRef memory, const void* pattern, std::size_t pattern_bytes,
                   std::size_t count, const StreamRef* stream) {
    LODE_TRY(check_present(memory, stream));
    if (count == 0) return {};
    LODE_TRY_ASSIGN(DeviceState* const device, device_for(memory, stream));
    const DriverTable& table = device->table();

    const auto fill = [&](const auto& now, const auto& later, auto value) -> Status {
        std::memcpy(&value, pattern, sizeof(value));
        return copy_in_order(*device, stream, now, later, memory.address, value, count);
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

}  // namespace LODE_NAMESPACE::detail
