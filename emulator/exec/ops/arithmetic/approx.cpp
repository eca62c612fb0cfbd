#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/real.hpp"
#include "emulator/isa/rows/flushing.hpp"

namespace lode::emulator::exec {

namespace {

/// The upper word, with denormals flushed; a NaN stays a NaN.
f64 top_half(f64 a) {
    const u64 bits = bits_of(a);
    const u64 sign = bits & (u64{1} << 63);
    const bool tiny = (bits & 0x7ff0'0000'0000'0000) == 0;
    const f64 half = real64(tiny ? sign : bits & 0xffff'ffff'0000'0000);
    return a == a ? half : a;
}

f32 reciprocal_root(f32 a) {
    return static_cast<f32>(1.0 / __builtin_sqrt(f64{a}));
}

// a / b, but that of a divisor from 2^126 on is that of infinity, or NaN.
f32 fast_quotient(f32 a, f32 b) {
    const f32 size = __builtin_fabsf(b);
    const bool is_huge = size > 0x1p126f && size <= std::numeric_limits<f32>::max();
    return is_huge ? a * __builtin_copysignf(0.0f, b) : a / b;
}

// 2^a: the integer part goes to the exponent, the fraction through a polynomial in double precision
// with a relative error below 2^-34, so that only the rounding to f32 matters.
f32 power_of_two(f32 a) {
    const f64 wide = a;
    const f64 clamped = wide < -160.0 ? -160.0 : (wide > 160.0 ? 160.0 : wide);
    const f64 whole = __builtin_rint(clamped == clamped ? clamped : 0.0);
    const f64 x = (clamped - whole) * 0.693147180559945309417;
    f64 p = 1.0 / 3628800.0;
    p = p * x + 1.0 / 362880.0;
    p = p * x + 1.0 / 40320.0;
    p = p * x + 1.0 / 5040.0;
    p = p * x + 1.0 / 720.0;
    p = p * x + 1.0 / 120.0;
    p = p * x + 1.0 / 24.0;
    p = p * x + 1.0 / 6.0;
    p = p * x + 0.5;
    p = p * x + 1.0;
    p = p * x + 1.0;
    const u64 scale = static_cast<u64>(static_cast<i32>(whole) + 1023) << 52;
    return static_cast<f32>(a == a ? p * real64(scale) : wide);
}

// log2(a): reduces the mantissa to [sqrt(1/2), sqrt(2)), then uses the series of atanh in double
// precision.
f32 logarithm_two(f32 a) {
    const f64 wide = a;
    const u64 bits = bits_of(wide);
    const u64 shifted = bits + (0x3ff0'0000'0000'0000 - 0x3fe6'a09e'667f'3bcd);
    const auto exponent = static_cast<i32>(shifted >> 52) - 1023;
    const f64 m = real64((shifted & 0x000f'ffff'ffff'ffff) + 0x3fe6'a09e'667f'3bcd);
    const f64 s = (m - 1.0) / (m + 1.0);
    const f64 z = s * s;
    f64 p = 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    p = p * z + 2.0;
    const f64 result = exponent + p * s * 1.44269504088896340736;
    const f32 special =
        a < 0.0f ? real32(0x7fff'ffff) : (a == 0.0f ? -std::numeric_limits<f32>::infinity() : a);
    const bool ordinary = a > 0.0f && a <= std::numeric_limits<f32>::max();
    return ordinary ? static_cast<f32>(result) : special;
}

// sin(x + n * pi/2) for x from -pi/4 to pi/4.
f64 sine_near_zero(f64 x, i32 n) {
    const f64 z = x * x;
    f64 s = -1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = s * z * x + x;
    f64 c = -1.0 / 3628800.0 + z * (1.0 / 479001600.0);
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    c = c * z + 1.0;
    const f64 value = (n & 1) != 0 ? c : s;
    return (n & 2) != 0 ? -value : value;
}

// sin(a + quarter * pi/2). The vector path is valid for |a| up to 2^20; the device is no more
// accurate beyond that.
f32 sine(f32 a, i32 quarter) {
    const f64 wide = a;
    const bool tame = __builtin_fabs(wide) < 1.0e9;
    const f64 safe = tame ? wide : 0.0;
    const f64 turns = __builtin_rint(safe * 0.636619772367581343076);
    f64 x = __builtin_fma(turns, -1.57079632679489655800, safe);
    x = __builtin_fma(turns, -6.12323399573676603587e-17, x);
    const f64 result = sine_near_zero(x, static_cast<i32>(turns) + quarter);
    // The sine of an infinity is NaN; a NaN stays a NaN; a zero keeps its sign.
    const f64 whole = quarter == 0 && wide == 0 ? wide : result;
    return static_cast<f32>(tame ? whole : wide - wide);
}

// sin(2 * pi * (a + quarter / 4)). A number of 2^23 or more is a whole number of cycles.
f32 sine_of_cycles(f32 a, i32 quarter) {
    const f64 wide = a;
    const f64 cycle = __builtin_fabs(wide) < 0x1p23 ? wide - __builtin_rint(wide) : 0.0;
    const f64 turns = __builtin_rint(cycle * 4.0);
    const f64 x = (cycle * 4.0 - turns) * 1.57079632679489655800;
    const f64 result = sine_near_zero(x, static_cast<i32>(turns) + quarter);
    const f64 whole = quarter == 0 && wide == 0 ? wide : result;
    const bool is_finite = __builtin_fabs(wide) < std::numeric_limits<f64>::infinity();
    return static_cast<f32>(is_finite ? whole : wide - wide);
}

constexpr Handler approx_table[] = {
#include "emulator/isa/rows/approx.def"
};

}  // namespace

std::span<const Handler> approx_handlers() {
    return approx_table;
}

}  // namespace lode::emulator::exec
