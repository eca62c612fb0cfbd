#include "emulator/isa/async.hpp"

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/ops/memory/copy_order.hpp"
#include "emulator/exec/ops/memory/mbarrier.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

void MemoryBarrier::advance(i32 add_transactions, u32 arrivals, u32 dropped) noexcept {
    u32 expects = expected();
    u32 pends = pending();
    i32 outstanding = transactions() + add_transactions;
    expects -= std::min(expects, dropped);
    pends -= std::min(pends, arrivals);
    u64 phase = parity();
    if (pends == 0 && outstanding == 0) {
        phase ^= 1;
        pends = expects;
    }
    bits = u64{pends} | (u64{expects} << 20) |
           ((static_cast<u64>(static_cast<i64>(outstanding)) & 0x3fffff) << 40) |
           u64{has_second_layout()} << 62 | (phase << 63);
}

namespace {

/// Calls f(lane, barrier) for each active lane; false after a fault. For a wait, f says whether it
/// is over. counts(lane) is the initial count or the number of arrivals.
template <class Counts, class F>
bool each_barrier(WarpContext& c, const Op* op, MbarrierUse use, Counts&& counts, F&& f) {
    const Access access = use == MbarrierUse::init ? Access::write : Access::atomic;
    const Window window = op->addressing.window;
    const bool narrow = op->addressing.narrow;
    const u8* addresses = source<u8>(c, op->r[1]);
    alignas(32) u8 copy[lanes * 8];
    std::memcpy(copy, addresses, narrow ? lanes * 4 : lanes * 8);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        u8* const at =
            lane_pointer(c, op, i, lane_address(copy, narrow, i) + op->imm, 8, window, access);
        if (at == nullptr) return false;
        MemoryBarrier barrier{};
        std::memcpy(&barrier.bits, at, 8);
        const u32 phase = barrier.parity();
        const u32 pending = barrier.pending();
        // The checks know the block's own memory only.
        const bool own = is_own_shared(c, at);
        if (c.sync && own) {
            const u32 count =
                use == MbarrierUse::init || use == MbarrierUse::arrive ? counts(i) : 0;
            check_mbarrier(c, op, i, static_cast<u64>(at - c.shared), use, count, pending);
        }
        const bool acts = f(i, barrier);
        std::memcpy(at, &barrier.bits, 8);
        if (c.race && use >= MbarrierUse::arrive) {
            Block& owner = own ? *c.block : owner_of_shared(c, at);
            const auto place = static_cast<u64>(at - owner.shared.data());
            const bool arrives = use == MbarrierUse::arrive;
            order_phase(c, *owner.order, i, place,
                        {.arrives = arrives,
                         .completes = barrier.parity() != phase,
                         .waited = !arrives && acts,
                         .copied = arrives && op->flags.as<ArriveFlags>().copies});
        }
    }
    return true;
}

constexpr auto no_count = [](u32) { return u32{0}; };

}  // namespace

const Op* mbarrier_init(WarpContext& c, const Op* op) {
    const u32* count = source<u32>(c, op->r[2]);
    const bool fine = each_barrier(
        c, op, MbarrierUse::init, [&](u32 i) { return count[i]; },
        [&](u32 i, MemoryBarrier& barrier) {
            barrier = MemoryBarrier::of(count[i], op->flags.as<bool>());
            return true;
        });
    return fine ? op + 1 : leave();
}

const Op* mbarrier_invalidate(WarpContext& c, const Op* op) {
    const bool fine =
        each_barrier(c, op, MbarrierUse::invalidate, no_count, [](u32, MemoryBarrier& barrier) {
            barrier.bits = 0;
            return true;
        });
    return fine ? op + 1 : leave();
}

const Op* mbarrier_check_layout(WarpContext& c, const Op* op) {
    u32 equal = 0;
    const bool fine =
        each_barrier(c, op, MbarrierUse::query, no_count, [&](u32 i, MemoryBarrier& barrier) {
            equal |= u32{barrier.has_second_layout() == op->flags.as<bool>()} << i;
            return true;
        });
    if (!fine) return leave();
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, equal, c.mask);
    return op + 1;
}

const Op* mbarrier_arrive(WarpContext& c, const Op* op) {
    const u32* operand = op->r[2] != no_slot ? source<u32>(c, op->r[2]) : nullptr;
    u64* result = op->r[0] != no_slot ? destination<u64>(c, op->r[0]) : nullptr;
    const auto flags = op->flags.as<ArriveFlags>();
    const bool bytes = flags.expect_tx || flags.complete;
    const auto arrivals = [&](u32 i) {
        if (flags.nothing) return u32{0};
        return bytes || flags.once || operand == nullptr ? u32{1} : operand[i];
    };
    const bool fine =
        each_barrier(c, op, MbarrierUse::arrive, arrivals, [&](u32 i, MemoryBarrier& barrier) {
            const u64 before = barrier.bits;
            const u32 value = operand != nullptr ? operand[i] : 1;
            const auto signed_value = static_cast<i32>(value);
            const i32 add = flags.complete ? -signed_value : (bytes ? signed_value : 0);
            const u32 count = arrivals(i);
            barrier.advance(add, count, flags.drop ? count : 0);
            if (result != nullptr) result[i] = before;
            return true;
        });
    return fine ? op + 1 : leave();
}

const Op* mbarrier_test(WarpContext& c, const Op* op) {
    const auto flags = op->flags.as<MbarrierTestFlags>();
    const u8* operand = source<u8>(c, op->r[2]);
    u32 over = 0;
    const bool fine =
        each_barrier(c, op, MbarrierUse::wait, no_count, [&](u32 i, MemoryBarrier& barrier) {
            u32 waited = 0;
            if (flags.by_parity) {
                waited = reinterpret_cast<const u32*>(operand)[i] & 1;
            } else {
                waited = static_cast<u32>(reinterpret_cast<const u64*>(operand)[i] >> 63);
            }
            const bool complete = barrier.parity() != waited;
            over |= u32{complete} << i;
            return complete;
        });
    if (!fine) return leave();
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, over, c.mask);
    const bool wait = flags.may_suspend && (over & c.mask) != c.mask;
    return wait ? give_up_turn(c, op + 1) : op + 1;
}

const Op* mbarrier_pending_count(WarpContext& c, const Op* op) {
    const u64* state = source<u64>(c, op->r[1]);
    assign_each(c, destination<u32>(c, op->r[0]),
                [=](u32 i) { return MemoryBarrier{state[i]}.pending(); });
    return op + 1;
}

const Op* copy_commit(WarpContext& c, const Op* op) {
    if (c.race) order_commit(c, op->flags.as<CopyGroupFlags>().bulk);
    return op + 1;
}

const Op* copy_wait(WarpContext& c, const Op* op) {
    const auto [bulk, reads_only] = op->flags.as<CopyGroupFlags>();
    if (c.race) order_wait(c, static_cast<u32>(op->imm), bulk, reads_only);
    return op + 1;
}

const Op* copy_async(WarpContext& c, const Op* op) {
    CopyOrder order(c);
    const u32 bytes = op->flags.as<u16>();
    const u64* to = source<u64>(c, op->r[1]);
    const u64* from = source<u64>(c, op->r[2]);
    const u32* wanted = op->r[3] != no_slot ? source<u32>(c, op->r[3]) : nullptr;
    const u32 ignored = op->r[4] != no_slot ? predicate(c, op->r[4]) : 0;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u32 limit = wanted != nullptr ? std::min(wanted[i], bytes) : bytes;
        const u32 read = bit(ignored, i) ? 0 : limit;
        u8 buffer[16] = {};
        u8* const target = lane_pointer(c, op, i, to[i], bytes, Window::shared, Access::write);
        if (target == nullptr) return leave();
        if (read != 0) {
            if ((from[i] & (bytes - 1)) != 0) {
                return raise(
                    c, op, i, Fault::misaligned_address,
                    "copies from a global address that isn't a multiple of the copy's size");
            }
            const u8* const start = lane_pointer(c, op, i, from[i], read == bytes ? bytes : 1,
                                                 Window::global, Access::read);
            if (start == nullptr) return leave();
            for (u32 k = 1; read != bytes && k < read; ++k) {
                if (lane_pointer(c, op, i, from[i] + k, 1, Window::global, Access::read) == nullptr)
                    return leave();
            }
            copy_shared_bytes(buffer, start, read);
        }
        std::memcpy(target, buffer, bytes);
        order.add(op, i, from[i], read, false, true, CopyEnd::group);
        order.add(op, i, static_cast<u64>(target - c.shared), bytes, true, false, CopyEnd::group);
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
