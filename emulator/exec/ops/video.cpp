#include <algorithm>

#include <emulator/exec/lanes.hpp>
#include <emulator/exec/ops/video.hpp>

namespace lode::emulator {

namespace {

i32 part(u32 word, u32 at, u32 width, bool sign) {
    const u32 value = (word >> at) & ((1u << width) - 1);
    if (!sign) return static_cast<i32>(value);
    return static_cast<i32>(value << (32 - width)) >> (32 - width);
}

i32 result_of(Video what, i32 a, i32 b) {
    switch (what) {
        case Video::add:
            return a + b;
        case Video::sub:
            return a - b;
        case Video::absdiff:
            return a > b ? a - b : b - a;
        case Video::min:
            return std::min(a, b);
        case Video::max:
            return std::max(a, b);
        case Video::average:
            // Halves round away from zero.
            return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    }
    return 0;
}

}  // namespace

const Op* video_simd(Context& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[3]);
    const u32 flags = op->flags;
    const u32 width = (flags & video_halves) != 0 ? 16 : 8;
    const bool sign = (flags & video_signed_d) != 0;
    const i32 lowest = sign ? -(1 << (width - 1)) : 0;
    const i32 highest = sign ? (1 << (width - 1)) - 1 : (1 << width) - 1;
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        u32 packed_result = 0;
        u32 sum = e[i];
        for (u32 at = 0; at < 32; at += width) {
            i32 value = result_of(static_cast<Video>(flags & 7),
                                  part(a[i], at, width, (flags & video_signed_a) != 0),
                                  part(b[i], at, width, (flags & video_signed_b) != 0));
            if ((flags & video_saturate) != 0) value = std::clamp(value, lowest, highest);
            sum += static_cast<u32>(value);
            packed_result |= (static_cast<u32>(value) & ((1u << width) - 1)) << at;
        }
        return (flags & video_accumulate) != 0 ? sum : packed_result;
    });
    return op + 1;
}

}  // namespace lode::emulator
