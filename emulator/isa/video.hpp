// Video instructions on one value, four bytes or two halves.
#pragma once

#include "emulator/isa/op.hpp"

#include <array>

namespace lode::emulator::exec {

enum class Video : u16 { add, sub, absdiff, min, max, average, set };
/// The parts that a SIMD instruction reads and writes; stored in Op::imm.
struct SimdPlan {
    std::array<u8, 4> a{}, b{};  ///< By part of the result: the part of a, or after those, of b.
};
static_assert(sizeof(SimdPlan) == 8);
enum class VideoComparison : u8 { eq, ne, lt, le, gt, ge };
struct SimdFlags {
    Video what : 3 = Video::add;
    bool halves : 1 = false;
    bool signed_a : 1 = false;
    bool signed_b : 1 = false;
    bool signed_d : 1 = false;
    bool saturates : 1 = false;
    bool accumulates : 1 = false;
    u8 written : 4 = 0;                                    ///< A bit for each part.
    VideoComparison comparison : 3 = VideoComparison::eq;  ///< For vset.
};

enum class ScalarVideo : u8 { add, sub, absdiff, min, max, shift_left, shift_right, set, mad };
enum class VideoMerge : u8 { none, part, add };
/// The variant of a scalar video instruction; stored in Op::imm.
struct VideoPlan {
    ScalarVideo what = ScalarVideo::add;
    VideoMerge merge = VideoMerge::none;  ///< How the result is combined with c.
    u8 a = 0, b = 0, d = 0;               ///< VideoPart::at / 8, + 4 for 16 bits, + 8 for 8 bits.
    VideoComparison comparison = VideoComparison::eq;  ///< For vset.
    bool signed_a : 1 = false;
    bool signed_b : 1 = false;
    bool wraps : 1 = false;
    bool plus_one : 1 = false;
    bool negates_product : 1 = false;
    bool negates_c : 1 = false;
    u8 unused : 2 = 0;
    u8 unused_byte = 0;
};
static_assert(sizeof(VideoPlan) == 8);

}  // namespace lode::emulator::exec
