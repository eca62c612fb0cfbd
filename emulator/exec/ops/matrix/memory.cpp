// wmma.load and wmma.store: fragments from memory and to memory.
#include "emulator/exec/ops/memory/memory.hpp"

#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/ops/matrix/fragment.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

constexpr u32 max_line_bytes = 128;

/// Calls f(host bytes, bytes of the line, number of bytes) for the parts of a line; false after a
/// fault. Parts are as large as the alignment of the address allows.
template <class F>
bool each_part_of_line(WarpContext& c, const Op* op, u64 address, u32 bytes, u32 line,
                       Access access, F&& f) {
    const auto window = op->addressing.window;
    const auto alignment = static_cast<u32>(address & -address);
    const u32 part = alignment == 0 ? 16 : std::min<u32>(alignment, 16);
    for (u32 at = 0; at < bytes; at += part) {
        const u32 count = std::min(part, bytes - at);
        u8* const host = lane_pointer(c, op, line % lanes, address + at, count, window, access);
        if (host == nullptr) return false;
        f(host, at, count);
    }
    return true;
}

/// Calls f(address, line) for each line.
template <class F>
bool each_line(WarpContext& c, const Op* op, const FragmentMove& move, F&& f) {
    const u64 first = lane_address(source<u8>(c, op->r[4]), op->addressing.narrow, 0) + move.offset;
    const u64 step = u64{source<u32>(c, op->r[5])[0]} * bits_of(move.fragment.element) / 8;
    // An element of b1 is a word of 32; the stride counts bits.
    const u64 words = move.fragment.element == Element::b1 ? 32 : 1;
    for (u32 line = 0; line < move.lines; ++line)
        if (!f(first + line * (step / words), line)) return false;
    return true;
}

u32 place_of(const FragmentMove& move, u32 line, u32 k) noexcept {
    return move.by_columns ? k * move.lines + line : line * move.length + k;
}

}  // namespace

const Op* load_fragment(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& move = *static_cast<const FragmentMove*>(op->table);
    const u32 bits = bits_of(move.fragment.element);
    alignas(32) u32 raw[max_matrix_rows * 32];
    alignas(32) f64 reals[64];
    const bool fine = each_line(c, op, move, [&](u64 address, u32 line) {
        u8 bytes[max_line_bytes] = {};
        const bool there = each_part_of_line(
            c, op, address, move.length * bits / 8, line, Access::read,
            [&](const u8* host, u32 at, u32 count) { copy_shared_bytes(bytes + at, host, count); });
        for (u32 k = 0; k < move.length; ++k) {
            const u32 to = place_of(move, line, k);
            if (bits == 64) {
                std::memcpy(&reals[to], bytes + std::size_t{k} * 8, 8);
            } else {
                u32 word = 0;
                std::memcpy(&word, bytes + std::size_t{k} * bits / 32 * 4, 4);
                raw[to] = bits == 32 ? word : (word >> (k * bits % 32)) & ((1u << bits) - 1);
            }
        }
        return there;
    });
    if (!fine) return leave();
    if (bits == 64) {
        scatter_doubles(c, move.fragment, reals);
    } else {
        scatter(c, move.fragment, raw);
    }
    return op + 1;
}

const Op* store_fragment(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& move = *static_cast<const FragmentMove*>(op->table);
    const u32 bytes_each = bits_of(move.fragment.element) / 8;
    alignas(32) u32 raw[max_matrix_rows * 32];
    alignas(32) f64 reals[64];
    if (bytes_each == 8) {
        gather_doubles(c, move.fragment, reals);
    } else {
        gather(c, move.fragment, raw);
    }
    const bool fine = each_line(c, op, move, [&](u64 address, u32 line) {
        u8 bytes[max_line_bytes];
        for (u32 k = 0; k < move.length; ++k) {
            const u32 from = place_of(move, line, k);
            const void* const element =
                bytes_each == 8 ? static_cast<const void*>(&reals[from]) : &raw[from];
            std::memcpy(bytes + std::size_t{k} * bytes_each, element, bytes_each);
        }
        return each_part_of_line(
            c, op, address, move.length * bytes_each, line, Access::write,
            [&](u8* host, u32 at, u32 count) { copy_shared_bytes(host, bytes + at, count); });
    });
    if (!fine) return leave();
    return op + 1;
}

}  // namespace lode::emulator::exec
