// cvt between integers, and between integers and reals.
#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/half.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

template <class D, class S>
D clamped(S a) {
    using Limits = std::numeric_limits<D>;
    if constexpr (std::is_signed_v<S>) {
        if constexpr (std::is_signed_v<D>) {
            if (a < static_cast<i64>(Limits::min())) return Limits::min();
            return a > static_cast<i64>(Limits::max()) ? Limits::max() : static_cast<D>(a);
        } else {
            if (a < 0) return 0;
            return static_cast<u64>(a) > Limits::max() ? Limits::max() : static_cast<D>(a);
        }
    } else {
        return u64{a} > static_cast<u64>(Limits::max()) ? Limits::max() : static_cast<D>(a);
    }
}

/// Converts an integer to a real with any rounding direction.
template <class T, class S>
T real_of(S a, Round way) {
    const T near = static_cast<T>(a);
    if (way == nearest) return near;
    const auto exact = static_cast<long double>(a);
    const auto got = static_cast<long double>(near);
    constexpr T inf = std::numeric_limits<T>::infinity();
    const bool lower = way == down || (way == zero && a > 0);
    if (lower && got > exact) return std::nextafter(near, -inf);
    if (!lower && got < exact) return std::nextafter(near, inf);
    return near;
}

template <class T>
T rounded_whole(T a, Round way) {
    switch (way) {
        case zero:
            return std::trunc(a);
        case down:
            return std::floor(a);
        case up:
            return std::ceil(a);
        default:
            return std::rint(a);
    }
}

/// Converts an integral real to an integer: clamps; NaN becomes 0, or the top bit if 64 bits are
/// involved.
template <class D, class S>
D whole_to_integer(S a) {
    using Limits = std::numeric_limits<D>;
    constexpr bool wide = sizeof(D) == 8 || sizeof(S) == 8;
    constexpr D nan = wide ? static_cast<D>(u64{1} << (sizeof(D) * 8 - 1)) : D{0};
    // The first value above the range is a power of two, so it is exact in every real type.
    constexpr S past = static_cast<S>(u64{1} << (Limits::digits - 1)) * S{2};
    constexpr S lowest = static_cast<S>(Limits::min());
    const bool fits = a >= lowest && a < past;
    const D inside = static_cast<D>(fits ? a : S{0});
    const D outside = a >= past ? Limits::max() : (a < lowest ? Limits::min() : nan);
    return fits ? inside : outside;
}

template <class D, u32 way>
D from_real(f32 a) {
    return whole_to_integer<D>(way == zero   ? __builtin_truncf(a)
                               : way == down ? __builtin_floorf(a)
                               : way == up   ? __builtin_ceilf(a)
                                             : __builtin_rintf(a));
}
template <class D, u32 way>
D from_real(f64 a) {
    return whole_to_integer<D>(way == zero   ? __builtin_trunc(a)
                               : way == down ? __builtin_floor(a)
                               : way == up   ? __builtin_ceil(a)
                                             : __builtin_rint(a));
}
template <class D>
D from_half(f32 a, RealFlags flags) {
    return whole_to_integer<D>(rounded_whole(a, flags.round));
}

template <class T>
T saturate_if(T a, RealFlags flags) {
    return flags.saturate ? saturated(a) : a;
}

/// A double can't hold every 64-bit integer; the intermediate value is rounded to odd.
template <class S>
u32 narrowed_integer(S a, const Format& format, RealFlags flags) {
    const f64 toward_zero = real_of<f64, S>(a, zero);
    const bool exact = static_cast<long double>(toward_zero) == static_cast<long double>(a);
    const f64 odd = exact ? toward_zero : real64(bits_of(toward_zero) | 1);
    u32 result = narrowed(odd, format, flags.round, false);
    if (flags.saturate) {
        const bool positive = a > 0;
        result = positive ? narrowed(1.0, format, zero, false) : 0;
    }
    return result;
}

constexpr Handler convert_table[] = {
#include "emulator/isa/rows/convert.def"
};

}  // namespace

std::span<const Handler> convert_handlers() {
    return convert_table;
}

}  // namespace lode::emulator::exec
