#include "emulator/isa/half.hpp"

namespace lode::emulator::exec {

u32 narrowed(f64 a, const Format& format, u32 rounding, bool finite) noexcept {
    const u64 bits = bits_of(a);
    const u32 sign = static_cast<u32>(bits >> 63) << (format.exponent_bits + format.fraction_bits);
    if (a != a) return format.nan;
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const bool negative = (bits >> 63) != 0;
    const auto overflow = [&]() -> u32 {
        const bool to_largest = finite || rounding == zero || (rounding == down && !negative) ||
                                (rounding == up && negative);
        return sign | (to_largest ? format.largest : format.infinity);
    };
    if (std::isinf(a)) return sign | (finite ? format.largest : format.infinity);
    const f64 magnitude = std::fabs(a);
    if (magnitude == 0) return sign;
    // The spacing of adjacent values in the target format, as a power of two.
    int exponent = std::ilogb(magnitude);
    if (exponent < 1 - bias) exponent = 1 - bias;
    if (exponent > bias + 2) return overflow();
    const f64 units = std::ldexp(magnitude, format.fraction_bits - exponent);  // exact
    f64 whole = std::floor(units);
    const f64 rest = units - whole;
    const bool odd = std::fmod(whole, 2.0) != 0;
    switch (rounding) {
        case nearest:
            whole += rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0;
            break;
        case down:
            whole += negative && rest > 0 ? 1 : 0;
            break;
        case up:
            whole += !negative && rest > 0 ? 1 : 0;
            break;
        default:
            break;
    }
    // The fraction is below the biased exponent, so a carry gives the right result.
    const u64 code = static_cast<u64>(exponent - (1 - bias)) * (u64{1} << format.fraction_bits) +
                     static_cast<u64>(whole);
    if (code > format.largest) return overflow();
    return sign | static_cast<u32>(code);
}

f32 widened(u32 a, const Format& format) noexcept {
    const int width = format.exponent_bits + format.fraction_bits;
    const bool negative = ((a >> width) & 1) != 0;
    const u32 code = a & ((1u << width) - 1);
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    f32 value = 0;
    if (code == format.infinity && format.infinity != format.largest) {
        value = std::numeric_limits<f32>::infinity();
    } else if (code > format.largest) {
        value = std::numeric_limits<f32>::quiet_NaN();
    } else {
        const u32 fraction = code & ((1u << format.fraction_bits) - 1);
        const int exponent = static_cast<int>(code >> format.fraction_bits);
        const u32 whole = exponent != 0 ? fraction | (1u << format.fraction_bits) : fraction;
        const int scale = (exponent != 0 ? exponent : 1) - bias - format.fraction_bits;
        value = std::ldexp(static_cast<f32>(whole), scale);
    }
    return negative ? -value : value;
}

f64 fma_to_odd(f64 a, f64 b, f64 c) noexcept {
    const f64 product = a * b;  // Exact for factors of at most 24 bits.
    const f64 sum = product + c;
    if (!std::isfinite(sum)) return sum;
    const f64 back = sum - product;
    const f64 error = (product - (sum - back)) + (c - back);
    const u64 bits = bits_of(sum);
    if (error == 0 || (bits & 1) != 0) return sum;
    const bool away = (error > 0) == (sum > 0);
    return real64(away ? bits + 1 : bits - 1);
}

}  // namespace lode::emulator::exec
