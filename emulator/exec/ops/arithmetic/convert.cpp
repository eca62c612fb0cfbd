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
T real_of(S a, u32 flags) {
    const T near = static_cast<T>(a);
    const u32 way = flags & round_mask;
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
T rounded_whole(T a, u32 way) {
    switch (way & round_mask) {
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
D from_half(f32 a, u32 flags) {
    return whole_to_integer<D>(rounded_whole(a, flags));
}

#define LODE_INTEGERS(D, S, dt, st)                      \
    LODE_ROW1("cvt." dt "." st, D, S, static_cast<D>(a)) \
    LODE_ROW1("cvt.sat." dt "." st, D, S, (clamped<D, S>(a)))
#define LODE_FROM_INTEGER(S, st)     \
    LODE_INTEGERS(u8, S, "u8", st)   \
    LODE_INTEGERS(i8, S, "s8", st)   \
    LODE_INTEGERS(u16, S, "u16", st) \
    LODE_INTEGERS(i16, S, "s16", st) \
    LODE_INTEGERS(u32, S, "u32", st) \
    LODE_INTEGERS(i32, S, "s32", st) \
    LODE_INTEGERS(u64, S, "u64", st) \
    LODE_INTEGERS(i64, S, "s64", st)

constexpr OpRow conversion_table[] = {
    LODE_FROM_INTEGER(u8, "u8") LODE_FROM_INTEGER(i8, "s8") LODE_FROM_INTEGER(u16, "u16")
        LODE_FROM_INTEGER(i16, "s16") LODE_FROM_INTEGER(u32, "u32") LODE_FROM_INTEGER(i32, "s32")
            LODE_FROM_INTEGER(u64, "u64") LODE_FROM_INTEGER(i64, "s64")};

#define LODE_REAL_FROM(S, st)                                                             \
    LODE_ROW1("cvt.f32." st, f32, S, static_cast<f32>(a))                                 \
    LODE_ROW1("cvt.f64." st, f64, S, static_cast<f64>(a))                                 \
    LODE_EACH1("cvt.ex.f32." st, f32, S, (saturate_if(real_of<f32, S>(a, flags), flags))) \
    LODE_EACH1("cvt.ex.f64." st, f64, S, (saturate_if(real_of<f64, S>(a, flags), flags))) \
    LODE_EACH1("cvt.f16." st " cvt.ex.f16." st, u16, S,                                   \
               static_cast<u16>(narrowed_integer(a, half_format, flags)))                 \
    LODE_EACH1("cvt.bf16." st " cvt.ex.bf16." st, u16, S,                                 \
               static_cast<u16>(narrowed_integer(a, bfloat_format, flags)))

#define LODE_INTEGER_FROM(D, dt)                                                   \
    LODE_ROW1("cvt.rzi." dt ".f32", D, f32, (from_real<D, zero>(a)))               \
    LODE_ROW1("cvt.rni." dt ".f32", D, f32, (from_real<D, nearest>(a)))            \
    LODE_ROW1("cvt.rmi." dt ".f32", D, f32, (from_real<D, down>(a)))               \
    LODE_ROW1("cvt.rpi." dt ".f32", D, f32, (from_real<D, up>(a)))                 \
    LODE_ROW1("cvt.rzi." dt ".f64", D, f64, (from_real<D, zero>(a)))               \
    LODE_ROW1("cvt.rni." dt ".f64", D, f64, (from_real<D, nearest>(a)))            \
    LODE_ROW1("cvt.rmi." dt ".f64", D, f64, (from_real<D, down>(a)))               \
    LODE_ROW1("cvt.rpi." dt ".f64", D, f64, (from_real<D, up>(a)))                 \
    LODE_EACH1("cvt.int.ftz." dt ".f32", D, f32,                                   \
               whole_to_integer<D>(rounded_whole(flushed(a), flags)))              \
    LODE_EACH1("cvt.int." dt ".f16", D, u16, from_half<D>(half_to_real(a), flags)) \
    LODE_EACH1("cvt.int." dt ".bf16", D, u16, from_half<D>(bfloat_to_real(a), flags))

template <class T>
T saturate_if(T a, u32 flags) {
    return (flags & saturate_flag) != 0 ? saturated(a) : a;
}

/// A double can't hold every 64-bit integer; the intermediate value is rounded to odd.
template <class S>
u32 narrowed_integer(S a, const Format& format, u32 flags) {
    const f64 toward_zero = real_of<f64, S>(a, zero);
    const bool exact = static_cast<long double>(toward_zero) == static_cast<long double>(a);
    const f64 odd = exact ? toward_zero : real64(bits_of(toward_zero) | 1);
    u32 result = narrowed(odd, format, flags & round_mask, false);
    if ((flags & saturate_flag) != 0) {
        const bool positive = a > 0;
        result = positive ? narrowed(1.0, format, zero, false) : 0;
    }
    return result;
}

constexpr OpRow real_table[] = {
    LODE_REAL_FROM(u8, "u8") LODE_REAL_FROM(i8, "s8") LODE_REAL_FROM(u16, "u16") LODE_REAL_FROM(
        i16, "s16") LODE_REAL_FROM(u32, "u32") LODE_REAL_FROM(i32, "s32") LODE_REAL_FROM(u64, "u64")
        LODE_REAL_FROM(i64, "s64") LODE_INTEGER_FROM(u8, "u8") LODE_INTEGER_FROM(i8, "s8")
            LODE_INTEGER_FROM(u16, "u16") LODE_INTEGER_FROM(i16, "s16")
                LODE_INTEGER_FROM(u32, "u32") LODE_INTEGER_FROM(i32, "s32")
                    LODE_INTEGER_FROM(u64, "u64") LODE_INTEGER_FROM(i64, "s64")};

}  // namespace

std::span<const OpRow> integer_convert_rows() {
    return conversion_table;
}
std::span<const OpRow> float_convert_rows() {
    return real_table;
}

}  // namespace lode::emulator::exec
