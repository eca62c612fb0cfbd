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

bool compared(VideoComparison how, i64 a, i64 b) {
    switch (how) {
        case VideoComparison::eq:
            return a == b;
        case VideoComparison::ne:
            return a != b;
        case VideoComparison::lt:
            return a < b;
        case VideoComparison::le:
            return a <= b;
        case VideoComparison::gt:
            return a > b;
        case VideoComparison::ge:
            break;
    }
    return a >= b;
}

u32 multiplied(const VideoPlan& plan, i64 a, i64 b, u32 c) {
    const auto product = static_cast<u32>(static_cast<u64>(a) * static_cast<u64>(b));
    if (plan.plus_one) return product + c + 1;
    if (plan.negates_product) return c - product;
    return plan.negates_c ? product - c : product + c;
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
            const auto by = static_cast<u32>(plan.wraps ? b & 31 : b > 32 ? 32 : b);
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
        const i64 x = selected(a[i], plan.a, plan.signed_a);
        const i64 y = selected(b[i], plan.b, plan.signed_b);
        if (plan.what == ScalarVideo::mad) return multiplied(plan, x, y, e[i]);
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
    const auto flags = op->flags.as<SimdFlags>();
    const u32 width = flags.halves ? 16 : 8;
    const bool sign = flags.signed_d;
    const i32 lowest = sign ? -(1 << (width - 1)) : 0;
    const i32 highest = sign ? (1 << (width - 1)) - 1 : (1 << width) - 1;
    const auto plan = std::bit_cast<SimdPlan>(op->imm);
    const u32 mask = (1u << width) - 1;
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        const u64 both = u64{b[i]} << 32 | a[i];
        const auto operand = [&](u8 which, bool is_signed) {
            return part(static_cast<u32>(both >> (which * width)), 0, width, is_signed);
        };
        u32 merged = e[i];
        u32 sum = e[i];
        for (u32 k = 0; k < 32 / width; ++k) {
            if ((flags.written >> k & 1) == 0) continue;
            const i32 x = operand(plan.a[k], flags.signed_a);
            const i32 y = operand(plan.b[k], flags.signed_b);
            i32 value = flags.what == Video::set ? i32{compared(flags.comparison, x, y)}
                                                 : result_of(flags.what, x, y);
            if (flags.saturates) value = std::clamp(value, lowest, highest);
            sum += static_cast<u32>(value);
            merged = (merged & ~(mask << (k * width))) | (static_cast<u32>(value) & mask)
                                                             << (k * width);
        }
        return flags.accumulates ? sum : merged;
    });
    return op + 1;
}

}  // namespace lode::emulator::exec
