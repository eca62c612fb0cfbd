#include "tests/unit/emulator/exec/reference_real.hpp"

#include <cmath>

namespace lode::emulator::exec::testing {

namespace {

#if defined(__SIZEOF_FLOAT128__)
__extension__ using quad = __float128;
#else
using quad = long double;
#endif

quad magnitude_of(quad a) {
    return a < 0 ? -a : a;
}
quad power_of_two(int n) {
    return static_cast<quad>(std::ldexp(1.0L, n));
}

/// The value of a code without sign. The code after the largest is the next power of two.
quad magnitude(const RealFormat& format, Bits code) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>(code >> format.fraction_bits);
    const Bits hidden = Bits{1} << format.fraction_bits;
    const Bits fraction = code & (hidden - 1);
    const Bits whole = exponent == 0 ? fraction : fraction | hidden;
    return static_cast<quad>(whole) *
           power_of_two((exponent == 0 ? 1 : exponent) - bias - format.fraction_bits);
}

/// A finite value: exactly value + rest, with |rest| less than half a unit in value's last place.
struct Exact {
    quad value, rest = 0;
};
Exact exact_sum(quad a, quad b) {
    const quad sum = a + b;
    const quad back = sum - a;
    return {sum, (a - (sum - back)) + (b - back)};
}

bool negative(const RealFormat& format, Bits a) {
    return (a & format.sign()) != 0;
}
Bits code_of(const RealFormat& format, Bits a) {
    return a & (format.sign() - 1);
}
bool is_zero(const RealFormat& format, Bits a) {
    return code_of(format, a) == 0;
}
quad finite_value(const RealFormat& format, Bits a) {
    const quad value = magnitude(format, code_of(format, a));
    return negative(format, a) ? -value : value;
}

/// Rounds an exact magnitude. `order(m)` compares it with m: negative, zero or positive.
template <class Order>
Bits rounded(const RealFormat& format, Way way, bool minus, Order order, bool finite = false) {
    Bits low = 0;
    Bits high = format.largest;
    while (low < high) {
        const Bits middle = low + (high - low + 1) / 2;
        if (order(magnitude(format, middle)) >= 0) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    const quad below = magnitude(format, low);
    Bits code = low;
    if (order(below) != 0) {
        const int half = order((below + magnitude(format, low + 1)) / 2);
        const bool tie_up = way == Way::rna || (low & 1) != 0;
        const bool nearest_up = half > 0 || (half == 0 && tie_up);
        const bool up = way == Way::rz   ? false
                        : way == Way::rm ? minus
                        : way == Way::rp ? !minus
                                         : nearest_up;
        if (up) ++code;
    }
    if (code > format.largest) code = finite ? format.largest : format.infinity();
    return code | (minus ? format.sign() : 0);
}

int sign_of(quad a) {
    return a < 0 ? -1 : (a > 0 ? 1 : 0);
}

Bits rounded_value(const RealFormat& format, Way way, Exact exact, bool finite = false) {
    const bool minus = exact.value < 0;
    const quad value = minus ? -exact.value : exact.value;
    const quad rest = minus ? -exact.rest : exact.rest;
    return rounded(
        format, way, minus, [&](quad m) { return value != m ? sign_of(value - m) : sign_of(rest); },
        finite);
}

Bits signed_zero(const RealFormat& format, bool minus) {
    return minus ? format.sign() : 0;
}
Bits signed_infinity(const RealFormat& format, bool minus) {
    return format.infinity() | signed_zero(format, minus);
}

}  // namespace

bool is_nan(const RealFormat& format, Bits a) {
    const Bits code = code_of(format, a);
    return format.infinite ? code > format.infinity() : code == format.nan && code > format.largest;
}
bool is_infinite(const RealFormat& format, Bits a) {
    return format.infinite && code_of(format, a) == format.infinity();
}
Bits flush(const RealFormat& format, Bits a) {
    return (code_of(format, a) >> format.fraction_bits) == 0 ? a & format.sign() : a;
}
Bits saturate(const RealFormat& format, Bits a) {
    if (is_nan(format, a) || negative(format, a)) return 0;
    return std::min(a, format.one());
}

Bits real_add(const RealFormat& format, Way way, Bits a, Bits b) {
    return real_fma(format, way, format.one(), a, b);
}
Bits real_subtract(const RealFormat& format, Way way, Bits a, Bits b) {
    return is_nan(format, b) ? format.nan : real_add(format, way, a, b ^ format.sign());
}

Bits real_multiply(const RealFormat& format, Way way, Bits a, Bits b) {
    const bool minus = negative(format, a) != negative(format, b);
    if (is_nan(format, a) || is_nan(format, b)) return format.nan;
    if (is_infinite(format, a) || is_infinite(format, b)) {
        if (is_zero(format, a) || is_zero(format, b)) return format.nan;
        return signed_infinity(format, minus);
    }
    if (is_zero(format, a) || is_zero(format, b)) return signed_zero(format, minus);
    return rounded_value(format, way, {finite_value(format, a) * finite_value(format, b)});
}

Bits real_fma(const RealFormat& format, Way way, Bits a, Bits b, Bits c) {
    const bool minus = negative(format, a) != negative(format, b);
    if (is_nan(format, a) || is_nan(format, b) || is_nan(format, c)) return format.nan;
    if (is_infinite(format, a) || is_infinite(format, b)) {
        if (is_zero(format, a) || is_zero(format, b)) return format.nan;
        if (is_infinite(format, c) && negative(format, c) != minus) return format.nan;
        return signed_infinity(format, minus);
    }
    if (is_infinite(format, c)) return c;
    const quad product = finite_value(format, a) * finite_value(format, b);
    const Exact sum = exact_sum(product, finite_value(format, c));
    if (sum.value == 0) {
        const bool same = product == 0 && minus == negative(format, c);
        return signed_zero(format, same ? minus : way == Way::rm);
    }
    return rounded_value(format, way, sum);
}

Bits real_divide(const RealFormat& format, Way way, Bits a, Bits b) {
    const bool minus = negative(format, a) != negative(format, b);
    if (is_nan(format, a) || is_nan(format, b)) return format.nan;
    if (is_infinite(format, a)) {
        return is_infinite(format, b) ? format.nan : signed_infinity(format, minus);
    }
    if (is_zero(format, b)) {
        return is_zero(format, a) ? format.nan : signed_infinity(format, minus);
    }
    if (is_infinite(format, b) || is_zero(format, a)) return signed_zero(format, minus);
    const quad x = magnitude_of(finite_value(format, a));
    const quad y = magnitude_of(finite_value(format, b));
    return rounded(format, way, minus, [&](quad m) { return sign_of(x - m * y); });
}

Bits real_root(const RealFormat& format, Way way, Bits a) {
    if (is_nan(format, a)) return format.nan;
    if (is_zero(format, a)) return a;
    if (negative(format, a)) return format.nan;
    if (is_infinite(format, a)) return a;
    const quad x = finite_value(format, a);
    return rounded(format, way, false, [&](quad m) { return sign_of(x - m * m); });
}

int real_order(const RealFormat& format, Bits a, Bits b) {
    if (is_nan(format, a) || is_nan(format, b)) return 2;
    const auto place = [&](Bits x) {
        const auto code = static_cast<i128>(code_of(format, x));
        return negative(format, x) ? -code : code;
    };
    return place(a) < place(b) ? -1 : (place(a) > place(b) ? 1 : 0);
}

Bits real_min(const RealFormat& format, Bits a, Bits b, bool nan) {
    const bool one = is_nan(format, a);
    const bool other = is_nan(format, b);
    if ((one && other) || (nan && (one || other))) return format.nan;
    if (one || other) return one ? b : a;
    const int order = real_order(format, a, b);
    if (order == 0) return negative(format, a) ? a : b;
    return order < 0 ? a : b;
}
Bits real_max(const RealFormat& format, Bits a, Bits b, bool nan) {
    const Bits low = real_min(format, a ^ format.sign(), b ^ format.sign(), nan);
    return is_nan(format, low) ? format.nan : low ^ format.sign();
}

Bits real_convert(const RealFormat& to, Way way, const RealFormat& from, Bits a, bool finite) {
    const bool minus = negative(from, a);
    if (is_nan(from, a)) return to.nan;
    if (is_infinite(from, a)) {
        return finite ? to.largest | signed_zero(to, minus) : signed_infinity(to, minus);
    }
    if (is_zero(from, a)) return signed_zero(to, minus);
    return rounded_value(to, way, {finite_value(from, a)}, finite);
}

namespace {

/// |a| rounded to a whole number; |a| is less than 2^100.
i128 whole_magnitude(Way way, quad a) {
    const quad size = magnitude_of(a);
    auto whole = static_cast<i128>(size);
    const quad rest = size - static_cast<quad>(whole);
    const bool minus = a < 0;
    const bool nearest_up = rest > 0.5 || (rest == 0.5 && (whole & 1) != 0);
    const bool up = way == Way::rz   ? false
                    : way == Way::rm ? minus && rest > 0
                    : way == Way::rp ? !minus && rest > 0
                                     : nearest_up;
    return whole + (up ? 1 : 0);
}

}  // namespace

Bits real_whole(const RealFormat& format, Way way, Bits a) {
    if (is_nan(format, a)) return format.nan;
    if (is_infinite(format, a) || is_zero(format, a)) return a;
    const quad value = finite_value(format, a);
    if (magnitude_of(value) >= power_of_two(90)) return a;
    const i128 whole = whole_magnitude(way, value);
    if (whole == 0) return a & format.sign();
    return real_of_integer(format, Way::rn, negative(format, a) ? -whole : whole);
}

Bits real_of_integer(const RealFormat& format, Way way, i128 a) {
    return a == 0 ? 0 : rounded_value(format, way, {static_cast<quad>(a)});
}

Bits integer_of_real(const RealFormat& format, Way way, Bits a, int width, bool is_signed) {
    const i128 lowest = is_signed ? -(i128{1} << (width - 1)) : 0;
    const i128 highest = (i128{1} << (is_signed ? width - 1 : width)) - 1;
    const auto code = [&](i128 value) {
        return static_cast<Bits>(value) & static_cast<Bits>((u128{1} << width) - 1);
    };
    if (is_nan(format, a)) {
        return width == 64 || format.bits() == 64 ? Bits{1} << (width - 1) : 0;
    }
    const bool minus = negative(format, a);
    if (is_infinite(format, a)) return code(minus ? lowest : highest);
    const quad value = finite_value(format, a);
    if (magnitude_of(value) >= power_of_two(90)) return code(minus ? lowest : highest);
    const i128 size = whole_magnitude(way, value);
    return code(std::clamp(minus ? -size : size, lowest, highest));
}

const RealFormat& format_named(std::string_view name) {
    if (name == "f16") return f16_format;
    if (name == "bf16") return bf16_format;
    return name == "f32" ? f32_format : f64_format;
}

Accepts any_nan(const RealFormat& format) {
    return [&format](Bits got, Bits want) { return is_nan(format, got) && is_nan(format, want); };
}

}  // namespace lode::emulator::exec::testing
