#include "emulator/driver/memory/copies.hpp"

#include "base/os/memory.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// Size of a box in bytes, from its first to its last byte.
CheckedSize extent(const Side& side, const BoxCopy& box) noexcept {
    return CheckedSize(box.depth - 1) * side.slice + CheckedSize(box.height - 1) * side.pitch +
           box.width;
}

/// In reports, an address at most this far past an allocation counts as an overrun of it.
constexpr std::uint64_t near = std::uint64_t{1} << 20;

bool in_arena(const std::byte* at) {
    return driver().memory.bounds(reinterpret_cast<std::uint64_t>(at))[1] != 0;
}

/// Whether an address is in the device's range. Freed memory and gaps between allocations must not
/// be treated as host memory, which isn't checked.
bool is_device_address(const std::byte* at) {
    return driver().memory.reserves(reinterpret_cast<std::uint64_t>(at));
}

/// Whether a range stays inside the variable of a module in which it starts, if it does; logs it
/// otherwise. A module's variables are one allocation.
bool stays_in_variable(std::uint64_t address, std::size_t bytes) {
    if (!driver().settings.checks.memory) return true;
    const auto place = driver().memory.find(address);
    if (!place || place->kind != MemoryKind::module_data) return true;
    std::string left;
    driver().modules.for_each([&](const LoadedModule& module) {
        for (const Global& it : module.code().globals()) {
            if (address - it.address >= it.bytes || bytes <= it.bytes - (address - it.address))
                continue;
            left = fmt::format(
                "A copy or fill of {} goes {} past the end of the {}-byte variable {}\n"
                "  address: {:#x}, {} into it",
                bytes_text(bytes), bytes_text(bytes - (it.bytes - (address - it.address))),
                it.bytes, it.name, address, bytes_text(address - it.address));
        }
    });
    if (!left.empty()) log::report(left);
    return left.empty();
}

/// Whether a device range is inside one living allocation; logs the reason if it isn't.
bool check_device_range(const std::byte* at, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uint64_t>(at);
    const auto bounds = driver().memory.bounds(address);
    if (bounds[1] != 0 && bytes <= bounds[1] - address) return stays_in_variable(address, bytes);
    std::string what = "isn't in any allocation";
    std::string facts = ", which may be a host pointer";
    const Location place = driver().memory.locate(address);
    const auto& known = place.inside ? place.inside : place.below;
    const auto fact = [&](std::uint64_t distance, std::string_view where) {
        facts = fmt::format(", {} {}\n  allocation: {}", bytes_text(distance), where,
                            origin_text(*known));
    };
    if (place.inside) {
        what = known->freed
                   ? fmt::format("reaches a {}-byte allocation that has been freed", known->bytes)
                   : fmt::format("goes {} past the end of a {}-byte allocation",
                                 bytes_text(bytes - (known->end() - address)), known->bytes);
        fact(address - known->address, "into it");
    } else if (place.reserved) {
        what = "is in a reserved range that has no accessible memory";
        facts.clear();
    } else if (known && address - known->end() < near) {
        what = fmt::format("starts past the end of a {}-byte allocation", known->bytes);
        fact(address - known->end(), "past the end");
    }
    log::report(fmt::format("A copy or fill of {} {}\n  address: {:#x}{}", bytes_text(bytes), what,
                            address, facts));
    return false;
}

/// Resolves CU_MEMORYTYPE_UNIFIED and checks the range.
CUresult check_side(Side& side, const BoxCopy& box) {
    const CheckedSize end = extent(side, box) + reinterpret_cast<std::uintptr_t>(side.at);
    if (side.at == nullptr || !end.valid()) return CUDA_ERROR_INVALID_VALUE;
    if (side.type == CU_MEMORYTYPE_UNIFIED) {
        const bool of_device = in_arena(side.at) || is_device_address(side.at);
        side.type = of_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    }
    // Page-locked memory is in the device's range: it may be freed already or too short.
    if (side.type == CU_MEMORYTYPE_HOST && !is_device_address(side.at)) {
        // Without memory there, a copy would crash the process.
        return os::has_memory(side.at, extent(side, box).value()) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
    }
    if (side.type != CU_MEMORYTYPE_DEVICE && side.type != CU_MEMORYTYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return check_device_range(side.at, extent(side, box).value()) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
}

bool is_pageable(const Side& side) {
    return side.type == CU_MEMORYTYPE_HOST && !in_arena(side.at);
}

/// Calls f(to, from) for each row of a copy.
template <class F>
void each_row(const BoxCopy& box, F&& f) {
    for (std::size_t z = 0; z < box.depth; ++z) {
        for (std::size_t y = 0; y < box.height; ++y) {
            f(box.to.at + z * box.to.slice + y * box.to.pitch,
              box.from.at + z * box.from.slice + y * box.from.pitch);
        }
    }
}

/// Calls is_same(bytes, offset, count) for pieces of memory that kernels may write meanwhile, until
/// it says no; returns whether it never did.
template <class F>
bool all_pieces(const std::byte* at, std::size_t bytes, F&& is_same) {
    alignas(8) std::byte piece[1024];
    for (std::size_t done = 0; done < bytes; done += sizeof piece) {
        const std::size_t count = std::min(sizeof piece, bytes - done);
        copy_shared_bytes(piece, at + done, count);
        if (!is_same(piece, done, count)) return false;
    }
    return true;
}

bool is_same(const std::byte* a, const std::byte* b, std::size_t bytes) {
    return all_pieces(a, bytes, [&](const std::byte* one, std::size_t at, std::size_t count) {
        return all_pieces(b + at, count, [&](const std::byte* other, std::size_t, std::size_t) {
            return std::memcmp(one, other, count) == 0;
        });
    });
}

/// Tells the check of order what a copy is about to touch.
void note_copy(StreamOrder& order, const BoxCopy& box) {
    TouchedBytes touched;
    const auto add = [&](Touch touch, const std::byte* at) {
        const auto first = reinterpret_cast<std::uint64_t>(at);
        touched[static_cast<std::size_t>(touch)].add({first, first + box.width});
    };
    each_row(box, [&](const std::byte* to, const std::byte* from) {
        if (is_device_address(from)) add(Touch::read, from);
        if (!is_device_address(to)) return;
        add(is_same(to, from, box.width) ? Touch::same_write : Touch::write, to);
    });
    const std::size_t bytes = box.width * box.height * box.depth;
    order.note(std::move(touched), {"a copy of " + bytes_text(bytes), {}, false});
}

void copy_now(const BoxCopy& box) {
    Memory& memory = driver().memory;
    if (StreamOrder* const order = driver().order.get(); order != nullptr && Performing::current())
        note_copy(*order, box);
    each_row(box, [&](std::byte* to, const std::byte* from) {
        copy_shared_bytes(to, from, box.width);
        memory.note_copy(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from),
                         box.width);
    });
}

/// Replaces the source by a private copy.
std::shared_ptr<std::vector<std::byte>> stage(BoxCopy& box) {
    auto bytes = std::make_shared<std::vector<std::byte>>(box.width * box.height * box.depth);
    BoxCopy staged = box;
    staged.to = Side{bytes->data(), box.width, box.width * box.height, CU_MEMORYTYPE_HOST};
    copy_now(staged);
    box.from = staged.to;
    return bytes;
}

void fill_row(std::byte* at, std::uint32_t value, std::size_t value_bytes,
              std::size_t count) noexcept {
    switch (value_bytes) {
        case 1:
            return fill_shared(at, static_cast<std::uint8_t>(value), count);
        case 2:
            return fill_shared(at, static_cast<std::uint16_t>(value), count);
        default:
            return fill_shared(at, value, count);
    }
}

/// Tells the check of order what a fill is about to touch.
void note_fill(StreamOrder& order, const CUDA_MEMSET_NODE_PARAMS_v1& fill) {
    TouchedBytes touched;
    const std::size_t row = fill.width * fill.elementSize;
    for (std::size_t y = 0; y < fill.height; ++y) {
        const CUdeviceptr to = fill.dst + y * fill.pitch;
        const auto* const at = reinterpret_cast<const std::byte*>(to);
        const auto has_value = [&](const std::byte* piece, std::size_t, std::size_t count) {
            for (std::size_t k = 0; k < count; k += fill.elementSize)
                if (std::memcmp(piece + k, &fill.value, fill.elementSize) != 0) return false;
            return true;
        };
        const Touch touch = all_pieces(at, row, has_value) ? Touch::same_write : Touch::write;
        touched[static_cast<std::size_t>(touch)].add({to, to + row});
    }
    order.note(std::move(touched), {"a fill of " + bytes_text(row * fill.height), {}, false});
}

void fill_rows(const CUDA_MEMSET_NODE_PARAMS_v1& fill) {
    auto* const at = reinterpret_cast<std::byte*>(fill.dst);
    if (StreamOrder* const order = driver().order.get(); order != nullptr) note_fill(*order, fill);
    for (std::size_t y = 0; y < fill.height; ++y) {
        fill_row(at + y * fill.pitch, fill.value, fill.elementSize, fill.width);
        driver().memory.note_write(fill.dst + y * fill.pitch, fill.width * fill.elementSize);
    }
}

/// In a capture, the result of a copy or fill there; nullopt otherwise.
template <class Make>
std::optional<CUresult> capture_copy(const StreamUse& use, Waits waits, Make&& make) {
    Captures& captures = driver().graph_tables.captures;
    return waits == Waits::yes ? captures.refuse(use) : captures.add(use, make);
}

/// `in_device`: it touches device memory alone. Then the driver doesn't promise that a call waits.
CUresult perform(const StreamUse& use, Stream::Work work, Waits waits, bool in_device = false) {
    if (waits == Waits::yes) return use.context->run(*use.stream, std::move(work), !in_device);
    use.submit(std::move(work));
    return CUDA_SUCCESS;
}

/// For the check of order: whether an address is in device memory.
bool is_device_memory(const std::byte* at) {
    if (driver().order == nullptr) return false;
    const auto place = driver().memory.find(reinterpret_cast<std::uint64_t>(at));
    return place && place->kind == MemoryKind::device;
}

}  // namespace

CUresult check_copy(BoxCopy& box) {
    if (box.width == 0 || box.height == 0 || box.depth == 0) return CUDA_SUCCESS;
    if (box.height > 1 && (box.from.pitch < box.width || box.to.pitch < box.width))
        return CUDA_ERROR_INVALID_VALUE;
    if (box.depth > 1 && (!(CheckedSize(box.from.pitch) * box.height).at_most(box.from.slice) ||
                          !(CheckedSize(box.to.pitch) * box.height).at_most(box.to.slice)))
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult state = check_side(box.from, box); state != CUDA_SUCCESS) return state;
    return check_side(box.to, box);
}

CUresult copy(const StreamUse& use, const BoxCopy& requested, Waits waits) {
    BoxCopy box = requested;
    if (const CUresult state = check_copy(box); state != CUDA_SUCCESS) return state;
    if (const auto captured = capture_copy(use, waits, [&] {
            return CopyWork{describe(box), box, use.context};
        }))
        return *captured;
    if (box.width == 0 || box.height == 0 || box.depth == 0) return CUDA_SUCCESS;
    if (waits == Waits::yes || is_pageable(box.to)) {
        const bool in_device = is_device_memory(box.to.at) && is_device_memory(box.from.at);
        return perform(
            use, [box] { copy_now(box); }, Waits::yes, in_device);
    }
    if (is_pageable(box.from)) {
        auto bytes = stage(box);
        return perform(
            use, [box, bytes = std::move(bytes)] { copy_now(box); }, Waits::no);
    }
    return perform(
        use, [box] { copy_now(box); }, Waits::no);
}

CUresult copy(const StreamUse& use, Side to, Side from, std::size_t bytes, Waits waits) {
    return copy(use, BoxCopy{from, to, bytes, 1, 1}, waits);
}

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS_v1& fill) {
    const CheckedSize row_size = CheckedSize(fill.width) * fill.elementSize;
    const CheckedSize size =
        CheckedSize(fill.height == 0 ? 0 : fill.height - 1) * fill.pitch + row_size;
    if (!size.valid()) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t row = row_size.value();
    if (fill.dst % fill.elementSize != 0 ||
        (fill.height > 1 && (fill.pitch % fill.elementSize != 0 || fill.pitch < row)))
        return CUDA_ERROR_INVALID_VALUE;
    if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
    return check_device_range(reinterpret_cast<std::byte*>(fill.dst), size.value())
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult fill(const StreamUse& use, CUdeviceptr to, std::size_t pitch, std::uint32_t value,
              std::size_t value_bytes, std::size_t width, std::size_t height, Waits waits) {
    const CUDA_MEMSET_NODE_PARAMS_v1 parameters{
        to, pitch, value, static_cast<unsigned>(value_bytes), width, height};
    if (const CUresult state = check_fill(parameters); state != CUDA_SUCCESS) return state;
    if (const auto captured = capture_copy(use, waits, [&] {
            return FillWork{parameters, use.context};
        }))
        return *captured;
    if (width == 0 || height == 0) return CUDA_SUCCESS;
    return perform(
        use, [parameters] { fill_rows(parameters); }, waits,
        is_device_memory(reinterpret_cast<const std::byte*>(to)));
}

CUDA_MEMCPY3D describe(const BoxCopy& box) noexcept {
    CUDA_MEMCPY3D copy{};
    const auto rows = [](const Side& side) {
        return side.pitch == 0 ? std::size_t{0} : side.slice / side.pitch;
    };
    copy.srcMemoryType = box.from.type;
    copy.srcHost = box.from.at;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(box.from.at);
    copy.srcPitch = box.from.pitch;
    copy.srcHeight = rows(box.from);
    copy.dstMemoryType = box.to.type;
    copy.dstHost = box.to.at;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(box.to.at);
    copy.dstPitch = box.to.pitch;
    copy.dstHeight = rows(box.to);
    copy.WidthInBytes = box.width;
    copy.Height = box.height;
    copy.Depth = box.depth;
    return copy;
}

Stream::Work deferred_copy(const BoxCopy& box, std::shared_ptr<Context> context) {
    return [box = BoxCopy(box), context = std::move(context)]() mutable {
        if (box.width == 0 || box.height == 0 || box.depth == 0) return;
        if (check_copy(box) != CUDA_SUCCESS) return context->fail(CUDA_ERROR_ILLEGAL_ADDRESS);
        copy_now(box);
    };
}

Stream::Work deferred_fill(const CUDA_MEMSET_NODE_PARAMS_v1& fill,
                           std::shared_ptr<Context> context) {
    return [fill, context = std::move(context)] {
        if (check_fill(fill) != CUDA_SUCCESS) return context->fail(CUDA_ERROR_ILLEGAL_ADDRESS);
        fill_rows(fill);
    };
}

}  // namespace lode::emulator::driver
