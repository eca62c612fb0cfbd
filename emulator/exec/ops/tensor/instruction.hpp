// The instruction descriptor of tcgen05.mma: types, sizes and the layout of the result.
#pragma once

#include "emulator/isa/tensor_memory.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::exec {

/// PTX ISA 9.0, section 9.7.16.4.2.
struct TensorInstruction {
    Element a = Element::f16, b = Element::f16, d = Element::f32;
    u32 m = 0, n = 0, k = 0;
    bool negates_a = false, negates_b = false;
    bool a_by_columns = false, b_by_rows = false;
    bool saturates = false;
    u32 selector = 0;  ///< The column of a sparse matrix's metadata.
    u32 a_scale_byte = 0, b_scale_byte = 0;
    bool scales_have_fraction = false;  ///< ue4m3, otherwise ue8m0.
};

/// The place of the result in a block's tensor memory: PTX ISA 9.0, section 9.7.16.10.5, data path
/// layouts A to G.
struct TensorPlace {
    u32 rows = 0;   ///< In a block.
    u32 parts = 1;  ///< Equal parts of the columns, one below the other.
    u32 part_columns = 0;
    bool is_spread = false;  ///< 16 rows in each quarter of the lanes.

    TensorPlace(const TensorProduct& plan, const TensorInstruction& of) noexcept
        : rows(of.m / plan.blocks) {
        constexpr u32 lane_count = 128;
        is_spread = rows == 64 && !plan.stationary && (plan.blocks == 1 || plan.sparse);
        if (!is_spread) parts = lane_count / rows;
        part_columns = of.n / parts;
    }
    [[nodiscard]] u32 lane_of(u32 row, u32 part) const noexcept {
        return is_spread ? row / 16 * 32 + row % 16 : row + part * rows;
    }
};

namespace tensor_instruction {

inline std::optional<Element> small_element(u32 format) noexcept {
    switch (format) {
        case 0:
            return Element::e4m3;
        case 1:
            return Element::e5m2;
        case 3:
            return Element::e2m3;
        case 4:
            return Element::e3m2;
        case 5:
            return Element::e2m1;
        default:
            return std::nullopt;
    }
}

inline std::optional<Element> element(TensorKind kind, u32 format) noexcept {
    switch (kind) {
        case TensorKind::f16:
            if (format > 1) return std::nullopt;
            return format == 0 ? Element::f16 : Element::bf16;
        case TensorKind::tf32:
            if (format != 2) return std::nullopt;
            return Element::tf32;
        case TensorKind::i8:
            if (format > 1) return std::nullopt;
            return format == 0 ? Element::u8 : Element::s8;
        case TensorKind::f8f6f4:
        case TensorKind::mxf8f6f4:
            return small_element(format);
        default:
            if (format != 1) return std::nullopt;
            return Element::e2m1_x2;
    }
}

/// Whether a kind has these sizes: PTX ISA 9.0, section 9.7.16.2.1.
inline bool has_sizes(const TensorProduct& plan, u32 m, u32 n) noexcept {
    if (n == 0 || n > 256) return false;
    if (plan.stationary)
        return (m == 32 || m == 64 || m == 128) && (n == 64 || n == 128 || n == 256);
    const bool scaled = plan.scales != 0;
    if (plan.blocks == 2) return (m == 128 || m == 256) && n % 16 == 0;
    if (m == 128) return n % (scaled ? 8 : 16) == 0;
    if (plan.kind == TensorKind::i8) return m == 64 && (n == 8 || n == 24 || n % 16 == 0);
    return m == 64 && !scaled && n % 8 == 0;
}

}  // namespace tensor_instruction

/// Reads a descriptor; what is wrong with it, as the rest of a sentence about a thread, or nothing.
inline std::string read_instruction(const TensorProduct& plan, u32 bits, TensorInstruction& to) {
    const auto field = [&](u32 shift, u32 count) { return bits >> shift & ((1u << count) - 1); };
    const auto wrong = [&](std::string_view what) {
        return fmt::format("multiplies with the instruction descriptor 0x{:08x}, which has {}",
                           bits, what);
    };
    const bool scaled = plan.scales != 0;
    const bool fours = plan.kind == TensorKind::mxf4 || plan.kind == TensorKind::mxf4nvf4;
    if ((field(2, 1) != 0) != plan.sparse) return wrong("another sparsity than the instruction");
    const auto a = tensor_instruction::element(plan.kind, field(7, 3));
    const auto b = tensor_instruction::element(plan.kind, field(10, fours ? 2 : 3));
    if (!a || !b) return wrong("a type that the instruction's kind lacks");
    to.a = *a;
    to.b = *b;
    to.m = field(24, 5) * 16;
    to.n = field(17, 6) * 8;
    if (!tensor_instruction::has_sizes(plan, to.m, to.n))
        return wrong(
            fmt::format("the sizes m = {} and n = {}, which the instruction lacks", to.m, to.n));
    const u32 bits_each = std::max(bits_of(to.a), fours ? 4u : 8u);
    to.k = 256 / bits_each * (plan.sparse ? 2 : 1);
    to.negates_a = field(13, 1) != 0;
    to.negates_b = field(14, 1) != 0;
    to.a_by_columns = field(15, 1) != 0;
    to.b_by_rows = field(16, 1) != 0;
    const auto is_packed = [](Element one) {
        return bits_of(one) == 4 || one == Element::e2m3 || one == Element::e3m2 ||
               one == Element::e2m1;
    };
    if ((to.a_by_columns && (is_packed(to.a) || plan.a_in_tensor_memory)) ||
        (to.b_by_rows && is_packed(to.b)))
        return wrong("a matrix by columns that can only be there by rows");
    to.selector = field(0, 2);
    if (to.selector != 0 && plan.kind != TensorKind::f16 && plan.kind != TensorKind::tf32)
        return wrong("a sparsity selector that the instruction's kind lacks");
    if (scaled) {
        to.d = Element::f32;
        to.a_scale_byte = field(29, 2);
        to.b_scale_byte = field(4, 2);
        if (to.a_scale_byte + plan.scales > 4 || to.b_scale_byte + plan.scales > 4)
            return wrong("scales beyond a column");
        to.scales_have_fraction = field(23, 1) == 0;
        if (to.scales_have_fraction && plan.kind != TensorKind::mxf4nvf4)
            return wrong("scales of a type that the instruction's kind lacks");
        if (field(31, 1) != 0)
            return wrong("a depth of 96, which the software device doesn't know");
        return {};
    }
    constexpr Element results[] = {Element::f16, Element::f32, Element::s32, Element::b1};
    to.d = results[field(4, 2)];
    const bool half_sums = plan.kind == TensorKind::f16 || plan.kind == TensorKind::f8f6f4;
    const bool integers = plan.kind == TensorKind::i8;
    const bool fits = integers ? to.d == Element::s32
                               : to.d == Element::f32 || (to.d == Element::f16 && half_sums);
    if (!fits || (to.d == Element::f16 && (to.a == Element::bf16 || to.b == Element::bf16)))
        return wrong("a type of the result that its other types exclude");
    to.saturates = field(3, 1) != 0;
    if (integers && (to.negates_a || to.negates_b)) return wrong("a negation of integers");
    return {};
}

}  // namespace lode::emulator::exec
