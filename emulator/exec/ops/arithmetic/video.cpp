#include "emulator/isa/video.hpp"

#include "emulator/exec/lanes.hpp"

#include <algorithm>
#include <bit>

namespace lode::emulator::exec {

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
            // Halfway cases round away from zero.
            return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
        case Video::set:
            break;
    }
    return 0;
}

/// The part of a word that VideoPlan selects, extended.
i64 selected(u32 word, u8 which, bool sign) {
    const u32 width = (which & 8) != 0 ? 8 : (which & 4) != 0 ? 16 : 32;
    const u64 value = u64{word >> (which & 3) * 8} & ((u64{1} << width) - 1);
    if (!sign) return static_cast<i64>(value);
    return static_cast<i64>(value << (64 - width)) >> (64 - width);
}

bool compared(u8 how, i64 a, i64 b) {
    switch (how) {
        case 0:
            return a == b;
        case 1:
            return a != b;
        case 2:
            return a < b;
        case 3:
            return a <= b;
        case 4:
            return a > b;
        default:
            return a >= b;
    }
}

u32 multiplied(u8 flags, i64 a, i64 b, u32 c) {
    const auto product = static_cast<u32>(static_cast<u64>(a) * static_cast<u64>(b));
    if ((flags & plan_plus_one) != 0) return product + c + 1;
    if ((flags & plan_negate_product) != 0) return c - product;
    return (flags & plan_negate_c) != 0 ? product - c : product + c;
}

i64 scalar_result(const VideoPlan& plan, i64 a, i64 b) {
    switch (plan.what) {
        case ScalarVideo::sub:
            return a - b;
        case ScalarVideo::absdiff:
            return a > b ? a - b : b - a;
        case ScalarVideo::min:
            return std::min(a, b);
        case ScalarVideo::max:
            return std::max(a, b);
        case ScalarVideo::set:
            return compared(plan.comparison, a, b) ? 1 : 0;
        case ScalarVideo::shift_left:
        case ScalarVideo::shift_right: {
            const auto by = static_cast<u32>((plan.flags & plan_wrap) != 0 ? b & 31
                                             : b > 32                      ? 32
                                                                           : b);
            return plan.what == ScalarVideo::shift_left
                       ? static_cast<i64>(static_cast<u64>(a) << by)
                       : a >> by;
        }
        default:
            return a + b;
    }
}

}  // namespace

const Op* video_scalar(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[3]);
    const auto plan = std::bit_cast<VideoPlan>(op->imm);
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        const i64 x = selected(a[i], plan.a, (plan.flags & plan_signed_a) != 0);
        const i64 y = selected(b[i], plan.b, (plan.flags & plan_signed_b) != 0);
        if (plan.what == ScalarVideo::mad) return multiplied(plan.flags, x, y, e[i]);
        const auto word = static_cast<u32>(scalar_result(plan, x, y));
        if (plan.merge == VideoMerge::add) return word + e[i];
        if (plan.merge != VideoMerge::part) return word;
        const u32 at = (plan.d & 3) * 8;
        const u32 width = (plan.d & 8) != 0 ? 8 : 16;
        const u32 mask = ((1u << width) - 1) << at;
        return (e[i] & ~mask) | (word << at & mask);
    });
    return op + 1;
}

const Op* video_simd(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[3]);
    const u32 flags = op->flags;
    const u32 width = (flags & video_halves) != 0 ? 16 : 8;
    const bool sign = (flags & video_signed_d) != 0;
    const i32 lowest = sign ? -(1 << (width - 1)) : 0;
    const i32 highest = sign ? (1 << (width - 1)) - 1 : (1 << width) - 1;
    const auto plan = std::bit_cast<SimdPlan>(op->imm);
    const auto what = static_cast<Video>(flags & 7);
    const u32 mask = (1u << width) - 1;
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        const u64 both = u64{b[i]} << 32 | a[i];
        const auto operand = [&](u8 which, u32 is_signed) {
            return part(static_cast<u32>(both >> (which * width)), 0, width, is_signed != 0);
        };
        u32 merged = e[i];
        u32 sum = e[i];
        for (u32 k = 0; k < 32 / width; ++k) {
            if ((op->flags2 >> k & 1) == 0) continue;
            const i32 x = operand(plan.a[k], flags & video_signed_a);
            const i32 y = operand(plan.b[k], flags & video_signed_b);
            i32 value = what == Video::set ? i32{compared(static_cast<u8>(op->flags2 >> 4), x, y)}
                                           : result_of(what, x, y);
            if ((flags & video_saturate) != 0) value = std::clamp(value, lowest, highest);
            sum += static_cast<u32>(value);
            merged = (merged & ~(mask << (k * width))) | (static_cast<u32>(value) & mask)
                                                             << (k * width);
        }
        return (flags & video_accumulate) != 0 ? sum : merged;
    });
    return op + 1;
}

}  // namespace lode::emulator::exec
