// Products whose elements have scales by blocks (mxf8f6f4, mxf4, mxf4nvf4).
#include "emulator/exec/ops/matrix/elements.hpp"
#include "emulator/exec/ops/matrix/panel.hpp"

#include <algorithm>
#include <cmath>

namespace lode::emulator::exec {

void scale_elements(const ScaleTable& scales, LeftMatrix& a, RightPanel& b) noexcept {
    const std::size_t block = a.depth / scales.count;
    a.has_special |= scales.has_nan;
    for (std::size_t row = 0; row < a.rows; ++row) {
        for (std::size_t k = 0; k < a.depth; ++k) {
            const std::size_t scale = row * scales.count + k / block;
            a.significands[row * a.depth + k] *= scales.a_significands[scale];
            a.exponents[row * a.depth + k] += scales.a_exponents[scale];
        }
    }
    for (std::size_t k = 0; k < a.depth; ++k) {
        for (std::size_t column = 0; column < panel_columns; ++column) {
            const std::size_t scale = column * scales.count + k / block;
            b.significands[k * panel_columns + column] *= scales.b_significands[scale];
            b.exponents[k * panel_columns + column] += scales.b_exponents[scale];
        }
    }
}

namespace {

constexpr i32 group_fraction_bits = 35;

/// A float cut off from a double.
u32 cut_off_float(f64 value) noexcept {
    if (std::isnan(value)) return 0x7fff'ffff;
    const auto nearest = static_cast<f32>(value);
    const bool away = std::fabs(f64{nearest}) > std::fabs(value) && std::fabs(value) < 0x1p128;
    const u32 bits = std::bit_cast<u32>(nearest) - u32{away};
    return (bits & 0x7fff'ffff) == 0 ? 0 : bits;
}

struct Term {
    f64 significand = 0;
    i32 exponent = zero_exponent;
};

}  // namespace

void add_scaled_groups(const ScaleTable& scales, const LeftMatrix& a, const RightPanel& b,
                       std::size_t group, SumPanel& sum) noexcept {
    const std::size_t groups = a.depth / group;
    for (std::size_t row = 0; row < a.rows; ++row) {
        for (std::size_t column = 0; column < panel_columns; ++column) {
            std::array<Term, 9> terms;
            u32& to = sum.bits[row * panel_columns + column];
            f32 c = 0;
            const bool special =
                split<f32_number>(&to, 1, zero_summand_exponent, &c, &terms[groups].exponent);
            terms[groups].significand = c;
            i32 top = terms[groups].exponent;
            f64 not_finite = special ? c : 0;
            for (std::size_t g = 0; g < groups; ++g) {
                f64 products = 0;
                for (std::size_t k = g * group; k < (g + 1) * group; ++k) {
                    const std::size_t left = row * a.depth + k;
                    const std::size_t right = k * panel_columns + column;
                    // Zeros have an exponent far below.
                    const f32 product = a.significands[left] * b.significands[right];
                    if (product != 0)
                        products += std::ldexp(product, a.exponents[left] + b.exponents[right]);
                }
                const std::size_t a_scale = row * scales.count + g * scales.count / groups;
                const std::size_t b_scale = column * scales.count + g * scales.count / groups;
                const f64 scaled =
                    products * scales.a_significands[a_scale] * scales.b_significands[b_scale];
                if (std::isnan(scaled)) not_finite = scaled;
                if (!(std::fabs(scaled) > 0)) continue;
                terms[g].significand = scaled;
                terms[g].exponent = scales.a_exponents[a_scale] + scales.b_exponents[b_scale];
                top = std::max(top, terms[g].exponent);
            }
            if (not_finite != 0) {  // Also for a NaN.
                to = std::isnan(not_finite) ? 0x7fff'ffff : to;
                continue;
            }
            f64 total = 0;
            for (std::size_t g = 0; g <= groups; ++g) {
                total += std::trunc(std::ldexp(terms[g].significand,
                                               terms[g].exponent - top + group_fraction_bits));
            }
            to = cut_off_float(std::ldexp(total, top - group_fraction_bits));
        }
    }
}

}  // namespace lode::emulator::exec
