// mma, wmma.mma and their variants: matrices from registers, products by panels, and back.
#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/ops/matrix/elements.hpp"
#include "emulator/exec/ops/matrix/fragment.hpp"
#include "emulator/exec/ops/matrix/panel.hpp"
#include "emulator/exec/ops/matrix/quick.hpp"
#include "emulator/isa/half.hpp"

#include <algorithm>

namespace lode::emulator::exec {

void take_left(Element element, const u32* raw, std::size_t rows, std::size_t depth,
               LeftMatrix& a) noexcept {
    a.rows = rows;
    a.depth = depth;
    a.has_special = false;
    if (element == Element::b1) {
        std::memcpy(a.exponents.data(), raw, std::size_t{rows} * depth * 4);
    } else if (is_integer(element)) {
        widen_integers(element, raw, rows * depth, a.exponents.data());
    } else {
        a.has_special = split_elements(element, raw, rows * depth, zero_exponent,
                                       a.significands.data(), a.exponents.data());
    }
}

void spread_left(const MatrixProduct& plan, const u32* metadata, const LeftMatrix& packed,
                 LeftMatrix& a) noexcept {
    // In a chunk, `kept` pairs of bits of the metadata place `width` elements each.
    const std::size_t width = plan.sparsity == Sparsity::pairs_of_eight ? 2 : 1;
    const std::size_t kept = plan.sparsity == Sparsity::one_of_two ? 1 : 2;
    const std::size_t chunk = 2 * kept * width;
    a.rows = packed.rows;
    a.depth = 2 * packed.depth;
    a.has_special = packed.has_special;
    const std::size_t count = a.rows * a.depth;
    const bool integers = is_integer(plan.a.element);
    std::fill_n(a.significands.begin(), count, 0.0f);
    std::fill_n(a.exponents.begin(), count, integers ? 0 : absent_exponent);
    const std::size_t chunks = a.depth / chunk;
    for (std::size_t at = 0; at < a.rows * chunks; ++at) {
        const u16 place = plan.metadata_places[at];
        const u32 bits = metadata[place / 32] >> (place % 32);
        for (std::size_t k = 0; k < kept; ++k) {
            // One of two has the pairs 0, 1 or 2, 3, as if its elements had two halves.
            const std::size_t index = kept == 1 ? (bits >> 3) & 1 : (bits >> (2 * k)) & 3;
            for (std::size_t e = 0; e < width; ++e) {
                const std::size_t from = (at * kept + k) * width + e;
                const std::size_t to = at * chunk + index * width + e;
                a.significands[to] = packed.significands[from];
                a.exponents[to] = packed.exponents[from];
            }
        }
    }
}

void take_right(Element element, const u32* raw, std::size_t depth, std::size_t columns,
                std::size_t first, RightPanel& b) noexcept {
    alignas(32) u32 panel[max_matrix_depth * panel_columns];
    for (std::size_t k = 0; k < depth; ++k)
        std::memcpy(panel + k * panel_columns, raw + k * columns + first, panel_columns * 4);
    b.has_special = false;
    if (element == Element::b1) {
        std::memcpy(b.exponents.data(), panel, std::size_t{depth} * panel_columns * 4);
    } else if (is_integer(element)) {
        widen_integers(element, panel, depth * panel_columns, b.exponents.data());
    } else {
        b.has_special = split_elements(element, panel, depth * panel_columns, zero_exponent,
                                       b.significands.data(), b.exponents.data());
    }
}

void add_product(const ProductTypes& types, const LeftMatrix& a, const RightPanel& b,
                 SumPanel& sum) noexcept {
    if (types.bits != BitProduct::none) return add_bit_product(a, b, types.bits, sum);
    if (is_integer(types.a)) return add_integer_product(a, b, types.saturates, sum);
    add_real_product(a, b, types.precision, types.c == Element::f16, types.d == Element::f16, sum);
}

namespace {

/// The bits of fp8 numbers as those of halves.
void convert_to_halves(Element element, u32* raw, std::size_t count) noexcept {
    const Format& format = element == Element::e4m3 ? e4m3_format : e5m2_format;
    for (std::size_t i = 0; i < count; ++i)
        raw[i] = real_to_half(widened(raw[i], format));
}

/// The scales in the registers of lanes: of rows 8 apart in two neighbours, of a column in one.
ScaleTable scales_of(const WarpContext& c, const BlockScales& from) noexcept {
    ScaleTable scales;
    scales.count = from.count;
    const auto take = [&](Slot slot, std::size_t lane, std::size_t byte, f32& significand,
                          i32& exponent) {
        const u32 raw = source<u32>(c, slot)[lane] >> (8 * byte) & 255;
        if (from.has_fraction) {
            const u32 number = raw & 0x7f;
            scales.has_nan |=
                split<e4m3_number>(&number, 1, zero_exponent, &significand, &exponent);
        } else {
            significand = 1;
            exponent = static_cast<i32>(raw) - 127;
            scales.has_nan |= raw == 255;
            if (raw == 255) significand = std::numeric_limits<f32>::quiet_NaN();
        }
    };
    for (std::size_t row = 0; row < 16; ++row) {
        for (std::size_t k = 0; k < from.count; ++k) {
            const std::size_t at = row * from.count + k;
            take(from.a, row % 8 * 4 + from.a_lane + row / 8, from.a_byte + k,
                 scales.a_significands[at], scales.a_exponents[at]);
        }
    }
    for (std::size_t column = 0; column < panel_columns; ++column) {
        for (std::size_t k = 0; k < from.count; ++k) {
            const std::size_t at = column * from.count + k;
            take(from.b, column * 4 + from.b_lane, from.b_byte + k, scales.b_significands[at],
                 scales.b_exponents[at]);
        }
    }
    return scales;
}

void multiply_words(WarpContext& c, const MatrixProduct& plan) {
    alignas(32) u32 left[max_matrix_rows * max_matrix_depth];
    alignas(32) u32 right[max_matrix_depth * 32];
    alignas(32) u32 summand[max_matrix_rows * 32];
    LeftMatrix a;
    LeftMatrix packed_a;
    RightPanel b;
    SumPanel sum;
    gather(c, plan.a, left);
    gather(c, plan.b, right);
    gather(c, plan.c, summand);
    const std::size_t rows = plan.a.rows / plan.repeats;
    const bool sparse = plan.sparsity != Sparsity::none;
    const std::size_t packed = plan.a.columns;
    const std::size_t depth = sparse ? 2 * packed : packed;
    const std::size_t columns = plan.b.columns;
    ProductTypes types{plan.a.element, plan.c.element, plan.d.element,
                       plan.precision, plan.bits,      plan.saturates};
    Element b_element = plan.b.element;
    if (plan.precision.adding == Adding::blocks_then_summand) {
        convert_to_halves(plan.a.element, left, plan.a.count());
        convert_to_halves(plan.b.element, right, plan.b.count());
        types.a = b_element = Element::f16;
    }
    if (types.c == Element::f16 && types.d == Element::f32) {
        for (std::size_t i = 0; i < plan.c.count(); ++i)
            summand[i] = bits_of(half_to_real(static_cast<u16>(summand[i])));
        types.c = Element::f32;
    }
    // A float summand gives floats, which are rounded at the end.
    const bool rounds = types.c == Element::f32 && types.d == Element::f16;
    if (rounds) types.d = Element::f32;
    for (std::size_t repeat = 0; repeat < plan.repeats; ++repeat) {
        take_left(types.a, left + repeat * rows * packed, rows, packed, sparse ? packed_a : a);
        if (sparse) spread_left(plan, source<u32>(c, plan.metadata), packed_a, a);
        u32* const out = summand + repeat * rows * columns;
        for (std::size_t first = 0; first < columns; first += panel_columns) {
            take_right(b_element, right + repeat * depth * columns, depth, columns, first, b);
            for (std::size_t row = 0; row < rows; ++row)
                std::memcpy(sum.bits.data() + row * panel_columns, out + row * columns + first, 32);
            if (plan.scales.adds_groups) {
                add_scaled_groups(scales_of(c, plan.scales), a, b, group_of_products(sparse), sum);
            } else {
                if (plan.scales.count != 0) scale_elements(scales_of(c, plan.scales), a, b);
                add_product(types, a, b, sum);
            }
            for (std::size_t row = 0; row < rows; ++row)
                std::memcpy(out + row * columns + first, sum.bits.data() + row * panel_columns, 32);
        }
    }
    if (rounds) {
        for (std::size_t i = 0; i < plan.d.count(); ++i)
            summand[i] = real_to_half(real32(summand[i]));
    }
    scatter(c, plan.d, summand);
}

void multiply_doubles(WarpContext& c, const MatrixProduct& plan) {
    LeftMatrix a;
    RightPanel b;
    SumPanel sum;
    a.rows = plan.a.rows;
    a.depth = plan.a.columns;
    gather_doubles(c, plan.a, a.reals.data());
    gather_doubles(c, plan.b, b.reals.data());
    gather_doubles(c, plan.c, sum.reals.data());
    add_double_product(a, b, plan.rounding, sum);
    scatter_doubles(c, plan.d, sum.reals.data());
}

}  // namespace

const Op* matrix_product(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& plan = *static_cast<const MatrixProduct*>(op->table);
    if (plan.a.element == Element::f64) {
        multiply_doubles(c, plan);
    } else if (!multiply_quickly(c, plan)) {
        multiply_words(c, plan);
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
