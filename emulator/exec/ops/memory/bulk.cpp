// Bulk copies and reductions. They are complete at once; the mbarrier counts their bytes.
#include "emulator/exec/ops/memory/bulk.hpp"

#include "emulator/exec/ops/memory/mbarrier.hpp"
#include "emulator/isa/async.hpp"
#include "emulator/isa/cluster.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

u8* bulk_range(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, bool shared,
               Access access) {
    const Window window = shared ? Window::shared : Window::global;
    u8* const first = lane_pointer(c, op, lane, address, 16, window, access);
    if (first == nullptr || bytes <= 16) return first;
    if (!shared && !c.check_memory) return first;
    for (u32 at = 16; at < bytes; at += 16) {
        if (lane_pointer(c, op, lane, address + at, 16, window, access) == nullptr) return nullptr;
    }
    return first;
}

bool complete_bytes(WarpContext& c, const Op* op, u32 lane, u64 barrier, u32 bytes,
                    CopyOrder& order) {
    u8* const at = lane_pointer(c, op, lane, barrier, 8, Window::shared, Access::atomic);
    if (at == nullptr) return false;
    MemoryBarrier object{};
    std::memcpy(&object.bits, at, 8);
    const u32 phase = object.parity();
    object.advance(-static_cast<i32>(bytes), 0, 0);
    std::memcpy(at, &object.bits, 8);
    order.arrive(op, lane, at, object.parity() != phase);
    return true;
}

u64 in_block(u64 address, u32 rank) noexcept {
    return (address & own_offset_mask) | u64{rank + 1} << rank_shift;
}

namespace {

/// The operands of one lane's copy.
struct BulkCopy {
    u64 to = 0, from = 0;
    u32 bytes = 0;
    BulkFlags flags;
    u16 byte_mask = 0xffff;   ///< The bytes of each 16 to write.
    u32 first = 0, last = 0;  ///< Bytes to ignore at the start, and at the end.
    CopyEnd end = CopyEnd::bulk_group;
};

bool copy_range(WarpContext& c, const Op* op, u32 lane, const BulkCopy& copy, CopyOrder& order) {
    if (copy.bytes == 0) return true;
    const u8* const start =
        bulk_range(c, op, lane, copy.from, copy.bytes, copy.flags.from_shared, Access::read);
    if (start == nullptr) return false;
    const Access access = copy.flags.reduces ? Access::atomic : Access::write;
    u8* const target = bulk_range(c, op, lane, copy.to, copy.bytes, copy.flags.to_shared, access);
    if (target == nullptr) return false;
    if (copy.flags.reduces) {
        combine_elements(copy.flags.type, copy.flags.reduction, target, start, copy.bytes,
                         copy.flags.to_shared);
    } else if (copy.byte_mask == 0xffff) {
        copy_shared_bytes(target, start, copy.bytes);
    } else {
        for (u32 k = 0; k < copy.bytes; ++k) {
            if (bit(copy.byte_mask, k % 16)) copy_shared_bytes(target + k, start + k, 1);
        }
    }
    order.add_at(op, lane, start, copy.from, copy.bytes, copy.flags.from_shared, true, copy.end);
    order.add_at(op, lane, target, copy.to, copy.bytes, copy.flags.to_shared, false, copy.end);
    return true;
}

/// Copies all but the ignored bytes, of which the destination's stay as they are.
bool copy_inside(WarpContext& c, const Op* op, u32 lane, const BulkCopy& copy, CopyOrder& order) {
    const u32 end = copy.bytes - std::min(copy.last, copy.bytes);
    if (copy.bytes == 0 || copy.first >= end) return true;
    u8* const target = bulk_range(c, op, lane, copy.to, copy.bytes, true, Access::write);
    if (target == nullptr) return false;
    const u32 whole = std::min((copy.first + 15) / 16 * 16, end);
    const u32 rest = std::max(whole, end / 16 * 16);
    const auto take_byte = [&](u32 at) {
        const u8* const from =
            lane_pointer(c, op, lane, copy.from + at, 1, Window::global, Access::read);
        if (from != nullptr) copy_shared_bytes(target + at, from, 1);
        return from != nullptr;
    };
    for (u32 k = copy.first; k < whole; ++k)
        if (!take_byte(k)) return false;
    if (whole < rest) {
        const u8* const start =
            bulk_range(c, op, lane, copy.from + whole, rest - whole, false, Access::read);
        if (start == nullptr) return false;
        copy_shared_bytes(target + whole, start, rest - whole);
    }
    for (u32 k = rest; k < end; ++k)
        if (!take_byte(k)) return false;
    const u32 size = end - copy.first;
    order.add(op, lane, copy.from + copy.first, size, false, true, copy.end);
    order.add_at(op, lane, target + copy.first, copy.to + copy.first, size, true, false, copy.end);
    return true;
}

}  // namespace

const Op* copy_bulk(WarpContext& c, const Op* op) {
    CopyOrder order(c);
    const u64* to = source<u64>(c, op->r[1]);
    const u64* from = source<u64>(c, op->r[2]);
    const u32* bytes = source<u32>(c, op->r[3]);
    const u64* barriers = op->r[4] != no_slot ? source<u64>(c, op->r[4]) : nullptr;
    const bool ignores = op->flags.as<BulkFlags>().ignores;
    const u16* blocks = op->r[5] != no_slot && !ignores ? source<u16>(c, op->r[5]) : nullptr;
    const u16* masks = op->r[6] != no_slot && !ignores ? source<u16>(c, op->r[6]) : nullptr;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        if (bytes[i] % 16 != 0) {
            return raise(c, op, i, Fault::illegal_instruction,
                         fmt::format("makes a bulk copy of {}, which isn't a multiple of 16 bytes",
                                     bytes_text(bytes[i])));
        }
        BulkCopy copy{to[i], from[i], bytes[i], op->flags.as<BulkFlags>()};
        if (barriers != nullptr) copy.end = CopyEnd::mbarrier;
        if (masks != nullptr) copy.byte_mask = masks[i];
        if (copy.flags.prefetches) {
            const bool fine = bytes[i] == 0 || bulk_range(c, op, i, from[i], bytes[i], false,
                                                          Access::prefetch) != nullptr;
            if (!fine) return leave();
        } else if (blocks != nullptr) {
            for (u32 rest = blocks[i]; rest != 0; rest &= rest - 1) {
                const auto rank = static_cast<u32>(std::countr_zero(rest));
                copy.to = in_block(to[i], rank);
                const bool fine =
                    copy_range(c, op, i, copy, order) &&
                    complete_bytes(c, op, i, in_block(barriers[i], rank), bytes[i], order);
                if (!fine) return leave();
            }
        } else {
            if (ignores) {
                copy.first = source<u32>(c, op->r[5])[i];
                copy.last = source<u32>(c, op->r[6])[i];
            }
            const bool fine =
                ignores ? copy_inside(c, op, i, copy, order) : copy_range(c, op, i, copy, order);
            if (!fine) return leave();
            if (barriers != nullptr && !complete_bytes(c, op, i, barriers[i], bytes[i], order))
                return leave();
        }
    }
    return op + 1;
}

const Op* store_bulk(WarpContext& c, const Op* op) {
    const u64* to = source<u64>(c, op->r[1]);
    const u64* bytes = source<u64>(c, op->r[2]);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const auto size = static_cast<u32>(bytes[i]);
        if (size == 0) continue;
        u8* const target = bulk_range(c, op, i, to[i], size, true, Access::write);
        if (target == nullptr) return leave();
        std::memset(target, 0, size);
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
