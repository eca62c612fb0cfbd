// The product of a matrix and a panel of eight columns.
#pragma once

#include "emulator/isa/tensor.hpp"

#include <array>

namespace lode::emulator::exec {

inline constexpr std::size_t panel_columns = 8;
inline constexpr std::size_t max_matrix_rows = 32;
inline constexpr std::size_t max_matrix_depth = 128;

/// The left matrix, rows * depth.
struct LeftMatrix {
    std::size_t rows = 0, depth = 0;
    bool has_special = false;
    alignas(32) std::array<f32, max_matrix_rows * max_matrix_depth> significands;
    alignas(32) std::array<i32, max_matrix_rows * max_matrix_depth> exponents;  ///< Or integers.
    std::array<f64, max_matrix_rows * 16> reals;
};
/// depth * 8 elements of the right matrix.
struct RightPanel {
    bool has_special = false;
    alignas(32) std::array<f32, panel_columns * max_matrix_depth> significands;
    alignas(32) std::array<i32, panel_columns * max_matrix_depth> exponents;  ///< Or integers.
    std::array<f64, panel_columns * 16> reals;
};
/// rows * 8 elements of the summand, which become those of the result.
struct SumPanel {
    alignas(32) std::array<u32, max_matrix_rows * panel_columns> bits;  ///< Bits of c, then of d.
    std::array<f64, max_matrix_rows * panel_columns> reals;
};

/// sum += a * b for floating-point numbers with at most 11 bits of significand. The elements of the
/// sum are halves if `halves`, otherwise floats.
void add_real_product(const LeftMatrix& a, const RightPanel& b, const Precision& precision,
                      bool c_halves, bool d_halves, SumPanel& sum) noexcept;
/// The scales of one product: of the rows of a and of the columns of b.
struct ScaleTable {
    std::size_t count = 0;  ///< Scales of a row.
    bool has_nan = false;
    std::array<f32, std::size_t{16} * 4> a_significands;
    std::array<i32, std::size_t{16} * 4> a_exponents;
    std::array<f32, panel_columns * 4> b_significands;
    std::array<i32, panel_columns * 4> b_exponents;
};
/// Scales the elements by powers of two.
void scale_elements(const ScaleTable& scales, LeftMatrix& a, RightPanel& b) noexcept;
/// sum += a * b for floats: groups of products are added exactly and scaled; their sums and the
/// summand are cut off 35 bits below the largest exponent.
void add_scaled_groups(const ScaleTable& scales, const LeftMatrix& a, const RightPanel& b,
                       std::size_t group, SumPanel& sum) noexcept;
/// The number of elements whose products make a group; of a sparse row, half are there.
constexpr std::size_t group_of_products(bool sparse) noexcept {
    return sparse ? 32 : 16;
}

/// sum += a * b for doubles: one fused multiply-add after the other, in the order of k. `rounding`
/// is a Round. In rounding.cpp, since it changes the rounding mode.
void add_double_product(const LeftMatrix& a, const RightPanel& b, u32 rounding,
                        SumPanel& sum) noexcept;
void add_integer_product(const LeftMatrix& a, const RightPanel& b, bool saturates,
                         SumPanel& sum) noexcept;
/// Counts common or different bits of words.
void add_bit_product(const LeftMatrix& a, const RightPanel& b, BitProduct kind,
                     SumPanel& sum) noexcept;

}  // namespace lode::emulator::exec
