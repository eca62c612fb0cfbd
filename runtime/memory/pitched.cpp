#include "runtime/memory/copy_box.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/pitched.hpp>

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

BoxSide device_side(const PitchedMemory& memory) {
    return {.type = CU_MEMORYTYPE_DEVICE,
            .address = memory.memory.address,
            .pitch = memory.pitch,
            .slice_rows = memory.slice_rows,
            .device = memory.memory.device};
}

/// The driver aligns rows for elements of 4, 8 or 16 bytes.
unsigned alignment_class(std::size_t element_bytes) {
    for (const unsigned bytes : {16U, 8U}) {
        if (element_bytes % bytes == 0) return bytes;
    }
    return 4;
}

}  // namespace

Status check_box(BoxOffset offset, BoxExtent part, BoxExtent whole) {
    const auto fits = [](std::size_t at, std::size_t count, std::size_t size) {
        return at <= size && count <= size - at;
    };
    if (fits(offset.x, part.width, whole.width) && fits(offset.y, part.height, whole.height) &&
        fits(offset.z, part.depth, whole.depth))
        return {};
    return fail(Errc::invalid_argument,
                fmt::format("A box of {} elements at ({}, {}, {}) exceeds the box of {} elements.",
                            extent_text(part), offset.x, offset.y, offset.z, extent_text(whole)));
}

Status check_same_extent(BoxExtent given, BoxExtent extent) {
    if (given == extent) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A box of {} elements can't be copied from or to a box of {} elements.",
                            extent_text(given), extent_text(extent)));
}

Status check_dense(std::size_t elements, BoxExtent extent) {
    if (product({extent.width, extent.height, extent.depth}) == elements) return {};
    return fail(Errc::invalid_argument,
                fmt::format("Host memory of {} elements differs in size from a box of {} elements.",
                            elements, extent_text(extent)));
}

Status copy_box_to_device(const PitchedMemory& to, const HostRows<const void*>& from, BoxExtent box,
                          const StreamRef* stream) {
    LODE_TRY(check_present(to.memory, stream));
    return copy_box(device_side(to),
                    {.host = const_cast<void*>(from.address),
                     .pitch = from.pitch,
                     .slice_rows = from.slice_rows},
                    box, stream);
}

Status copy_box_to_host(const PitchedMemory& from, const HostRows<void*>& to, BoxExtent box,
                        const StreamRef* stream) {
    LODE_TRY(check_present(from.memory, stream));
    return copy_box({.host = to.address, .pitch = to.pitch, .slice_rows = to.slice_rows},
                    device_side(from), box, stream);
}

Status copy_box_on_device(const PitchedMemory& to, const PitchedMemory& from, BoxExtent box,
                          const StreamRef* stream) {
    LODE_TRY(check_present(to.memory, stream));
    LODE_TRY(check_present(from.memory, stream, "buffer to copy from"));
    return copy_box(device_side(to), device_side(from), box, stream);
}

Status fill_box(const PitchedMemory& memory, const void* pattern, std::size_t pattern_bytes,
                BoxExtent box, const StreamRef* stream) {
    LODE_TRY(check_present(memory.memory, stream));
    if (box.volume() == 0) return {};
    LODE_TRY_ASSIGN(DeviceState* const device, device_for(memory.memory, stream));
    const DriverTable& table = device->table();
    // Slices without rows in between are one tall slice.
    const bool is_tall = memory.slice_rows == box.height;
    const std::size_t fills = is_tall ? 1 : box.depth;
    const std::size_t rows = is_tall ? box.height * box.depth : box.height;

    const auto fill = [&](const auto& now, const auto& later, auto value) -> Status {
        LODE_TRY(device->driver->require(now, "filling pitched memory"));
        LODE_TRY(device->driver->require(later, "filling pitched memory"));
        std::memcpy(&value, pattern, sizeof(value));
        const auto each = [&](const auto& call) -> Status {
            for (std::size_t i = 0; i < fills; ++i) {
                LODE_TRY(call(memory.memory.address + i * memory.slice_rows * memory.pitch));
            }
            return {};
        };
        if (stream != nullptr) {
            return each([&](NativeDevicePointer at) {
                return call_on_stream(stream->state(), later, at, memory.pitch, value, box.width,
                                      rows, stream->native());
            });
        }
        return in_order_with_everything(*device, [&] {
            return each([&](NativeDevicePointer at) {
                return device->call(now, at, memory.pitch, value, box.width, rows);
            });
        });
    };
    switch (pattern_bytes) {
        case sizeof(std::uint8_t):
            return fill(table.cuMemsetD2D8, table.cuMemsetD2D8Async, std::uint8_t{});
        case sizeof(std::uint16_t):
            return fill(table.cuMemsetD2D16, table.cuMemsetD2D16Async, std::uint16_t{});
        default:
            return fill(table.cuMemsetD2D32, table.cuMemsetD2D32Async, std::uint32_t{});
    }
}

Result<PitchedAllocation> allocate_pitched(const Device& device, BoxExtent extent,
                                           std::size_t element_bytes) {
    const auto& state = device.state();
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
        return PitchedAllocation{DeviceMemory(NativeDevicePointer{}, state)};
    const DriverTable& table = state->table();
    LODE_TRY(state->driver->require(table.cuMemAllocPitch, "pitched memory"));
    const auto bytes = product({extent.width, element_bytes, extent.height, extent.depth});
    if (!bytes) {
        return fail(Errc::out_of_memory,
                    fmt::format("A box of {} elements of {} bytes exceeds the address space.",
                                extent_text(extent), element_bytes));
    }
    const std::size_t row_bytes = extent.width * element_bytes;
    LODE_TRY_ASSIGN(const std::size_t largest, device_limit(*state, CU_DEVICE_ATTRIBUTE_MAX_PITCH));
    if (row_bytes > largest) {
        return fail(Errc::invalid_argument,
                    fmt::format("Rows of {} bytes exceed {}, the largest pitch of {}.", row_bytes,
                                largest, state->describe()));
    }
    const OutsideCapture outside(*state->driver);
    NativeDevicePointer address = 0;
    PitchedAllocation made;
    LODE_TRY(call_in_context(*state, table.cuMemAllocPitch, &address, &made.pitch, row_bytes,
                             extent.height * extent.depth, alignment_class(element_bytes))
                 .map_error([&](Error error) {
                     return explain_out_of_memory(*state, std::move(error), *bytes);
                 }));
    made.memory = DeviceMemory(address, state);
    return made;
}

}  // namespace LODE_NAMESPACE::detail
