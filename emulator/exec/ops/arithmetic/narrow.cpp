// cvt between reals: to integral values, between sizes, and to and from the packed narrow formats.
#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/half.hpp"

namespace lode::emulator::exec {

namespace {

f32 finished(f32 a, RealFlags flags) {
    f32 value = canonical(a);
    if (flags.flush) value = flushed(value);
    return flags.saturate ? saturated(value) : value;
}
f32 taken(f32 a, RealFlags flags) {
    return flags.flush ? flushed(a) : a;
}

template <class T>
T whole(T a, RealFlags flags) {
    switch (flags.round) {
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

f32 single_of(f64 a, RealFlags flags) {
    const f32 near = static_cast<f32>(a);
    const Round way = flags.round;
    constexpr f32 inf = std::numeric_limits<f32>::infinity();
    f32 value = near;
    if (way != nearest && std::isfinite(a)) {
        const bool lower = way == down || (way == zero && a > 0);
        if (lower && f64{near} > a) value = std::nextafter(near, -inf);
        if (!lower && f64{near} < a) value = std::nextafter(near, inf);
    }
    // A double's NaN keeps as much of its payload as fits.
    if (a != a) return flags.saturate ? 0 : near;
    return finished(value, flags);
}

u16 narrow16(f64 a, const Format& format, RealFlags flags) {
    if (flags.saturate) a = saturated(a);
    if (flags.relu && a < 0) a = 0;
    return static_cast<u16>(narrowed(a, format, flags.round, flags.finite));
}

/// Converts a double; a NaN keeps as much of its payload as fits.
u16 narrow16_double(f64 a, const Format& format, RealFlags flags) {
    if (a == a || flags.saturate) return narrow16(a, format, flags);
    const u64 bits = bits_of(a);
    const u64 quiet = u64{1} << (format.fraction_bits - 1);
    const u64 payload = (bits >> (52 - format.fraction_bits)) & (2 * quiet - 1);
    return static_cast<u16>((bits >> 63 << 15) | format.infinity | quiet | payload);
}

u32 tensor32(f32 a, RealFlags flags) {
    if (flags.relu && a < 0) return 0;
    // .rna rounds halfway cases away from zero. Devices apply it to the bits, even for NaN.
    if (flags.ties_to_away) {
        const auto finite = [](u32 bits) { return (bits & 0x7fff'ffff) < 0x7f80'0000; };
        const u32 bits = bits_of(a);
        const u32 rounded = (finite(bits) ? bits + 0x1000 : bits) & ~0x1fffu;
        return finite(rounded) || !flags.finite ? rounded : rounded - 0x2000;
    }
    return narrowed(a, tf32_format, flags.round, flags.finite) << 13;
}

u16 pair8(f32 high, f32 low, const Format& format, RealFlags flags) {
    const bool relu = flags.relu;
    const u32 h = narrowed(relu && high < 0 ? 0 : high, format, nearest, true);
    const u32 l = narrowed(relu && low < 0 ? 0 : low, format, nearest, true);
    return static_cast<u16>((h << 8) | l);
}
u8 pair4(f32 high, f32 low, RealFlags flags) {
    const u16 wide = pair8(high, low, e2m1_format, flags);
    return static_cast<u8>(((wide >> 4) & 0xf0) | (wide & 0x0f));
}
/// The code of ue8m0 for the magnitude of a number: 2^(code - 127), rounded to a power of two.
u32 scale_code(f32 a, RealFlags flags) {
    constexpr u32 nan = 0xff;
    constexpr u32 largest = 0xfe;
    const u32 magnitude = bits_of(a) & 0x7fff'ffff;
    if (magnitude > 0x7f80'0000) return nan;
    // The least power, 2^-127, is a subnormal number of f32.
    const u32 power = magnitude & 0x7f80'0000;
    const bool is_up = flags.round == up && magnitude > (power != 0 ? power : 0x40'0000);
    const u32 code = (power >> 23) + u32{is_up};
    if (code <= largest) return code;
    return flags.finite ? largest : nan;
}
u32 scale_bfloat(u32 code) {
    if (code == 0xff) return 0x7fff;
    return code == 0 ? 0x40 : code << 7;
}
f32 low_half(u32 a) {
    return half_to_real(static_cast<u16>(a));
}
f32 high_half(u32 a) {
    return half_to_real(static_cast<u16>(a >> 16));
}

f32 low_bfloat(u32 a) {
    return real32(a << 16);
}
f32 high_bfloat(u32 a) {
    return real32(a & 0xffff'0000);
}
/// The two 4-bit numbers of a byte, a byte for each.
u16 byte_each(u8 a) {
    return static_cast<u16>((a & 15) | ((a & 0xf0) << 4));
}

/// Two codes of ue8m0 for the factor 1.
constexpr u16 unscaled = 0x7f7f;

/// Two numbers, each times the power of two that its code of ue8m0 stands for.
u32 bfloats_of(u16 a, u16 scales, const Format& format, RealFlags flags) {
    const auto one = [&](u32 code, u32 scale) -> u32 {
        const f64 factor = scale == 0xff ? std::numeric_limits<f64>::quiet_NaN()
                                         : std::ldexp(1.0, static_cast<int>(scale) - 127);
        return narrow16(f64{widened(code, format)} * factor, bfloat_format, flags);
    };
    return one(a & 0xff, scales & 0xff) | one(a >> 8, scales >> 8) << 16;
}

u32 halves_of(u16 a, const Format& format, RealFlags flags) {
    f32 low = widened(a & 0xff, format);
    f32 high = widened(a >> 8, format);
    if (flags.relu) {
        low = low < 0 ? 0 : low;
        high = high < 0 ? 0 : high;
    }
    return real_to_half(low) | (u32{real_to_half(high)} << 16);
}

u32 pair16(f32 high, f32 low, const Format& format, RealFlags flags) {
    return narrow16(low, format, flags) | (u32{narrow16(high, format, flags)} << 16);
}

u16 truncated_bfloat(f64 a) {
    return static_cast<u16>(narrowed(a, bfloat_format, zero, false));
}

/// The number `k` of four.
f64 one_of_four(u32 a, u32 k, NarrowFormat format) {
    static constexpr Format formats[] = {e4m3_format, e5m2_format, e3m2_format,
                                         e2m3_format, e2m1_format, e2m1_format};
    if (format == NarrowFormat::e2m1) return widened(a >> (4 * k) & 15, e2m1_format);
    const u32 code = a >> (8 * k) & 0xff;
    if (format == NarrowFormat::ue8m0) {
        return code == 0xff ? std::numeric_limits<f64>::quiet_NaN()
                            : std::ldexp(1.0, static_cast<int>(code) - 127);
    }
    const Format& known = formats[static_cast<u16>(format)];
    const int bits = 1 + known.exponent_bits + known.fraction_bits;
    return widened(code & ((1u << bits) - 1), known);
}

/// Four operations whose results are rounded once.
template <auto operation, bool has_c = false>
const Op* fours(WarpContext& c, const Op* op) {
    const auto flags = op->flags.as<NarrowFlags>();
    // .e4m3 has no infinity.
    static constexpr Format e4m3_or_nan{4, 3, 0x7f, 0x7f, 0x7e};
    const Format& format = flags.result == NarrowFormat::e5m2 ? e5m2_format : e4m3_or_nan;
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[has_c ? 3 : 2]);
    assign(c, destination<u32>(c, op->r[0]), [=, &format](u32 i) {
        u32 four = 0;
        for (u32 k = 0; k < 4; ++k) {
            const f64 exact =
                operation(one_of_four(a[i], k, flags.a), one_of_four(b[i], k, flags.b),
                          has_c ? one_of_four(e[i], k, flags.result) : 0.0);
            const u32 code = narrowed(exact, format, nearest, flags.finite);
            four |= ((code & 0x7f) == format.nan ? format.nan : code) << (8 * k);
        }
        return four;
    });
    return op + 1;
}

/// A number of a sparse vector, put where its place is in this part of the whole one.
const Op* spread(WarpContext& c, const Op* op) {
    const auto flags = op->flags.as<SpreadFlags>();
    const u32 bits = flags.is_wide ? 16 : 8;
    const u32 field_bits = flags.has_wide_fields ? 4 : 2;
    const u32* whole = source<u32>(c, op->r[1]);
    const u32* numbers = source<u32>(c, op->r[2]);
    const u32* places = source<u32>(c, op->r[3]);
    assign(c, destination<u32>(c, op->r[0]), [=](u32 i) {
        const u32 mask = (u32{1} << bits) - 1;
        const u32 number = numbers[i] >> (flags.from * bits) & mask;
        const u32 place = places[i] >> (flags.field * field_bits) & ((u32{1} << field_bits) - 1);
        const u32 offset = place - flags.first;
        if (offset >= (flags.has_four ? 4u : 2u)) return whole[i];
        const u32 shift = (flags.at + offset) * bits;
        return (whole[i] & ~(mask << shift)) | number << shift;
    });
    return op + 1;
}

template <class T>
const Op* move(WarpContext& c, const Op* op) {
    const T* a = source<T>(c, op->r[1]);
    assign(c, destination<T>(c, op->r[0]), [=](u32 i) { return a[i]; });
    return op + 1;
}

/// d = {r[1], r[2], …}, the first in the low bits.
template <class D, class S>
const Op* pack(WarpContext& c, const Op* op) {
    constexpr u32 count = sizeof(D) / sizeof(S);
    const S* parts[count];
    for (u32 k = 0; k < count; ++k)
        parts[k] = source<S>(c, op->r[k + 1]);
    assign(c, destination<D>(c, op->r[0]), [=](u32 i) {
        D value = 0;
        for (u32 k = 0; k < count; ++k) {
            value |= static_cast<D>(static_cast<D>(parts[k][i]) << (k * sizeof(S) * 8));
        }
        return value;
    });
    return op + 1;
}

/// {r[0], r[1], …} = the last source; no_slot where a part is discarded.
template <class D, class S>
const Op* unpack(WarpContext& c, const Op* op) {
    constexpr u32 count = sizeof(S) / sizeof(D);
    // A part's destination may be the source register.
    alignas(32) S whole_value[lanes];
    std::memcpy(whole_value, source<S>(c, op->r[count]), sizeof whole_value);
    for (u32 k = 0; k < count; ++k) {
        if (op->r[k] == no_slot) continue;
        assign(c, destination<D>(c, op->r[k]),
               [&, k](u32 i) { return static_cast<D>(whole_value[i] >> (k * sizeof(D) * 8)); });
    }
    return op + 1;
}

constexpr Handler narrow_table[] = {
#include "emulator/isa/rows/narrow.def"
};
constexpr Handler moves_table[] = {
#include "emulator/isa/rows/moves.def"
};

}  // namespace

std::span<const Handler> narrow_handlers() {
    return narrow_table;
}
std::span<const Handler> moves_handlers() {
    return moves_table;
}

}  // namespace lode::emulator::exec
