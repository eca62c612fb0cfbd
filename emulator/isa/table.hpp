// The operation table: each row has keys and the sizes of its operands. exec has a handler for each
// row, from the same files: rows/*.def.
#pragma once

#include "emulator/isa/operation.hpp"
#include "emulator/isa/set.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

namespace lode::emulator {

/// One opcode form. `keys`: one or more canonical opcodes, separated by spaces. `operands`: one
/// letter per operand, destination first: b h w d q are 1, 2, 4, 8 and 16 bytes per lane, p is a
/// predicate.
struct OpRow {
    std::string_view keys;
    char operands[8];
    u8 results = 1;  ///< How many of the first operands are results.
    Action action = Action::call;
    char type = 0;  ///< The first source's: u, s or f; 0 if the row doesn't say.
    exec::Comparison comparison = exec::Comparison::eq;  ///< For setp.

    [[nodiscard]] Operation operation() const noexcept;
};

/// The letters of 1, 2, 4, 8 and 16 bytes per lane.
inline constexpr std::string_view size_letters = "bhwdq";
/// The bytes per lane for a letter of OpRow::operands; 0 for a predicate.
constexpr u32 bytes_of_letter(char letter) noexcept {
    const std::size_t at = size_letters.find(letter);
    return at == size_letters.npos ? 0 : 1u << at;
}
constexpr char letter_of_bytes(u32 bytes) noexcept {
    return size_letters[std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(bytes)),
                                              4)];
}

/// All rows, and the index of an operation's row.
std::span<const OpRow> op_rows() noexcept;
constexpr u32 row_index(Operation operation) noexcept {
    return static_cast<u32>(operation) - static_cast<u32>(Operation::first_row);
}
/// The row of a canonical opcode, or nullptr. Thread-safe.
const OpRow* find_op(std::string_view key);

}  // namespace lode::emulator
