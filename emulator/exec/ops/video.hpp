// The SIMD video instructions on four bytes or two halves.
#pragma once

#include <emulator/exec/op.hpp>

namespace lode::emulator {

enum class Video : u16 { add, sub, absdiff, min, max, average };
/// r[0] d, r[1] a, r[2] b, r[3] c. flags: Video, + the bits below.
const Op* video_simd(Context& c, const Op* op);
inline constexpr u16 video_halves = 8;
inline constexpr u16 video_signed_a = 16;
inline constexpr u16 video_signed_b = 32;
inline constexpr u16 video_signed_d = 64;
inline constexpr u16 video_saturate = 128;
inline constexpr u16 video_accumulate = 256;

}  // namespace lode::emulator
