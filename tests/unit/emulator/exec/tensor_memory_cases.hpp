// Products in tensor memory to test: their sizes, and where their matrices lie.
#pragma once

#include "tests/unit/emulator/exec/tensor_programs.hpp"

namespace lode::emulator::exec::testing {

inline constexpr unsigned rows_of_memory = 128;
inline constexpr unsigned words_of_matrix = 4096;
inline constexpr unsigned extra_columns = 32;
// Columns of what a product reads from tensor memory, from 256 on.
inline constexpr unsigned a_column = 0, metadata_column = 8, a_scale_column = 12,
                          b_scale_column = 20;

struct TensorCase {
    std::string_view kind, a, b, d;
    unsigned m = 128, n = 32;
    unsigned swizzle = 128;
    bool a_by_columns = false, b_by_rows = false;
    unsigned blocks = 1;
    bool stationary = false, sparse = false, a_in_memory = false;
    std::string_view modifier = {};  ///< ".block_scale.block32"
    unsigned scales = 0, scale_byte = 0;
    unsigned selector = 0, halvings = 0;
    bool negates = false, disables = false, adds = true;

    [[nodiscard]] bool fours() const { return kind.starts_with("mxf4"); }
    [[nodiscard]] unsigned depth() const {
        const unsigned dense = kind == "f16" ? 16 : kind == "tf32" ? 8 : fours() ? 64 : 32;
        return sparse ? 2 * dense : dense;
    }
    [[nodiscard]] unsigned packed_depth() const { return sparse ? depth() / 2 : depth(); }
    [[nodiscard]] unsigned rows() const { return m / blocks; }  ///< In a block.
    [[nodiscard]] unsigned words() const {
        return 2 * words_of_matrix + (n + extra_columns) * rows_of_memory;
    }
    [[nodiscard]] ElementType type(std::string_view name) const {
        return ElementType(fours() && name == "e2m1" ? "e2m1x2" : name);
    }
};

/// The lane of an element of the result; its column is `column` % the part's columns.
inline unsigned lane_of(const TensorCase& one, unsigned row, unsigned column) {
    const unsigned local = row % one.rows();
    if (one.rows() == 128) return local;                             // A, D
    if (one.rows() == 32) return local + column / (one.n / 4) * 32;  // G
    if (one.stationary || (one.blocks == 2 && !one.sparse))
        return local + column / (one.n / 2) * 64;  // B, E
    return local / 16 * 32 + local % 16;           // C, F
}
inline unsigned columns_of_part(const TensorCase& one) {
    if (one.rows() == 32) return one.n / 4;
    const bool halves = one.rows() == 64 && (one.stationary || (one.blocks == 2 && !one.sparse));
    return halves ? one.n / 2 : one.n;
}

/// The first bit of an element of a row of a, or of a column of b, in shared memory.
inline unsigned stored_bit(const TensorCase& one, std::string_view name, unsigned line, unsigned k,
                           bool along) {
    unsigned bits = ElementType(name).bits;
    unsigned inner_bit = 0;
    const bool padded = !one.fours() && (name == "e2m3" || name == "e3m2" || name == "e2m1");
    if (padded) {
        bits = name == "e2m1" ? 4 : 6;
        inner_bit = k / 16 * 128 + k % 16 * bits;
    } else {
        if (one.fours()) bits = 4;
        inner_bit = (along ? k : line) * bits;
    }
    const unsigned inner = inner_bit / 8;
    const unsigned outer = along ? line : k;
    unsigned address = 0;
    if (one.swizzle == 16) {
        address = inner / 16 * (along ? 128 : 1024) + outer / 8 * (along ? 1024 : 128) +
                  outer % 8 * 16 + inner % 16;
    } else {
        address = inner / one.swizzle * 4096 + outer / 8 * 8 * one.swizzle +
                  outer % 8 * one.swizzle + inner % one.swizzle;
    }
    if (one.swizzle != 16) address ^= (address >> 7 & (one.swizzle / 16 - 1)) << 4;
    return address * 8 + inner_bit % 8;
}

inline std::uint64_t descriptor_of(const TensorCase& one, bool along) {
    const std::uint64_t leading = one.swizzle == 16 ? 128 : along ? 16 : 4096;
    const std::uint64_t stride = one.swizzle == 16 ? 1024 : 8 * one.swizzle;
    const std::uint64_t mode = one.swizzle == 16    ? 0
                               : one.swizzle == 128 ? 2
                               : one.swizzle == 64  ? 4
                                                    : 6;
    return leading >> 4 << 16 | stride >> 4 << 32 | std::uint64_t{1} << 46 | mode << 61;
}

inline unsigned format_of(const TensorCase& one, std::string_view name) {
    if (one.fours()) return 1;
    constexpr std::pair<std::string_view, unsigned> formats[] = {
        {"f16", 0},  {"bf16", 1}, {"tf32", 2}, {"u8", 0},   {"s8", 1},
        {"e4m3", 0}, {"e5m2", 1}, {"e2m3", 3}, {"e3m2", 4}, {"e2m1", 5}};
    for (const auto& [type, format] : formats)
        if (type == name) return format;
    return 7;
}

inline std::uint32_t instruction(const TensorCase& one) {
    std::uint32_t bits = format_of(one, one.a) << 7 | format_of(one, one.b) << 10 |
                         one.n / 8 << 17 | one.m / 16 << 24;
    bits |= one.sparse ? 4u : 0u;
    bits |= std::uint32_t{one.a_by_columns} << 15 | std::uint32_t{one.b_by_rows} << 16;
    if (one.negates) bits |= 1u << 14;
    if (one.scales != 0) {
        const bool whole = one.modifier.find("block16") == std::string_view::npos;
        return bits | one.scale_byte << 4 | one.scale_byte << 29 | std::uint32_t{whole} << 23;
    }
    return bits | one.selector | (one.d == "f16" ? 0u : one.d == "f32" ? 1u : 2u) << 4;
}

}  // namespace lode::emulator::exec::testing
