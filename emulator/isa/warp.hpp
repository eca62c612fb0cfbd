// Operations across the lanes of a warp. Each lane waits until every living lane in its own member
// mask has reached the same op.
#pragma once

#include "emulator/isa/op.hpp"

#include <vector>

namespace lode::emulator::exec {

/// The index in Op::r of the member mask, for every warp operation.
inline constexpr u32 members_operand = 7;

enum class Shuffle : u16 { up, down, butterfly, index };

/// The lane whose value lane `i` gets; its own if the source is out of range.
struct SourceLane {
    u32 index;
    bool in_range;
};
[[gnu::always_inline]] inline SourceLane source_lane(Shuffle kind, u32 i, u32 b, u32 c) noexcept {
    const u32 n = b & 31;
    const u32 segment = (c >> 8) & 31;
    const u32 last = (i & segment) | (c & 31 & ~segment);
    u32 from = (i & segment) | (n & ~segment);
    if (kind == Shuffle::up) from = i - n;
    if (kind == Shuffle::down) from = i + n;
    if (kind == Shuffle::butterfly) from = i ^ n;
    const bool in_range =
        kind == Shuffle::up ? static_cast<i32>(from) >= static_cast<i32>(last) : from <= last;
    return {in_range ? from & 31 : i, in_range};
}

/// A shuffle in which every operand except the value is constant.
struct FixedShuffle {
    u32 members = 0;
    u32 valid = 0;  ///< Lanes whose source lane is in range.
    alignas(32) u32 from[32] = {};
};

/// The registers of an instruction that may hold what shuffles have taken from absent lanes, or
/// what is computed from it.
struct ShuffledRegisters {
    std::vector<Slot> reads, writes;
    bool computes = false;     ///< The results hold what is read; otherwise that is used.
    Slot condition = no_slot;  ///< selp: where it is true, only reads[0] counts, else reads[1].
};

enum class Vote : u16 { all, any, uniform, ballot };
enum class Match : u16 { any, all };

enum class Reduction : u8 {
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
struct ReduceFlags {
    Reduction what = Reduction::add;
    bool of_magnitudes : 1 = false;
    bool keeps_nan : 1 = false;
    u8 unused : 6 = 0;
};

}  // namespace lode::emulator::exec
