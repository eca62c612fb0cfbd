// What the decoders of matrix operations share.
#pragma once

#include "emulator/decode/builder.hpp"
#include "emulator/isa/tensor.hpp"

#include <optional>
#include <vector>

namespace lode::emulator::decode {

struct MatrixSizes {
    u32 m = 0, n = 0, k = 0;
};
/// Takes a shape such as .m16n8k16; nothing if there is none.
[[nodiscard]] std::optional<MatrixSizes> take_sizes(Opcode& opcode);
/// The element type of "f16".
[[nodiscard]] std::optional<exec::Element> element_named(Word word);
/// Takes all types of elements.
[[nodiscard]] std::vector<exec::Element> take_elements(Opcode& opcode);

/// Takes .row and .col; true for each .col.
std::vector<bool> take_layouts(Opcode& opcode);

/// A mask of all lanes, the last operand of every op of a whole warp.
Slot all_lanes_slot(Builder& b);
/// Fills a fragment's slots from a list of registers; false after a refusal.
bool fill_fragment(Builder& b, const ptx::Operand& operand, exec::Fragment& fragment, bool writes);

/// How the device adds products of elements of a type.
[[nodiscard]] exec::Precision precision_of(Builder& b, exec::Element element, bool is_wgmma);

// mma.cpp
void multiply_matrices(Builder& b);
/// Fills a product's fragments from operands d, a, b and c, and emits it.
void emit_product(Builder& b, exec::MatrixProduct& plan);

/// A sparse product's metadata and selector.
void fill_metadata(Builder& b, exec::MatrixProduct& plan, u32 rows, u32 depth,
                   const ptx::Operand& metadata, const ptx::Operand& selector);

// tensor_memory.cpp
void tensor_memory(Builder& b);

// wgmma.cpp
void warpgroup_matrices(Builder& b);

// wmma.cpp
void warp_matrices(Builder& b);

}  // namespace lode::emulator::decode
