#include "c/handles.hpp"

#include <span>

#include <fmt/format.h>

using lode::DeviceSpan;
using lode::Errc;
using lode::fail;
using lode::Result;
using lode::Status;
using lode::c::guarded;
using lode::c::require;

namespace {

/// Refuses a part that isn't within a buffer.
Status check_part(const char* what, const lode_buffer& buffer, size_t offset, size_t bytes) {
    const size_t size = buffer.memory.size();
    if (offset <= size && bytes <= size - offset) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} bytes at offset {} exceed the {}, which has {} bytes.", bytes,
                            offset, what, size));
}

Result<DeviceSpan<std::byte>> part_of(const char* what, lode_buffer& buffer, size_t offset,
                                      size_t bytes) {
    LODE_TRY(check_part(what, buffer, offset, bytes));
    return buffer.memory.span().subspan(offset, bytes);
}

Result<DeviceSpan<const std::byte>> part_of(const char* what, const lode_buffer& buffer,
                                            size_t offset, size_t bytes) {
    LODE_TRY(check_part(what, buffer, offset, bytes));
    return buffer.memory.span().subspan(offset, bytes);
}

}  // namespace

lode_status lode_buffer_alloc(const lode_device* device, size_t bytes, lode_buffer** buffer) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"buffer", buffer}}));
        LODE_TRY_ASSIGN(auto memory, device->device.alloc<std::byte>(bytes));
        *buffer = new lode_buffer{std::move(memory)};
        return {};
    });
}

void lode_buffer_free(lode_buffer* buffer) {
    delete buffer;
}

uint64_t lode_buffer_address(const lode_buffer* buffer) {
    return buffer == nullptr ? 0 : buffer->memory.native();
}

size_t lode_buffer_size(const lode_buffer* buffer) {
    return buffer == nullptr ? 0 : buffer->memory.size();
}

lode_status lode_buffer_write(lode_buffer* buffer, size_t offset, const void* from, size_t bytes,
                              const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"buffer", buffer}}));
        if (bytes != 0) LODE_TRY(require({{"from", from}}));
        LODE_TRY_ASSIGN(const auto to, part_of("buffer", *buffer, offset, bytes));
        const std::span values(static_cast<const std::byte*>(from), bytes);
        if (stream == nullptr) return to.copy_from(values);
        return to.copy_from_async(stream->stream, values);
    });
}

lode_status lode_buffer_read(const lode_buffer* buffer, size_t offset, void* to, size_t bytes,
                             const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"buffer", buffer}}));
        if (bytes != 0) LODE_TRY(require({{"to", to}}));
        LODE_TRY_ASSIGN(const auto from, part_of("buffer", *buffer, offset, bytes));
        const std::span values(static_cast<std::byte*>(to), bytes);
        if (stream == nullptr) return from.copy_to(values);
        return from.copy_to_async(stream->stream, values);
    });
}

lode_status lode_buffer_copy(lode_buffer* to, size_t to_offset, const lode_buffer* from,
                             size_t from_offset, size_t bytes, const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"to", to}, {"from", from}}));
        LODE_TRY_ASSIGN(const auto target, part_of("target", *to, to_offset, bytes));
        LODE_TRY_ASSIGN(const auto source, part_of("source", *from, from_offset, bytes));
        if (stream == nullptr) return target.copy_from(source);
        return target.copy_from_async(stream->stream, source);
    });
}

lode_status lode_buffer_fill(lode_buffer* buffer, size_t offset, uint8_t value, size_t bytes,
                             const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"buffer", buffer}}));
        LODE_TRY_ASSIGN(const auto to, part_of("buffer", *buffer, offset, bytes));
        if (stream == nullptr) return to.fill(std::byte{value});
        return to.fill_async(stream->stream, std::byte{value});
    });
}
