// mma.m16n8k16 and .m16n8k8 of halves or bfloats with sums in floats, for numbers whose exponents
// aren't extreme: then a product is a float, and what is cut off is the fraction of a scaled float.
// Gives the bits of panel.cpp, or nothing.
#include "emulator/exec/ops/matrix/quick.hpp"

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/ops/matrix/vectors.hpp"
#include "emulator/isa/half.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace lode::emulator::exec {

namespace {

using Elements = u16 __attribute__((vector_size(16)));
using Pairs = u32 __attribute__((vector_size(16)));
using Fours = u64 __attribute__((vector_size(16)));
using Counts = u32 __attribute__((vector_size(32)));
using Bytes = u8 __attribute__((vector_size(32)));
using HalfBytes = u8 __attribute__((vector_size(16)));
using QuarterBytes = u8 __attribute__((vector_size(8)));

constexpr std::size_t quick_row_count = 16;
constexpr std::size_t quick_columns = 8;
constexpr std::size_t quick_depth = 16;

/// Exponents of elements: products stay far from the ends of a float's range. They are stored as
/// bytes, with a bias: sums of two fit in a byte, and those with a zero, whose byte is 0, are below
/// all others.
constexpr i32 least_exponent = -42;
constexpr i32 largest_exponent = 21;
constexpr i32 quick_bias = largest_exponent - 2 * least_exponent + 1;
constexpr i32 least_top = 2 * least_exponent;

/// Numbers and exponents of both factors.
struct QuickFactors {
    f32 a[quick_row_count][quick_depth];
    alignas(16) u8 a_exponents[quick_row_count][quick_depth];
    Reals b[quick_depth];
    alignas(32) u8 b_exponents[quick_depth][quick_columns];
};

[[gnu::always_inline]] inline auto larger(auto a, auto b) noexcept {
    return a > b ? a : b;
}

/// Eight elements as floats, and their exponents; `largest` is that of the exponents, less the
/// least one.
template <bool bfloats>
[[gnu::always_inline]] inline void take_elements(Elements raw, void* reals, u8* exponents,
                                                 Elements& largest) noexcept {
    const Elements magnitude = raw << 1;
    const auto nonzero = ~std::bit_cast<Elements>(magnitude == 0);
    Elements above;
    if constexpr (bfloats) {
        const auto wide = __builtin_convertvector(raw, Ints) << 16;
        std::memcpy(reals, &wide, sizeof wide);
        above = (magnitude >> 8) - static_cast<u16>(127 + least_exponent);
        largest = larger(largest, above & nonzero);
    } else {
        eight_halves_to_reals(&raw, reals);
        // Subnormal numbers have the exponent of the smallest normal one.
        above = larger(magnitude >> 11, Elements{} + 1) - static_cast<u16>(15 + least_exponent);
        largest = larger(largest, above);
    }
    const Elements biased = (above + static_cast<u16>(least_exponent + quick_bias)) & nonzero;
    const auto bytes = __builtin_convertvector(biased, QuarterBytes);
    std::memcpy(exponents, &bytes, sizeof bytes);
}

/// Transposes 8 by 8 elements.
[[gnu::always_inline]] inline void transpose_elements(const Elements* from, Elements* to) noexcept {
    Pairs pairs[8];
    Fours fours[8];
    for (std::size_t i = 0; i < 4; ++i) {
        const Elements x = from[2 * i];
        const Elements y = from[2 * i + 1];
        pairs[i] = std::bit_cast<Pairs>(__builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11));
        pairs[i + 4] =
            std::bit_cast<Pairs>(__builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15));
    }
    for (std::size_t half = 0; half < 8; half += 4) {
        for (std::size_t i = 0; i < 2; ++i) {
            const Pairs x = pairs[half + 2 * i];
            const Pairs y = pairs[half + 2 * i + 1];
            fours[half + i] = std::bit_cast<Fours>(__builtin_shufflevector(x, y, 0, 4, 1, 5));
            fours[half + 2 + i] = std::bit_cast<Fours>(__builtin_shufflevector(x, y, 2, 6, 3, 7));
        }
    }
    for (std::size_t k = 0; k < 8; k += 2) {
        const Fours x = fours[k];
        const Fours y = fours[k + 1];
        to[k] = std::bit_cast<Elements>(__builtin_shufflevector(x, y, 0, 2));
        to[k + 1] = std::bit_cast<Elements>(__builtin_shufflevector(x, y, 1, 3));
    }
}

template <class V>
bool is_any_above(V numbers, i32 limit) noexcept {
    bool result = false;
    for (int i = 0; i < 8; ++i)
        result |= numbers[i] > static_cast<u32>(limit);
    return result;
}

/// A register of 32 lanes with two elements each is a matrix of 8 by 8, row by row; of the right
/// factor, column by column. Whether all elements are for the quick way.
template <bool bfloats>
bool take_factors(const WarpContext& c, const MatrixProduct& plan, QuickFactors& factors) noexcept {
    const std::size_t depth = plan.a.columns;
    Elements largest{};
    for (std::size_t part = 0; part < depth / 8; ++part) {
        for (std::size_t half = 0; half < 2; ++half) {
            const auto* const rows = source<Elements>(c, plan.a.slots[2 * part + half]);
            for (std::size_t i = 0; i < 8; ++i) {
                take_elements<bfloats>(rows[i], &factors.a[8 * half + i][8 * part],
                                       &factors.a_exponents[8 * half + i][8 * part], largest);
            }
        }
        Elements rows[8];
        transpose_elements(source<Elements>(c, plan.b.slots[part]), rows);
        for (std::size_t k = 0; k < 8; ++k) {
            take_elements<bfloats>(rows[k], &factors.b[8 * part + k],
                                   factors.b_exponents[8 * part + k], largest);
        }
    }
    return !is_any_above(largest, (bfloats ? largest_exponent : 15) - least_exponent);
}

/// Each of four bytes, from k on, eight times; `bytes` has the same 16 bytes twice.
template <int k>
[[gnu::always_inline]] inline Bytes spread(Bytes bytes) noexcept {
    constexpr int high = k + 18;
    return __builtin_shufflevector(bytes, bytes, k, k, k, k, k, k, k, k, k + 1, k + 1, k + 1, k + 1,
                                   k + 1, k + 1, k + 1, k + 1, high, high, high, high, high, high,
                                   high, high, high + 1, high + 1, high + 1, high + 1, high + 1,
                                   high + 1, high + 1, high + 1);
}

/// The largest exponents of the products in `depth` consecutive k, for each column; less than
/// least_top if all are zero.
template <std::size_t depth, int k>
[[gnu::always_inline]] inline Ints largest_exponents(const QuickFactors& factors,
                                                     std::size_t row) noexcept {
    const auto once = row_of<HalfBytes>(factors.a_exponents[row]);
    const Bytes left =
        __builtin_shufflevector(once, once, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0,
                                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const auto sums = [&](Bytes one, std::size_t at) {
        return one + row_of<Bytes>(factors.b_exponents[at]);
    };
    Bytes top = larger(sums(spread<k>(left), k), sums(spread<k + 4>(left), k + 4));
    if constexpr (depth == 16)
        top = larger(top, larger(sums(spread<8>(left), 8), sums(spread<12>(left), 12)));
    const auto fours = std::bit_cast<Longs>(top);
    top = larger(top, std::bit_cast<Bytes>(__builtin_shufflevector(fours, fours, 2, 3, 0, 1)));
    const auto twos = std::bit_cast<Longs>(top);
    top = larger(top, std::bit_cast<Bytes>(__builtin_shufflevector(twos, twos, 1, 0, 3, 2)));
    const auto columns = __builtin_shufflevector(top, top, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_convertvector(columns, Ints) - 2 * quick_bias;
}

/// The scaled products of eight consecutive k, cut off and added.
[[gnu::always_inline]] inline Ints sum_of_products(const QuickFactors& factors, std::size_t row,
                                                   std::size_t first, Reals scale) noexcept {
    Ints sum{};
    for (std::size_t k = first; k < first + 8; ++k)
        sum += __builtin_convertvector(factors.b[k] * factors.a[row][k] * scale, Ints);
    return sum;
}

/// One block of `depth` products for a row of eight sums; `largest` is that of the sums' exponents
/// above the least one.
template <std::size_t depth, int k>
[[gnu::always_inline]] inline Reals add_quick_block(const QuickFactors& factors, std::size_t row,
                                                    i32 fraction_bits, Reals c,
                                                    Counts& largest) noexcept {
    const Ints magnitude = std::bit_cast<Ints>(c) & std::numeric_limits<i32>::max();
    const Ints biased = magnitude >> 23;
    const Ints above = (biased - (127 + least_top)) & (magnitude != 0);
    largest = larger(largest, std::bit_cast<Counts>(above));
    const Ints products = largest_exponents<depth, k>(factors, row);
    const Ints top = larger(larger(products, biased - 127), Ints{} + least_top);
    const Ints up = 127 + fraction_bits - top;
    const auto scale = std::bit_cast<Reals>(up << 23);
    const Ints first =
        sum_of_products(factors, row, k, scale) + __builtin_convertvector(c * scale, Ints);
    Wides low = low_doubles(first);
    Wides high = high_doubles(first);
    if constexpr (depth == 16) {
        const Ints second = sum_of_products(factors, row, k + 8, scale);
        low += low_doubles(second);
        high += high_doubles(second);
    }
    // Floats have 24 of the bits; they are cut off towards zero.
    constexpr i64 kept = -(i64{1} << 29);
    low = std::bit_cast<Wides>(std::bit_cast<Longs>(low) & kept);
    high = std::bit_cast<Wides>(std::bit_cast<Longs>(high) & kept);
    const Ints down = 2 * 127 - up;
    return floats(low, high) * std::bit_cast<Reals>(down << 23);
}

template <std::size_t block>
bool multiply_quick(WarpContext& c, const MatrixProduct& plan,
                    const QuickFactors& factors) noexcept {
    const i32 fraction_bits = plan.precision.fraction_bits;
    const std::size_t depth = plan.a.columns;
    alignas(32) f32 sums[4][lanes];
    Counts largest{};
    for (std::size_t row = 0; row < quick_row_count; ++row) {
        // A row's sums are in four lanes: even columns in one register, odd ones in the next.
        const std::size_t half = row / 8 * 2;
        const std::size_t lane = row % 8 * 4;
        const auto even = row_of<HalfReals>(source<f32>(c, plan.c.slots[half]) + lane);
        const auto odd = row_of<HalfReals>(source<f32>(c, plan.c.slots[half + 1]) + lane);
        Reals sum = __builtin_shufflevector(even, odd, 0, 4, 1, 5, 2, 6, 3, 7);
        sum = add_quick_block<block, 0>(factors, row, fraction_bits, sum, largest);
        if (block < depth) sum = add_quick_block<8, 8>(factors, row, fraction_bits, sum, largest);
        const HalfReals results[] = {__builtin_shufflevector(sum, sum, 0, 2, 4, 6),
                                     __builtin_shufflevector(sum, sum, 1, 3, 5, 7)};
        std::memcpy(&sums[half][lane], &results[0], sizeof results[0]);
        std::memcpy(&sums[half + 1][lane], &results[1], sizeof results[1]);
    }
    if (is_any_above(largest, 127 - least_top)) return false;
    for (std::size_t k = 0; k < 4; ++k) {
        if (plan.d.slots[k] != no_slot)
            std::memcpy(destination<f32>(c, plan.d.slots[k]), sums[k], sizeof sums[k]);
    }
    return true;
}

bool has_quick_way(const MatrixProduct& plan) noexcept {
    const bool halves = plan.a.element == Element::f16 || plan.a.element == Element::bf16;
    const std::size_t depth = plan.a.columns;
    return halves && plan.b.element == plan.a.element && plan.c.element == Element::f32 &&
           plan.d.element == Element::f32 && plan.a.rows == quick_row_count &&
           plan.b.columns == quick_columns && (depth == 8 || depth == 16) && plan.repeats == 1 &&
           plan.sparsity == Sparsity::none && plan.scales.count == 0 && plan.c.slots.size() == 4 &&
           plan.precision.adding == Adding::blocks && plan.precision.result_bits == 23 &&
           plan.precision.fraction_bits <= 25 &&
           (plan.precision.block == 8 || plan.precision.block == 16);
}

}  // namespace

bool multiply_quickly(WarpContext& c, const MatrixProduct& plan) noexcept {
    if (!has_quick_way(plan)) return false;
    QuickFactors factors;
    const bool quick = plan.a.element == Element::bf16 ? take_factors<true>(c, plan, factors)
                                                       : take_factors<false>(c, plan, factors);
    if (!quick) return false;
    const std::size_t block = std::min<std::size_t>(plan.precision.block, plan.a.columns);
    return block == 16 ? multiply_quick<16>(c, plan, factors) : multiply_quick<8>(c, plan, factors);
}

}  // namespace lode::emulator::exec
