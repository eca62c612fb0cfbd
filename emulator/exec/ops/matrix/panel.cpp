// The arithmetic of tensor cores: docs/dev/emulator.md, "Tensor operations".
#include "emulator/exec/ops/matrix/panel.hpp"

#include "emulator/exec/ops/matrix/elements.hpp"
#include "emulator/exec/ops/matrix/vectors.hpp"
#include "emulator/isa/half.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lode::emulator::exec {

namespace {

/// Eight sums, exact as long as they have at most 53 bits.
struct Sums {
    Wides low, high;
};

[[gnu::always_inline]] inline void add(Sums& sums, Ints part) noexcept {
    sums.low += low_doubles(part);
    sums.high += high_doubles(part);
}

[[gnu::always_inline]] inline Reals power_of_two(Ints biased) noexcept {
    const Ints positive = biased > 0 ? biased : Ints{};
    return std::bit_cast<Reals>(positive << 23);
}

/// Four doubles cut off to floats; with `odd`, the last bit is set where anything was cut off.
template <bool odd>
[[gnu::always_inline]] inline HalfReals cut_off(Wides value, HalfInts exponent) noexcept {
    const auto wide = __builtin_convertvector(exponent, Longs);
    value *= std::bit_cast<Wides>((wide + 1023) << 52);
    const auto nearest = __builtin_convertvector(value, HalfReals);
    const auto back = __builtin_convertvector(nearest, Wides);
    const auto magnitude = value < 0 ? -value : value;
    const auto rounded = back < 0 ? -back : back;
    const auto away = __builtin_convertvector(rounded > magnitude, HalfInts);
    const auto inexact = __builtin_convertvector(back != value, HalfInts);
    const auto overflows = __builtin_convertvector(magnitude >= 0x1p128, HalfInts);
    auto bits = std::bit_cast<HalfInts>(nearest);
    bits += away & ~overflows;  // A mask is -1.
    if constexpr (odd) bits |= inexact & 1;
    return std::bit_cast<HalfReals>(bits);
}

template <bool odd>
[[gnu::always_inline]] inline Reals cut_off(const Sums& sums, Ints exponent) noexcept {
    const auto low =
        cut_off<odd>(sums.low, __builtin_shufflevector(exponent, exponent, 0, 1, 2, 3));
    const auto high =
        cut_off<odd>(sums.high, __builtin_shufflevector(exponent, exponent, 4, 5, 6, 7));
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

/// Splits the bits of eight finite summands. In vectors: a vector that is read right after its
/// elements' stores stalls.
[[gnu::always_inline]] inline void split_summands(Ints bits, bool halves, Reals& significands,
                                                  Ints& exponents) noexcept {
    const i32 fraction_bits = halves ? 10 : 23;
    const i32 bias = halves ? 15 : 127;
    const Ints exponent = (bits >> fraction_bits) & (halves ? 31 : 255);
    const Ints fraction = bits & ((1 << fraction_bits) - 1);
    const Ints whole = exponent != 0 ? fraction | (1 << fraction_bits) : fraction;
    const Reals magnitude =
        __builtin_convertvector(whole, Reals) * (1.0f / static_cast<f32>(1 << fraction_bits));
    const Ints sign = (halves ? bits << 16 : bits) & std::numeric_limits<i32>::min();
    significands = std::bit_cast<Reals>(std::bit_cast<Ints>(magnitude) | sign);
    const Ints scale = (exponent > 1 ? exponent : Ints{} + 1) - bias;
    exponents = whole != 0 ? scale : Ints{} + zero_summand_exponent;
}

/// Eight ones for the summands that are infinities: an earlier block's overflow, which stays.
[[gnu::always_inline]] inline Ints overflows(Ints bits, bool halves) noexcept {
    const Ints mask = Ints{} + (halves ? 0x7c00 : 0x7f80'0000);
    return (bits & mask) == mask;
}

/// Adds one block to a row of eight sums. `fixed` is the depth if it isn't 0.
template <std::size_t fixed>
void add_block(const f32* a, const i32* a_exponents, const f32* b, const i32* b_exponents,
               std::size_t any_depth, const Precision& precision, bool c_halves, bool d_halves,
               u32* bits) noexcept {
    const std::size_t depth = fixed != 0 ? fixed : any_depth;
    const auto before = row_of<Ints>(bits);
    const Ints keep = overflows(before, c_halves);
    Reals c;
    Ints c_exponents;
    split_summands(before, c_halves, c, c_exponents);
    Ints top = c_exponents;
    for (std::size_t k = 0; k < depth; ++k) {
        const Ints exponent = row_of<Ints>(b_exponents + k * panel_columns) + a_exponents[k];
        top = exponent > top ? exponent : top;
    }
    const Ints base = (precision.fraction_bits + 127) - top;
    Sums sums{};
    add(sums, __builtin_convertvector(c * power_of_two(c_exponents + base), Ints));
    for (std::size_t first = 0; first < depth; first += 8) {
        // Eight products are each less than 2^(fraction_bits + 2), so that their sum fits.
        Ints part{};
        for (std::size_t k = first; k < std::min(first + 8, depth); ++k) {
            const Ints exponent = row_of<Ints>(b_exponents + k * panel_columns) + a_exponents[k];
            const Reals product = row_of<Reals>(b + k * panel_columns) * a[k];
            part += __builtin_convertvector(product * power_of_two(exponent + base), Ints);
        }
        add(sums, part);
    }
    const Ints scale = top - static_cast<i32>(precision.fraction_bits);
    if (d_halves) {
        const Reals odd = cut_off<true>(sums, scale);
        for (std::size_t j = 0; j < panel_columns; ++j) {
            const u32 half = real_to_half(odd[j]);
            if (keep[j] == 0) bits[j] = (half & 0x7fff) == 0 ? 0 : half;
        }
        return;
    }
    auto result = std::bit_cast<Ints>(cut_off<false>(sums, scale));
    result &= -1 << (23 - precision.result_bits);
    result = (result & 0x7fff'ffff) == 0 ? Ints{} : result;
    result = keep != 0 ? before : result;
    __builtin_memcpy(bits, &result, sizeof result);
}

/// What infinities and NaNs make of one element: infinity, NaN, or 0 if it has none.
f32 special_sum(const LeftMatrix& a, const RightPanel& b, std::size_t row, std::size_t column,
                f32 c) noexcept {
    f32 sum = std::isfinite(c) ? 0.0f : c;
    for (std::size_t k = 0; k < a.depth; ++k) {
        if (a.exponents[row * a.depth + k] == absent_exponent) continue;
        const f32 product =
            a.significands[row * a.depth + k] * b.significands[k * panel_columns + column];
        if (!std::isfinite(product)) sum += product;
    }
    return sum;
}

f32 summand(u32 bits, bool halves) noexcept {
    return halves ? half_to_real(static_cast<u16>(bits)) : real32(bits);
}

void add_blocks(const LeftMatrix& a, const RightPanel& b, const Precision& precision, bool c_halves,
                bool d_halves, SumPanel& sum) noexcept;

[[gnu::cold]] void add_special_block(const LeftMatrix& a, const RightPanel& b,
                                     const Precision& precision, bool c_halves, bool d_halves,
                                     SumPanel& sum) noexcept {
    LeftMatrix left = a;
    RightPanel right = b;
    SumPanel finite = sum;
    const auto clean = [](auto& matrix, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (std::isfinite(matrix.significands[i])) continue;
            matrix.significands[i] = 0;
            matrix.exponents[i] = zero_exponent;
        }
    };
    clean(left, a.rows * a.depth);
    clean(right, a.depth * panel_columns);
    left.has_special = right.has_special = false;
    for (std::size_t i = 0; i < a.rows * panel_columns; ++i)
        if (!std::isfinite(summand(sum.bits[i], c_halves))) finite.bits[i] = 0;
    add_blocks(left, right, precision, c_halves, d_halves, finite);
    for (std::size_t i = 0; i < a.rows * panel_columns; ++i) {
        const f32 special =
            special_sum(a, b, i / panel_columns, i % panel_columns, summand(sum.bits[i], c_halves));
        if (std::isnan(special)) {
            finite.bits[i] = d_halves ? 0x7fff : 0x7fff'ffff;
        } else if (special != 0) {
            finite.bits[i] = d_halves ? real_to_half(special) : bits_of(special);
        }
    }
    sum.bits = finite.bits;
}

/// One block after the other, since a block may overflow to an infinity that meets another one.
[[gnu::cold]] void add_special_product(const LeftMatrix& a, const RightPanel& b,
                                       const Precision& precision, bool c_halves, bool d_halves,
                                       SumPanel& sum) noexcept {
    LeftMatrix left;
    RightPanel right;
    left.rows = a.rows;
    left.has_special = right.has_special = true;
    for (std::size_t first = 0; first < a.depth; first += precision.block) {
        left.depth = std::min<std::size_t>(precision.block, a.depth - first);
        for (std::size_t row = 0; row < a.rows; ++row) {
            const std::size_t from = row * a.depth + first;
            std::copy_n(&a.significands[from], left.depth, &left.significands[row * left.depth]);
            std::copy_n(&a.exponents[from], left.depth, &left.exponents[row * left.depth]);
        }
        const std::size_t count = left.depth * panel_columns;
        std::copy_n(&b.significands[first * panel_columns], count, right.significands.data());
        std::copy_n(&b.exponents[first * panel_columns], count, right.exponents.data());
        add_special_block(left, right, precision, first == 0 ? c_halves : d_halves, d_halves, sum);
    }
}

bool has_special_summand(const SumPanel& sum, std::size_t count, bool halves) noexcept {
    const u32 mask = halves ? 0x7c00 : 0x7f80'0000;
    u32 any = 0;
    for (std::size_t i = 0; i < count; ++i)
        any |= static_cast<u32>((sum.bits[i] & mask) == mask);
    return any != 0;
}

void add_blocks(const LeftMatrix& a, const RightPanel& b, const Precision& precision, bool c_halves,
                bool d_halves, SumPanel& sum) noexcept {
    if (a.has_special || b.has_special ||
        has_special_summand(sum, a.rows * panel_columns, c_halves)) [[unlikely]]
        return add_special_product(a, b, precision, c_halves, d_halves, sum);
    const std::size_t block = std::min<std::size_t>(precision.block, a.depth);
    for (std::size_t row = 0; row < a.rows; ++row) {
        const std::size_t at = row * a.depth;
        u32* const bits = sum.bits.data() + row * panel_columns;
        for (std::size_t k = 0; k < a.depth; k += block) {
            const std::size_t length = std::min(block, a.depth - k);
            const auto add_any = length == 16  ? &add_block<16>
                                 : length == 8 ? &add_block<8>
                                               : &add_block<0>;
            add_any(a.significands.data() + at + k, a.exponents.data() + at + k,
                    b.significands.data() + k * panel_columns,
                    b.exponents.data() + k * panel_columns, length, precision,
                    k == 0 ? c_halves : d_halves, d_halves, bits);
        }
    }
}

u32 rounded_sum(f32 a, f32 b, bool halves) noexcept {
    const f32 sum = canonical(a + b);
    return halves ? real_to_half(sum) : bits_of(sum);
}

void add_blocks_then_summand(const LeftMatrix& a, const RightPanel& b, const Precision& precision,
                             bool c_halves, bool d_halves, SumPanel& sum) noexcept {
    SumPanel product;
    product.bits.fill(0);
    add_blocks(a, b, precision, d_halves, d_halves, product);
    for (std::size_t i = 0; i < a.rows * panel_columns; ++i) {
        sum.bits[i] = rounded_sum(summand(product.bits[i], d_halves),
                                  summand(sum.bits[i], c_halves), d_halves);
    }
}

void add_in_order(const LeftMatrix& a, const RightPanel& b, bool c_halves, bool d_halves,
                  SumPanel& sum) noexcept {
    // Zeros have an exponent far below.
    const auto value = [](f32 significand, i32 exponent) {
        return significand == 0 ? significand : std::ldexp(significand, exponent);
    };
    for (std::size_t row = 0; row < a.rows; ++row) {
        for (std::size_t j = 0; j < panel_columns; ++j) {
            u32& to = sum.bits[row * panel_columns + j];
            const f32 c = summand(to, c_halves);
            // Halves start with the summand; floats add it at the end.
            f32 product = d_halves ? c : 0;
            for (std::size_t k = 0; k < a.depth; ++k) {
                const std::size_t left = row * a.depth + k;
                const std::size_t right = k * panel_columns + j;
                product = __builtin_fmaf(value(a.significands[left], a.exponents[left]),
                                         value(b.significands[right], b.exponents[right]), product);
            }
            to = d_halves ? real_to_half(product) : rounded_sum(product, c, false);
        }
    }
}

}  // namespace

void add_real_product(const LeftMatrix& a, const RightPanel& b, const Precision& precision,
                      bool c_halves, bool d_halves, SumPanel& sum) noexcept {
    switch (precision.adding) {
        case Adding::blocks:
            return add_blocks(a, b, precision, c_halves, d_halves, sum);
        case Adding::blocks_then_summand:
            return add_blocks_then_summand(a, b, precision, c_halves, d_halves, sum);
        case Adding::in_order:
            return add_in_order(a, b, c_halves, d_halves, sum);
    }
}

void add_integer_product(const LeftMatrix& a, const RightPanel& b, bool saturates,
                         SumPanel& sum) noexcept {
    for (std::size_t row = 0; row < a.rows; ++row) {
        Ints products{};
        for (std::size_t k = 0; k < a.depth; ++k) {
            products += row_of<Ints>(b.exponents.data() + k * panel_columns) *
                        a.exponents[row * a.depth + k];
        }
        u32* const to = sum.bits.data() + row * panel_columns;
        for (std::size_t j = 0; j < panel_columns; ++j) {
            const i64 exact = i64{static_cast<i32>(to[j])} + products[j];
            const i64 clamped = std::clamp<i64>(exact, std::numeric_limits<i32>::min(),
                                                std::numeric_limits<i32>::max());
            to[j] = static_cast<u32>(saturates ? clamped : exact);
        }
    }
}

void add_bit_product(const LeftMatrix& a, const RightPanel& b, BitProduct kind,
                     SumPanel& sum) noexcept {
    for (std::size_t row = 0; row < a.rows; ++row) {
        for (std::size_t j = 0; j < panel_columns; ++j) {
            u32 count = 0;
            for (std::size_t k = 0; k < a.depth; ++k) {
                const auto left = static_cast<u32>(a.exponents[row * a.depth + k]);
                const auto right = static_cast<u32>(b.exponents[k * panel_columns + j]);
                count += static_cast<u32>(
                    std::popcount(kind == BitProduct::exclusive_or ? left ^ right : left & right));
            }
            sum.bits[row * panel_columns + j] += count;
        }
    }
}

}  // namespace lode::emulator::exec
