// mma.m16n8k16 and .m16n8k8 of halves or bfloats with sums in floats, for numbers whose exponents
// aren't extreme: then a product is a float, and what is cut off is the fraction of a scaled float.
// Gives the bits of matrix_panel.cpp, or nothing.
#include "emulator/exec/ops/matrix/quick.hpp"

#include "emulator/exec/lanes.hpp"

#include <algorithm>

namespace lode::emulator::exec {

#if defined(__AVX2__) && defined(__F16C__)

namespace {

constexpr std::size_t quick_row_count = 16;
constexpr std::size_t quick_columns = 8;
constexpr std::size_t quick_depth = 16;

/// The largest exponent of an element, either way: products stay far from the ends of a float's
/// range, and sums of exponents fit in a byte.
constexpr i32 quick_exponent = 42;
/// The exponent of zero: with any other it stays below every product's. Sums of bytes saturate.
constexpr i8 quick_zero = -128;
constexpr i32 least_top = -2 * quick_exponent;

/// Numbers and exponents of both factors.
struct QuickFactors {
    alignas(32) f32 a[quick_row_count][quick_depth];
    alignas(32) i8 a_exponents[quick_row_count][quick_depth];
    alignas(32) f32 b[quick_depth][quick_columns];
    alignas(32) i8 b_exponents[quick_depth][quick_columns];
    __m128i bad = _mm_setzero_si128();  ///< Not zero if an element is none for the quick way.
};

/// Eight elements as floats, and their exponents in the low half of `exponents`.
template <bool bfloats>
[[gnu::always_inline]] inline void take_elements(__m128i raw, f32* reals, i8* exponents,
                                                 __m128i& bad) noexcept {
    const __m128i zero = _mm_cmpeq_epi16(_mm_add_epi16(raw, raw), _mm_setzero_si128());
    __m128i exponent;
    if constexpr (bfloats) {
        const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16);
        _mm256_store_si256(reinterpret_cast<__m256i*>(reals), wide);
        const __m128i biased = _mm_srli_epi16(_mm_slli_epi16(raw, 1), 8);
        const __m128i above = _mm_sub_epi16(biased, _mm_set1_epi16(127 - quick_exponent));
        const __m128i off = _mm_subs_epu16(above, _mm_set1_epi16(2 * quick_exponent));
        bad = _mm_or_si128(bad, _mm_andnot_si128(zero, off));
        exponent = _mm_sub_epi16(biased, _mm_set1_epi16(127));
    } else {
        _mm256_store_ps(reals, _mm256_cvtph_ps(raw));
        const __m128i biased = _mm_srli_epi16(_mm_slli_epi16(raw, 1), 11);
        bad = _mm_or_si128(bad, _mm_cmpeq_epi16(biased, _mm_set1_epi16(31)));
        // Subnormal numbers have the exponent of the smallest normal one.
        exponent = _mm_sub_epi16(_mm_max_epi16(biased, _mm_set1_epi16(1)), _mm_set1_epi16(15));
    }
    exponent = _mm_blendv_epi8(exponent, _mm_set1_epi16(quick_zero), zero);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(exponents), _mm_packs_epi16(exponent, exponent));
}

/// Transposes 8 by 8 elements of 16 bits.
[[gnu::always_inline]] inline void transpose_elements(const __m128i* from, __m128i* to) noexcept {
    __m128i pairs[8];
    __m128i fours[8];
    for (std::size_t i = 0; i < 4; ++i) {
        pairs[i] = _mm_unpacklo_epi16(from[2 * i], from[2 * i + 1]);
        pairs[i + 4] = _mm_unpackhi_epi16(from[2 * i], from[2 * i + 1]);
    }
    for (std::size_t half = 0; half < 8; half += 4) {
        for (std::size_t i = 0; i < 2; ++i) {
            fours[half + i] = _mm_unpacklo_epi32(pairs[half + 2 * i], pairs[half + 2 * i + 1]);
            fours[half + 2 + i] = _mm_unpackhi_epi32(pairs[half + 2 * i], pairs[half + 2 * i + 1]);
        }
    }
    for (std::size_t k = 0; k < 4; ++k) {
        to[2 * k] = _mm_unpacklo_epi64(fours[2 * k], fours[2 * k + 1]);
        to[2 * k + 1] = _mm_unpackhi_epi64(fours[2 * k], fours[2 * k + 1]);
    }
}

/// A register of 32 lanes with two elements each is a matrix of 8 by 8, row by row; of the right
/// factor, column by column.
template <bool bfloats>
void take_factors(const WarpContext& c, const MatrixProduct& plan, QuickFactors& factors) noexcept {
    const std::size_t depth = plan.a.columns;
    for (std::size_t part = 0; part < depth / 8; ++part) {
        for (std::size_t half = 0; half < 2; ++half) {
            const auto* const rows = source<__m128i>(c, plan.a.slots[2 * part + half]);
            for (std::size_t i = 0; i < 8; ++i) {
                take_elements<bfloats>(rows[i], &factors.a[8 * half + i][8 * part],
                                       &factors.a_exponents[8 * half + i][8 * part], factors.bad);
            }
        }
        __m128i rows[8];
        transpose_elements(source<__m128i>(c, plan.b.slots[part]), rows);
        for (std::size_t k = 0; k < 8; ++k) {
            take_elements<bfloats>(rows[k], factors.b[8 * part + k],
                                   factors.b_exponents[8 * part + k], factors.bad);
        }
    }
}

/// The largest exponents of the products in `depth` consecutive k, for each column.
template <std::size_t depth>
[[gnu::always_inline]] inline __m256i largest_exponents(const QuickFactors& factors,
                                                        std::size_t row, std::size_t k) noexcept {
    const __m256i left = _mm256_broadcastsi128_si256(
        _mm_load_si128(reinterpret_cast<const __m128i*>(factors.a_exponents[row])));
    __m256i top = _mm256_set1_epi8(quick_zero);
    for (std::size_t at = k; at < k + depth; at += 4) {
        // Each of four exponents eight times.
        const auto n = static_cast<i64>(at) * 0x0101'0101'0101'0101;
        constexpr i64 one = 0x0101'0101'0101'0101;
        const __m256i spread =
            _mm256_shuffle_epi8(left, _mm256_set_epi64x(n + 3 * one, n + 2 * one, n + one, n));
        const __m256i right =
            _mm256_load_si256(reinterpret_cast<const __m256i*>(factors.b_exponents[at]));
        top = _mm256_max_epi8(top, _mm256_adds_epi8(spread, right));
    }
    __m128i most = _mm_max_epi8(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    most = _mm_max_epi8(most, _mm_srli_si128(most, 8));
    return _mm256_cvtepi8_epi32(most);
}

/// The scaled products of eight consecutive k, cut off and added.
[[gnu::always_inline]] inline __m256i sum_of_products(const QuickFactors& factors, std::size_t row,
                                                      std::size_t first, __m256 scale) noexcept {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t k = first; k < first + 8; ++k) {
        const __m256 product =
            _mm256_mul_ps(_mm256_load_ps(factors.b[k]), _mm256_set1_ps(factors.a[row][k]));
        sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(_mm256_mul_ps(product, scale)));
    }
    return sum;
}

/// A float with 24 of the bits of a double, towards zero.
[[gnu::always_inline]] inline __m128 cut_off_double(__m256d value) noexcept {
    const __m256d kept = _mm256_castsi256_pd(_mm256_set1_epi64x(-(i64{1} << 29)));
    return _mm256_cvtpd_ps(_mm256_and_pd(value, kept));
}

/// One block of `depth` products for a row of eight sums; sets bits of `bad` if a sum isn't one for
/// the quick way.
template <std::size_t depth>
[[gnu::always_inline]] inline __m256 add_quick_block(const QuickFactors& factors, std::size_t row,
                                                     std::size_t k, i32 fraction_bits, __m256 c,
                                                     __m256i& bad) noexcept {
    const __m256i magnitude = _mm256_slli_epi32(_mm256_castps_si256(c), 1);
    const __m256i biased = _mm256_srli_epi32(magnitude, 24);
    const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
    const __m256i off =
        _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(127 + least_top), biased),
                        _mm256_cmpgt_epi32(biased, _mm256_set1_epi32(254)));
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(zero, off));
    __m256i top = _mm256_max_epi32(largest_exponents<depth>(factors, row, k),
                                   _mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
    top = _mm256_max_epi32(top, _mm256_set1_epi32(least_top));
    const __m256i up = _mm256_sub_epi32(_mm256_set1_epi32(127 + fraction_bits), top);
    const __m256i down = _mm256_sub_epi32(_mm256_set1_epi32(2 * 127), up);
    const __m256 scale = _mm256_castsi256_ps(_mm256_slli_epi32(up, 23));
    const __m256i first = _mm256_add_epi32(sum_of_products(factors, row, k, scale),
                                           _mm256_cvttps_epi32(_mm256_mul_ps(c, scale)));
    __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(first));
    __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(first, 1));
    if constexpr (depth == 16) {
        const __m256i second = sum_of_products(factors, row, k + 8, scale);
        low = _mm256_add_pd(low, _mm256_cvtepi32_pd(_mm256_castsi256_si128(second)));
        high = _mm256_add_pd(high, _mm256_cvtepi32_pd(_mm256_extracti128_si256(second, 1)));
    }
    const __m256 sum = _mm256_set_m128(cut_off_double(high), cut_off_double(low));
    return _mm256_mul_ps(sum, _mm256_castsi256_ps(_mm256_slli_epi32(down, 23)));
}

template <std::size_t block>
bool multiply_quick(WarpContext& c, const MatrixProduct& plan,
                    const QuickFactors& factors) noexcept {
    const i32 fraction_bits = plan.precision.fraction_bits;
    const std::size_t depth = plan.a.columns;
    alignas(32) f32 sums[4][lanes];
    __m256i bad = _mm256_setzero_si256();
    for (std::size_t row = 0; row < quick_row_count; ++row) {
        // A row's sums are in four lanes: even columns in one register, odd ones in the next.
        const std::size_t half = row / 8 * 2;
        const std::size_t lane = row % 8 * 4;
        const __m128 even = _mm_load_ps(source<f32>(c, plan.c.slots[half]) + lane);
        const __m128 odd = _mm_load_ps(source<f32>(c, plan.c.slots[half + 1]) + lane);
        __m256 sum = _mm256_set_m128(_mm_unpackhi_ps(even, odd), _mm_unpacklo_ps(even, odd));
        for (std::size_t k = 0; k < depth; k += block)
            sum = add_quick_block<block>(factors, row, k, fraction_bits, sum, bad);
        const __m128 low = _mm256_castps256_ps128(sum);
        const __m128 high = _mm256_extractf128_ps(sum, 1);
        _mm_store_ps(&sums[half][lane], _mm_shuffle_ps(low, high, 0x88));
        _mm_store_ps(&sums[half + 1][lane], _mm_shuffle_ps(low, high, 0xdd));
    }
    if (_mm256_testz_si256(bad, bad) == 0) return false;
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
    if (plan.a.element == Element::bf16) {
        take_factors<true>(c, plan, factors);
    } else {
        take_factors<false>(c, plan, factors);
    }
    if (_mm_testz_si128(factors.bad, factors.bad) == 0) return false;
    const std::size_t block = std::min<std::size_t>(plan.precision.block, plan.a.columns);
    return block == 16 ? multiply_quick<16>(c, plan, factors) : multiply_quick<8>(c, plan, factors);
}

#else

bool multiply_quickly(WarpContext&, const MatrixProduct&) noexcept {
    return false;
}

#endif

}  // namespace lode::emulator::exec
