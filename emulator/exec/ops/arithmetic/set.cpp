// set.<cmp>.<result>.<source> for every pair, and setp of packed halves: for each active lane, with
// the comparison in the flags.
#include "emulator/isa/set.hpp"

#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/half.hpp"

#include <cmath>
#include <type_traits>

namespace lode::emulator::exec {

namespace {

bool is_nan(auto a) {
    if constexpr (std::is_floating_point_v<decltype(a)>) return std::isnan(a);
    return false;
}

template <class T>
bool holds(T a, T b, Comparison comparison) {
    if (is_nan(a) || is_nan(b))
        return comparison >= Comparison::equ && comparison != Comparison::num;
    switch (comparison) {
        case Comparison::eq:
        case Comparison::equ:
            return a == b;
        case Comparison::ne:
        case Comparison::neu:
            return a != b;
        case Comparison::lt:
        case Comparison::ltu:
            return a < b;
        case Comparison::le:
        case Comparison::leu:
            return a <= b;
        case Comparison::gt:
        case Comparison::gtu:
            return a > b;
        case Comparison::ge:
        case Comparison::geu:
            return a >= b;
        default:
            return comparison == Comparison::num;
    }
}

struct AsIs {
    template <class T>
    static T read(T a, SetFlags) {
        return a;
    }
    static f32 read(f32 a, SetFlags flags) { return flags.flush ? flushed(a) : a; }
};
struct AsHalf {
    static f32 read(u16 a, SetFlags flags) {
        return half_to_real(flags.flush ? flushed_half(a) : a);
    }
};
struct AsBfloat {
    static f32 read(u16 a, SetFlags) { return bfloat_to_real(a); }
};

bool combined(bool value, bool other, SetFlags flags) {
    switch (flags.combination) {
        case Combination::bit_and:
            return value && other;
        case Combination::bit_or:
            return value || other;
        case Combination::bit_xor:
            return value != other;
        case Combination::none:
            break;
    }
    return value;
}

/// The value of true in each result type: all ones for integers, 1.0 for reals.
template <class D>
constexpr D truth = static_cast<D>(-1);
template <>
constexpr f32 truth<f32> = 1.0f;

template <class D, class S, class Read>
const Op* set_one(WarpContext& c, const Op* op) {
    const S* a = source<S>(c, op->r[1]);
    const S* b = source<S>(c, op->r[2]);
    const auto flags = op->flags.as<SetFlags>();
    const u32 other = op->r[3] != no_slot ? predicate(c, op->r[3]) : 0;
    const D yes = flags.half_result     ? static_cast<D>(0x3c00)
                  : flags.bfloat_result ? static_cast<D>(0x3f80)
                                        : truth<D>;
    assign_each(c, destination<D>(c, op->r[0]), [&](u32 i) {
        const bool value =
            holds(Read::read(a[i], flags), Read::read(b[i], flags), flags.comparison);
        return combined(value, bit(other, i), flags) ? yes : D{0};
    });
    return op + 1;
}

template <class Read>
const Op* set_packed(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const auto flags = op->flags.as<SetFlags>();
    const u32 other = op->r[3] != no_slot ? predicate(c, op->r[3]) : 0;
    const u32 yes = flags.half_result ? 0x3c00 : flags.bfloat_result ? 0x3f80 : 0xffff;
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        u32 result = 0;
        for (u32 half = 0; half < 32; half += 16) {
            const bool value =
                holds(Read::read(static_cast<u16>(a[i] >> half), flags),
                      Read::read(static_cast<u16>(b[i] >> half), flags), flags.comparison);
            if (combined(value, bit(other, i), flags)) result |= yes << half;
        }
        return result;
    });
    return op + 1;
}

/// setp of a packed pair: r[0] for the low half, r[4] for the high half.
template <class Read>
const Op* setp_packed(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const auto flags = op->flags.as<SetFlags>();
    const u32 other = op->r[3] != no_slot ? predicate(c, op->r[3]) : 0;
    for (u32 half = 0; half < 2; ++half) {
        const Slot to = half == 0 ? op->r[0] : op->r[4];
        if (to == no_slot) continue;
        u32 bits = 0;
        for (u32 i = 0; i < lanes; ++i) {
            const bool value =
                holds(Read::read(static_cast<u16>(a[i] >> (half * 16)), flags),
                      Read::read(static_cast<u16>(b[i] >> (half * 16)), flags), flags.comparison);
            bits |= u32{combined(value, bit(other, i), flags)} << i;
        }
        u32& d = predicate_destination(c, to);
        d = merged(d, bits, c.mask);
    }
    return op + 1;
}

constexpr Handler set_table[] = {
#include "emulator/isa/rows/set.def"
};

}  // namespace

std::span<const Handler> set_handlers() {
    return set_table;
}

}  // namespace lode::emulator::exec
