#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/real.hpp"
#include "emulator/isa/rows/flushing.hpp"

namespace lode::emulator::exec {

namespace {

/// fma.ftz and, with two sources, mul.ftz.
template <bool sum>
const Op* multiply_flushing(WarpContext& c, const Op* op) {
    f32* const d = destination<f32>(c, op->r[0]);
    const f32* a = source<f32>(c, op->r[1]);
    const f32* b = source<f32>(c, op->r[2]);
    const f32* e = source<f32>(c, op->r[sum ? 3 : 1]);
    // Keeps a copy of the sources, which are read again if a result may be tiny.
    alignas(32) f32 old[lanes];
    if (d == a || d == b || d == e) {
        std::memcpy(old, d, sizeof old);
        if (d == a) a = old;
        if (d == b) b = old;
        if (d == e) e = old;
    }
    const auto third = [=](u32 i) { return sum ? flushed(e[i]) : 0.0f; };
    u32 found = 0;
    assign(c, d, [=, &found](u32 i) {
        const f32 x = flushed(a[i]);
        const f32 y = flushed(b[i]);
        const f32 result = canonical(sum ? __builtin_fmaf(x, y, third(i)) : x * y);
        // A denormal, or the least normal number.
        found |= (bits_of(result) & 0x7fff'ffff) - 1 < bits_of(least_normal) ? 1u : 0u;
        return result;
    });
    if (found != 0) [[unlikely]] {
        each_lane(c.mask, [=](u32 i) {
            if (!may_be_tiny(d[i])) {
                d[i] = flushed(d[i]);
                return;
            }
            d[i] = flushed_tiny(d[i], magnified_fma(flushed(a[i]), flushed(b[i]), third(i)));
        });
    }
    return op + 1;
}

/// testp: tests a property of a floating-point number by its bits.
template <class U, U exponent, U fraction>
const Op* test_property(WarpContext& c, const Op* op) {
    const U* a = source<U>(c, op->r[1]);
    const auto property = op->flags.as<RealProperty>();
    u32 bits = 0;
    for (u32 i = 0; i < lanes; ++i) {
        const U e = a[i] & exponent;
        const U f = a[i] & fraction;
        bool is = false;
        switch (property) {
            case RealProperty::finite:
                is = e != exponent;
                break;
            case RealProperty::infinite:
                is = e == exponent && f == 0;
                break;
            case RealProperty::number:
                is = !(e == exponent && f != 0);
                break;
            case RealProperty::not_a_number:
                is = e == exponent && f != 0;
                break;
            case RealProperty::normal:  // Zeros are, too.
                is = e == 0 ? f == 0 : e != exponent;
                break;
            case RealProperty::subnormal:
                is = e == 0 && f != 0;
                break;
        }
        bits |= u32{is} << i;
    }
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, bits, c.mask);
    return op + 1;
}

constexpr Handler float_table[] = {
#include "emulator/isa/rows/float.def"
};

}  // namespace

std::span<const Handler> float_handlers() {
    return float_table;
}

}  // namespace lode::emulator::exec
