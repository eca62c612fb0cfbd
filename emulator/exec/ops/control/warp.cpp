#include "emulator/isa/warp.hpp"

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/isa/real.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// Runs `body` once every lane is ready; parks the group otherwise.
template <class Body>
[[gnu::always_inline]] inline const Op* together(WarpContext& c, const Op* op, Body&& body) {
    const u32* members = source<u32>(c, op->r[members_operand]);
    const u32 mask = c.mask;
    u32 named = 0;
    u32 differ = 0;
    u32 in_own = 0;
    const u32 first = members[std::countr_zero(mask)];
    for (u32 i = 0; i < lanes; ++i) {
        const u32 active = 0 - ((mask >> i) & 1);
        named |= members[i] & active;
        differ |= (members[i] ^ first) & active;
        in_own |= (members[i] >> i & 1) << i;
    }
    if ((in_own & mask) != mask) [[unlikely]] {
        const auto lane = static_cast<u32>(std::countr_zero(~in_own & mask));
        return raise(c, op, lane, Fault::illegal_instruction,
                     fmt::format("executes a warp operation with a member mask that leaves its own "
                                 "lane out\nmask: 0x{:08x} of lane {}",
                                 members[lane], lane));
    }
    if ((named & c.warp->live & ~mask) != 0) return park(c, sync_wait, op);
    if (c.sync && differ != 0) check_members(c, op, members);
    body(members, first, differ == 0);
    return op + 1;
}

/// d[i] = a[from[i]]; d may be a.
[[gnu::always_inline]] inline void permute(WarpContext& c, const Op* op, const u32* from) {
    alignas(32) u32 values[lanes];
    std::memcpy(values, source<u32>(c, op->r[2]), sizeof values);
    if (op->r[0] == no_slot) return;
    assign(c, destination<u32>(c, op->r[0]), [&](u32 i) { return values[from[i]]; });
}

}  // namespace

const Op* shuffle_fixed(WarpContext& c, const Op* op) {
    const auto& fixed = *static_cast<const FixedShuffle*>(op->table);
    const u32 mask = c.mask;
    // Handles only the common case: all living members have arrived, and no other lanes.
    if ((fixed.members & c.warp->live) != mask || c.sync) [[unlikely]]
        return shuffle(c, op);
    permute(c, op, fixed.from);
    if (op->r[1] != no_slot) {
        u32& p = predicate_destination(c, op->r[1]);
        p = merged(p, fixed.valid, mask);
    }
    return op + 1;
}

const Op* shuffle(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32, bool) {
        const u32* b = source<u32>(c, op->r[3]);
        const u32* e = source<u32>(c, op->r[4]);
        const auto kind = op->flags.as<Shuffle>();
        alignas(32) u32 from[lanes];
        u32 valid = 0;
        for (u32 i = 0; i < lanes; ++i) {
            const SourceLane lane = source_lane(kind, i, b[i], e[i]);
            from[i] = lane.index;
            valid |= u32{lane.in_range} << i;
        }
        if (c.sync) {
            check_sources(c, op, from, members,
                          kind == Shuffle::index || kind == Shuffle::butterfly);
        }
        permute(c, op, from);
        if (op->r[1] != no_slot) {
            u32& p = predicate_destination(c, op->r[1]);
            p = merged(p, valid, c.mask);
        }
    });
}

const Op* vote(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32 first, bool same) {
        const u32 yes = predicate(c, op->r[2]);
        const u32 mask = c.mask;
        const auto kind = op->flags.as<Vote>();
        const auto holds = [&](u32 who) {
            const u32 voters = who & mask;
            switch (kind) {
                case Vote::all:
                    return (yes & voters) == voters;
                case Vote::any:
                    return (yes & voters) != 0;
                default:
                    return (yes & voters) == voters || (yes & voters) == 0;
            }
        };
        if (kind == Vote::ballot) {
            u32* d = destination<u32>(c, op->r[0]);
            if (same) {
                assign(c, d, [=](u32) { return yes & first & mask; });
            } else {
                assign_each(c, d, [&](u32 i) { return yes & members[i] & mask; });
            }
            return;
        }
        u32 result = 0;
        if (same) {
            result = holds(first) ? all_lanes : 0;
        } else {
            each_lane(mask, [&](u32 i) { result |= u32{holds(members[i])} << i; });
        }
        u32& p = predicate_destination(c, op->r[0]);
        p = merged(p, result, mask);
    });
}

namespace {

template <class T>
const Op* match(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32, bool) {
        alignas(32) T a[lanes];
        std::memcpy(a, source<T>(c, op->r[2]), sizeof a);
        u32* d = op->r[0] != no_slot ? destination<u32>(c, op->r[0]) : nullptr;
        const bool all = op->flags.as<Match>() == Match::all;
        u32 whole = 0;
        each_lane(c.mask, [&](u32 i) {
            u32 equal = 0;
            each_lane(members[i] & c.mask, [&](u32 k) { equal |= u32{a[k] == a[i]} << k; });
            const bool every = equal == (members[i] & c.mask);
            whole |= u32{every} << i;
            if (d != nullptr) d[i] = all && !every ? 0 : equal;
        });
        if (op->r[1] != no_slot) {
            u32& p = predicate_destination(c, op->r[1]);
            p = merged(p, whole, c.mask);
        }
    });
}

u32 reduced(const u32* a, u32 who, ReduceFlags flags) {
    const Reduction kind = flags.what;
    const auto value = [&](u32 i) { return flags.of_magnitudes ? a[i] & 0x7fff'ffff : a[i]; };
    const auto lane = static_cast<u32>(std::countr_zero(who));
    u32 sum = value(lane);
    if (who == 1u << lane && kind >= Reduction::min_f) return bits_of(canonical(real32(sum)));
    each_lane(who & (who - 1), [&](u32 i) {
        const u32 x = value(i);
        const bool nan = flags.keeps_nan;
        switch (kind) {
            case Reduction::add:
                sum += x;
                break;
            case Reduction::min_u:
                sum = std::min(sum, x);
                break;
            case Reduction::max_u:
                sum = std::max(sum, x);
                break;
            case Reduction::min_s:
                sum = static_cast<u32>(std::min(static_cast<i32>(sum), static_cast<i32>(x)));
                break;
            case Reduction::max_s:
                sum = static_cast<u32>(std::max(static_cast<i32>(sum), static_cast<i32>(x)));
                break;
            case Reduction::bit_and:
                sum &= x;
                break;
            case Reduction::bit_or:
                sum |= x;
                break;
            case Reduction::bit_xor:
                sum ^= x;
                break;
            case Reduction::min_f:
                sum = bits_of(nan ? least_or_nan(real32(sum), real32(x))
                                  : least(real32(sum), real32(x)));
                break;
            case Reduction::max_f:
                sum = bits_of(nan ? greatest_or_nan(real32(sum), real32(x))
                                  : greatest(real32(sum), real32(x)));
                break;
        }
    });
    return sum;
}

}  // namespace

const Op* match32(WarpContext& c, const Op* op) {
    return match<u32>(c, op);
}
const Op* match64(WarpContext& c, const Op* op) {
    return match<u64>(c, op);
}

const Op* reduce(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32 first, bool same) {
        alignas(32) u32 a[lanes];
        std::memcpy(a, source<u32>(c, op->r[2]), sizeof a);
        u32* d = destination<u32>(c, op->r[0]);
        const auto flags = op->flags.as<ReduceFlags>();
        if (same) {
            const u32 value = reduced(a, first & c.mask, flags);
            assign(c, d, [=](u32) { return value; });
        } else {
            assign_each(c, d, [&](u32 i) { return reduced(a, members[i] & c.mask, flags); });
        }
    });
}

const Op* elect(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32, bool) {
        u32 leaders = 0;
        each_lane(c.mask, [&](u32 i) {
            const auto leader = static_cast<u32>(std::countr_zero(members[i] & c.mask));
            leaders |= 1u << leader;
            if (op->r[0] != no_slot) destination<u32>(c, op->r[0])[i] = leader;
        });
        if (op->r[1] != no_slot) {
            u32& p = predicate_destination(c, op->r[1]);
            p = merged(p, leaders, c.mask);
        }
    });
}

const Op* warp_barrier(WarpContext& c, const Op* op) {
    return together(c, op, [&](const u32* members, u32, bool) {
        if (c.race) order_warp(*c.warp, c.mask, members);
    });
}

const Op* active_mask(WarpContext& c, const Op* op) {
    const u32 mask = c.mask;
    assign(c, destination<u32>(c, op->r[0]), [=](u32) { return mask; });
    return op + 1;
}

}  // namespace lode::emulator::exec
