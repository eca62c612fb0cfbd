// Floating point from first principles: a result is found by comparing candidates of the format
// with the exact value, held in a type with 113 bits of precision. Doesn't use the host's rounding.
#pragma once

#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

/// An IEEE 754 style binary format. `largest` is the code of the greatest finite number; the code
/// after it is infinity, if the format has one.
struct RealFormat {
    int exponent_bits, fraction_bits;
    Bits largest, nan;
    bool infinite = true;

    [[nodiscard]] int bits() const { return 1 + exponent_bits + fraction_bits; }
    [[nodiscard]] Bits sign() const { return Bits{1} << (exponent_bits + fraction_bits); }
    [[nodiscard]] Bits infinity() const { return infinite ? largest + 1 : largest; }
    [[nodiscard]] Bits one() const {
        return ((Bits{1} << (exponent_bits - 1)) - 1) << fraction_bits;
    }
};
inline constexpr RealFormat f16_format{5, 10, 0x7bff, 0x7fff};
inline constexpr RealFormat bf16_format{8, 7, 0x7f7f, 0x7fff};
inline constexpr RealFormat tf32_format{8, 10, 0x3fbff, 0x3ffff};
inline constexpr RealFormat f32_format{8, 23, 0x7f7fffff, 0x7fffffff};
/// f32 with a wider exponent.
inline constexpr RealFormat f32_wide_format{11, 23, 0x3ff7fffff, 0x3ffffffff};
inline constexpr RealFormat f64_format{11, 52, 0x7fefffffffffffff, 0x7ff8000000000000};
inline constexpr RealFormat e4m3_format{4, 3, 0x7e, 0x7f, false};
inline constexpr RealFormat e5m2_format{5, 2, 0x7b, 0x7f};
inline constexpr RealFormat e2m3_format{2, 3, 0x1f, 0x1f, false};
inline constexpr RealFormat e3m2_format{3, 2, 0x1f, 0x1f, false};
inline constexpr RealFormat e2m1_format{2, 1, 0x7, 0x7, false};

enum class Way { rn, rz, rm, rp, rna };

inline constexpr std::pair<const char*, Way> whole_ways[] = {
    {".rni", Way::rn}, {".rzi", Way::rz}, {".rmi", Way::rm}, {".rpi", Way::rp}};
inline constexpr std::pair<const char*, Way> rounding_ways[] = {
    {".rn", Way::rn}, {".rz", Way::rz}, {".rm", Way::rm}, {".rp", Way::rp}};

bool is_nan(const RealFormat& format, Bits a);
bool is_infinite(const RealFormat& format, Bits a);
/// Flushes denormals to zeros of the same sign.
Bits flush(const RealFormat& format, Bits a);
/// Clamps to [0, 1]; NaN becomes 0.
Bits saturate(const RealFormat& format, Bits a);

/// NaN results are the format's one NaN.
Bits real_add(const RealFormat& format, Way way, Bits a, Bits b);
Bits real_subtract(const RealFormat& format, Way way, Bits a, Bits b);
Bits real_multiply(const RealFormat& format, Way way, Bits a, Bits b);
Bits real_fma(const RealFormat& format, Way way, Bits a, Bits b, Bits c);
Bits real_divide(const RealFormat& format, Way way, Bits a, Bits b);
Bits real_root(const RealFormat& format, Way way, Bits a);
/// PTX min and max: a number takes precedence over NaN (unless `nan`); -0 is less than +0.
Bits real_min(const RealFormat& format, Bits a, Bits b, bool nan = false);
Bits real_max(const RealFormat& format, Bits a, Bits b, bool nan = false);
/// -1, 0 or 1, or 2 if a and b are unordered.
int real_order(const RealFormat& format, Bits a, Bits b);

/// Converts between formats. With `finite`, overflow gives the largest number.
Bits real_convert(const RealFormat& to, Way way, const RealFormat& from, Bits a,
                  bool finite = false);
/// Rounds to a whole number in the same format.
Bits real_whole(const RealFormat& format, Way way, Bits a);
Bits real_of_integer(const RealFormat& format, Way way, i128 a);
/// Converts to an integer of `width` bits, clamped. NaN becomes 0, or the top bit if 64 bits are
/// involved.
Bits integer_of_real(const RealFormat& format, Way way, Bits a, int width, bool is_signed);

/// The format named f16, bf16, f32 or f64.
const RealFormat& format_named(std::string_view name);
/// Accepts any NaN where a NaN is expected.
Accepts any_nan(const RealFormat& format);

}  // namespace lode::emulator::exec::testing
