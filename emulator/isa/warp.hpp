// Operations across the lanes of a warp. Each lane waits until every living lane in its own member
// mask has reached the same op.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// The index in Op::r of the member mask, for every warp operation.
inline constexpr u32 members_operand = 7;

// r[0] result, r[1] predicate result (either may be no_slot), r[2] a, r[3] b, r[4] c.
enum class Shuffle : u16 { up, down, butterfly, index };
const Op* shuffle(WarpContext& c, const Op* op);  ///< flags: Shuffle

/// A shuffle in which every operand except the value is constant.
struct FixedShuffle {
    u32 members = 0;
    u32 valid = 0;  ///< Lanes whose source lane is in range.
    alignas(32) u32 from[32] = {};
};
const Op* shuffle_fixed(WarpContext& c, const Op* op);  ///< table: FixedShuffle
FixedShuffle fixed_shuffle(Shuffle kind, u32 b, u32 c, u32 members);

enum class Vote : u16 { all, any, uniform, ballot };
/// r[2] predicate; flags: Vote + vote_negated.
const Op* vote(WarpContext& c, const Op* op);
inline constexpr u16 vote_negated = 8;

/// flags: 0 any, 1 all; r[2] a.
const Op* match32(WarpContext& c, const Op* op);
const Op* match64(WarpContext& c, const Op* op);

enum class Reduction : u16 {
    add,
    min_u,
    max_u,
    min_s,
    max_s,
    bit_and,
    bit_or,
    bit_xor,
    min_f,
    max_f
};
/// flags: Reduction + reduce_abs, reduce_nan.
const Op* reduce(WarpContext& c, const Op* op);
inline constexpr u16 reduce_abs = 32;
inline constexpr u16 reduce_nan = 64;

/// elect.sync: r[0] the leader's lane, r[1] true in the leader.
const Op* elect(WarpContext& c, const Op* op);
/// bar.warp.sync. Lanes may wait at different instances.
const Op* warp_barrier(WarpContext& c, const Op* op);
const Op* active_mask(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
