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
inline constexpr u16 video_halves = 8;
inline constexpr u16 video_signed_a = 16;
inline constexpr u16 video_signed_b = 32;
inline constexpr u16 video_signed_d = 64;
inline constexpr u16 video_saturate = 128;
inline constexpr u16 video_accumulate = 256;

enum class ScalarVideo : u8 { add, sub, absdiff, min, max, shift_left, shift_right, set, mad };
enum class VideoMerge : u8 { none, part, add };
/// The variant of a scalar video instruction; stored in Op::imm.
struct VideoPlan {
    ScalarVideo what = ScalarVideo::add;
    VideoMerge merge = VideoMerge::none;  ///< How the result is combined with c.
    u8 a = 0, b = 0, d = 0;               ///< VideoPart::at / 8, + 4 for 16 bits, + 8 for 8 bits.
    u8 flags = 0;                         ///< The bits below.
    u8 comparison = 0;                    ///< For vset: eq ne lt le gt ge.
    u8 unused = 0;
};
static_assert(sizeof(VideoPlan) == 8);
inline constexpr u8 plan_signed_a = 2, plan_signed_b = 4, plan_wrap = 16, plan_plus_one = 32,
                    plan_negate_product = 64, plan_negate_c = 128;

}  // namespace lode::emulator::exec
