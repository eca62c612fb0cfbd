// The operation table: each row has keys, a handler and the sizes of its operands.
#pragma once

#include "emulator/decode/op.hpp"

#include <span>
#include <string_view>

namespace lode::emulator {

/// One opcode form. `keys`: one or more canonical opcodes, separated by spaces. `operands`: one
/// letter per operand, destination first: b h w d q are 1, 2, 4, 8 and 16 bytes per lane, p is a
/// predicate.
struct OpRow {
    std::string_view keys;
    Handler run;
    char operands[8];
};

/// The row of a canonical opcode, or nullptr. Thread-safe.
const OpRow* find_op(std::string_view key);

}  // namespace lode::emulator
