// Operations on matrices that a warp holds together: ldmatrix, stmatrix, movmatrix, mma, wmma and
// wgmma.
//
// A matrix is spread over the registers of 32 lanes. Where its elements are is data: a Fragment
// lists, for each part of each register of each lane, the element of the dense matrix.
#pragma once

#include "emulator/isa/op.hpp"

#include <vector>

namespace lode::emulator::exec {

/// The type of a matrix's elements.
enum class Element : u8 {
    f16,
    bf16,
    tf32,
    f32,
    f64,
    e4m3,
    e5m2,
    e2m3,     ///< In the low 6 bits of a byte.
    e3m2,     ///< In the low 6 bits of a byte.
    e2m1,     ///< In bits 2 to 5 of a byte.
    e2m1_x2,  ///< Two to a byte.
    s8,
    u8,
    s4,
    u4,
    b1,  ///< 32 to an element: rows and columns count words.
    s32
};

[[nodiscard]] constexpr u32 bits_of(Element element) noexcept {
    switch (element) {
        case Element::f64:
            return 64;
        case Element::tf32:
        case Element::f32:
        case Element::b1:
        case Element::s32:
            return 32;
        case Element::f16:
        case Element::bf16:
            return 16;
        case Element::s4:
        case Element::u4:
        case Element::e2m1_x2:
            return 4;
        default:
            return 8;
    }
}
[[nodiscard]] constexpr bool is_integer(Element element) noexcept {
    return element == Element::s8 || element == Element::u8 || element == Element::s4 ||
           element == Element::u4 || element == Element::b1 || element == Element::s32;
}

/// The place of a matrix in a warp's registers.
struct Fragment {
    Element element = Element::f16;
    u32 rows = 0, columns = 0;
    u32 parts = 1;            ///< Elements in a register.
    std::vector<Slot> slots;  ///< By register.
    /// The element row * columns + column at [(register * parts + part) * 32 + lane].
    std::vector<u16> places;

    [[nodiscard]] u32 count() const noexcept { return rows * columns; }
};

/// How products of floating-point numbers are added.
enum class Adding : u8 {
    /// The elements of a row are taken in blocks. In a block, every product is exact; the products
    /// and the summand are cut off `fraction_bits` bits below the largest of their exponents, and
    /// added exactly. The sum is cut off to a float with `result_bits` bits of fraction, or rounded
    /// to the nearest half, and is the next block's summand.
    blocks,
    /// The same from zero; the summand is added to the result and the sum rounded to the nearest.
    blocks_then_summand,
    /// Fused multiply-adds of floats, one after the other; then the summand is added.
    in_order
};
struct Precision {
    Adding adding = Adding::blocks;
    u8 block = 16;
    u8 fraction_bits = 25;
    u8 result_bits = 23;
};

/// Which elements of the left matrix are there; the others count as zero.
enum class Sparsity : u8 { none, one_of_two, two_of_four, pairs_of_eight };

enum class BitProduct : u8 { none, exclusive_or, conjunction };

/// The scales of blocks of elements along k: a byte for each, in the registers of lanes.
struct BlockScales {
    u32 count = 0;              ///< Blocks of a row of a, or a column of b; 0 without scales.
    bool has_fraction = false;  ///< ue4m3, otherwise ue8m0.
    bool adds_groups = false;   ///< Adds groups of 16 products before they are scaled.
    Slot a = no_slot, b = no_slot;
    u8 a_byte = 0, a_lane = 0;  ///< The first byte, and the first lane of each four.
    u8 b_byte = 0, b_lane = 0;
};

/// d = a * b + c; a has rows * k elements, b has k * columns.
struct MatrixProduct {
    Fragment a, b, c, d;
    Precision precision;
    BitProduct bits = BitProduct::none;
    bool saturates = false;
    u8 rounding = 0;  ///< A Round, for doubles.
    u32 repeats = 1;  ///< Independent products in a row, each of these sizes.
    Sparsity sparsity = Sparsity::none;
    Slot metadata = no_slot;
    /// 32 * lane + bit of the metadata of each chunk, row by row.
    std::vector<u16> metadata_places;
    BlockScales scales;
};

/// Flags of ldmatrix and stmatrix.
struct MatrixFlags {
    u8 count = 0;
    bool transposed : 1 = false;
    bool of_6_bits : 1 = false;  ///< A row has 16 elements, which become bytes.
    bool of_4_bits : 1 = false;
    bool of_4_signed_bits : 1 = false;  ///< A row has 16 numbers in 8 bytes, which become bytes.
    u8 unused : 4 = 0;
};

/// wgmma.mma_async by one of four warps, which has 16 of the 64 rows. The copies and products of a
/// warp are complete when its op ends.
struct WarpgroupProduct {
    MatrixProduct product;  ///< Without a fragment b; a has no registers if it is in memory.
    u32 columns = 0, depth = 0;
    bool negates_a = false, negates_b = false;
    /// Whether the rows of the left matrix, or the columns of the right one, are consecutive.
    bool a_by_columns = false, b_by_rows = false;
};

/// The registers of warpgroups' products, or copies of them, that another instruction accesses.
struct ProductRegisters {
    std::vector<Slot> reads, writes;
    bool copies = false;  ///< mov: the results are what is read, under other names.
};

/// A matrix in memory and in a fragment, for wmma.load and wmma.store. `lines` lines of `length`
/// elements each; the elements of a line are consecutive in memory.
struct FragmentMove {
    Fragment fragment;
    u64 offset = 0;  ///< Added to the address.
    u32 lines = 0, length = 0;
    bool by_columns = false;  ///< A line is a column.
};

}  // namespace lode::emulator::exec
