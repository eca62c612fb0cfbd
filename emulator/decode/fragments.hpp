// Fragments: which element of a matrix each part of each register of each lane holds. The layouts
// are those of PTX ISA 9.0, section 9.7.14, and for wmma, those of an H200.
#pragma once

#include "emulator/isa/tensor.hpp"

#include <optional>

namespace lode::emulator::decode {

/// The left matrix of mma: rows * depth elements, for 8 or 16 rows.
[[nodiscard]] exec::Fragment left_fragment(exec::Element element, u32 rows, u32 depth);
/// The right matrix of mma: depth * 8 elements.
[[nodiscard]] exec::Fragment right_fragment(exec::Element element, u32 depth);
/// The summand or the result of mma and wgmma.
[[nodiscard]] exec::Fragment sum_fragment(exec::Element element, u32 rows, u32 columns);

// Four products of 8 by 8 by 4 halves, each held by 8 lanes.
[[nodiscard]] exec::Fragment quad_left_fragment(bool by_columns);
[[nodiscard]] exec::Fragment quad_right_fragment(bool by_columns);
[[nodiscard]] exec::Fragment quad_sum_fragment(exec::Element element);

/// Puts the columns of a left matrix, or the rows of a right one, in the order in which the device
/// adds 8-bit elements as halves: all even runs of `run` elements, then the odd ones.
void order_as_halves(exec::Fragment& fragment, bool is_left, u32 run);

/// 32 * lane + bit of the metadata of each chunk of a sparse left matrix; `chunks` in a row.
[[nodiscard]] std::vector<u16> metadata_places(exec::Element element, u32 rows, u32 chunks,
                                               u32 selector);

enum class Side : u8 { left, right, sum };
/// A matrix of wmma: m * k, k * n or m * n elements.
[[nodiscard]] std::optional<exec::Fragment> wmma_fragment(exec::Element element, Side which, u32 m,
                                                          u32 n, u32 k);

}  // namespace lode::emulator::decode
