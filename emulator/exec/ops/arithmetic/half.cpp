#include "emulator/isa/half.hpp"

#include "emulator/exec/ops/arithmetic/rows.hpp"

namespace lode::emulator::exec {

namespace {

u16 half_of(f64 a) {
    return static_cast<u16>(narrowed(a, half_format, nearest, false));
}
u16 bfloat_of(f64 a) {
    return static_cast<u16>(narrowed(a, bfloat_format, nearest, false));
}

/// 2^a, with denormal results flushed.
u16 bfloat_power(u16 a) {
    const u16 result = bfloat_of(std::exp2(f64{bfloat_to_real(a)}));
    return (result & 0x7f80) == 0 ? u16{0} : result;
}
u32 flushed_halves(u32 a) {
    return flushed_half(static_cast<u16>(a)) | (u32{flushed_half(static_cast<u16>(a >> 16))} << 16);
}
/// Whether a factor is the NaN that tensor copies write for elements outside of the tensor, with
/// .oob. An H200 ignores its sign, and what the summand is.
bool is_outside(u16 a, u16 b, RealFlags flags) {
    constexpr u16 outside = 0x7ff7;
    return flags.outside && ((a & 0x7fff) == outside || (b & 0x7fff) == outside);
}

u16 relu(u16 a, RealFlags flags) {
    if (!flags.relu) return a;
    return (a & 0x8000) != 0 && (a & 0x7fff) <= 0x7f80 ? 0 : a;
}
u16 saturated_half(u16 a) {
    const f32 value = half_to_real(a);
    return value >= 1.0f ? 0x3c00 : (value > 0.0f ? a : 0);
}

/// The arithmetic of one format on its bits.
struct Half {
    static f32 up(u16 a, RealFlags flags) {
        return half_to_real(flags.flush ? flushed_half(a) : a);
    }
    static u16 finish(u16 a, RealFlags flags) {
        if (flags.flush) a = flushed_half(a);
        if (flags.saturate) a = saturated_half(a);
        return flags.relu && (a & 0x8000) != 0 && (a & 0x7fff) <= 0x7c00 ? 0 : a;
    }
    static u16 down(f32 a, RealFlags flags) { return finish(real_to_half(a), flags); }
    static u16 fma(u16 a, u16 b, u16 c, RealFlags flags) {
        if (is_outside(a, b, flags)) return 0;
        return finish(half_of(fma_to_odd(up(a, flags), up(b, flags), up(c, flags))), flags);
    }
};
struct Bfloat {
    static f32 up(u16 a, RealFlags) { return bfloat_to_real(a); }
    static u16 down(f32 a, RealFlags flags) { return relu(real_to_bfloat(a), flags); }
    static u16 fma(u16 a, u16 b, u16 c, RealFlags flags) {
        if (is_outside(a, b, flags)) return 0;
        return relu(bfloat_of(fma_to_odd(up(a, flags), up(b, flags), up(c, flags))), flags);
    }
};

template <class F>
struct Add {
    u16 operator()(u16 a, u16 b, RealFlags flags) const {
        return F::down(F::up(a, flags) + F::up(b, flags), flags);
    }
};
template <class F>
struct Subtract {
    u16 operator()(u16 a, u16 b, RealFlags flags) const {
        return F::down(F::up(a, flags) - F::up(b, flags), flags);
    }
};
template <class F>
struct Multiply {
    u16 operator()(u16 a, u16 b, RealFlags flags) const {
        return F::down(F::up(a, flags) * F::up(b, flags), flags);
    }
};
template <class F>
struct Minimum {
    u16 operator()(u16 a, u16 b, RealFlags flags) const {
        const bool magnitudes = flags.product_sign;
        const f32 x = magnitudes ? std::fabs(F::up(a, flags)) : F::up(a, flags);
        const f32 y = magnitudes ? std::fabs(F::up(b, flags)) : F::up(b, flags);
        const f32 low = flags.keeps_nan ? least_or_nan(x, y) : least(x, y);
        return F::down(magnitudes ? with_product_sign(low, F::up(a, flags), F::up(b, flags)) : low,
                       flags);
    }
};
template <class F>
struct Maximum {
    u16 operator()(u16 a, u16 b, RealFlags flags) const {
        const bool magnitudes = flags.product_sign;
        const f32 x = magnitudes ? std::fabs(F::up(a, flags)) : F::up(a, flags);
        const f32 y = magnitudes ? std::fabs(F::up(b, flags)) : F::up(b, flags);
        const f32 high = flags.keeps_nan ? greatest_or_nan(x, y) : greatest(x, y);
        return F::down(
            magnitudes ? with_product_sign(high, F::up(a, flags), F::up(b, flags)) : high, flags);
    }
};

template <class G>
const Op* packed2(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const auto flags = op->flags.as<RealFlags>();
    assign_each(c, destination<u32>(c, op->r[0]), [=](u32 i) {
        const u32 low = G{}(static_cast<u16>(a[i]), static_cast<u16>(b[i]), flags);
        const u32 high = G{}(static_cast<u16>(a[i] >> 16), static_cast<u16>(b[i] >> 16), flags);
        return low | (high << 16);
    });
    return op + 1;
}

template <class F>
const Op* packed_fma(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[3]);
    const auto flags = op->flags.as<RealFlags>();
    assign_each(c, destination<u32>(c, op->r[0]), [=](u32 i) {
        const u32 low =
            F::fma(static_cast<u16>(a[i]), static_cast<u16>(b[i]), static_cast<u16>(e[i]), flags);
        const u32 high = F::fma(static_cast<u16>(a[i] >> 16), static_cast<u16>(b[i] >> 16),
                                static_cast<u16>(e[i] >> 16), flags);
        return low | (high << 16);
    });
    return op + 1;
}

constexpr Handler half_table[] = {
#include "emulator/isa/rows/half.def"
};

}  // namespace

std::span<const Handler> half_handlers() {
    return half_table;
}

}  // namespace lode::emulator::exec
