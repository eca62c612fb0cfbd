// Operation: what an op does, as a number. Decode chooses it, and exec has a handler for each.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator {

/// How the compiled tier does an operation.
enum class Action : u8 {
    stop,  ///< Nothing is known: a region ends before it.
    call,  ///< Its handler is called; it writes only the first operands.
    add,
    subtract,
    multiply,
    multiply_add,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right_unsigned,
    shift_right_signed,
    min_signed,
    max_signed,
    min_unsigned,
    max_unsigned,
    move,
    select,
    shuffle,
    shuffle_fixed,  ///< With constant source lanes.
    predicate_and,
    predicate_or,
    predicate_xor,
    predicate_not,
    predicate_move,
    convert,      ///< Between integers of two sizes.
    product,      ///< mul.wide
    product_sum,  ///< mad.wide of 32-bit values.
    wide_add,     ///< Values of 64 bits.
    wide_subtract,
    wide_move,
    real_add,
    real_subtract,
    real_multiply,
    real_divide,
    real_round,  ///< To a whole number.
    real_fma,
    compare,
    compare_and_branch,
    branch,
    branch_if,
    branch_unless,
    other_branch,  ///< A comparison and its branch that aren't compiled.
    load,
    store,
    atomic,  ///< On values of 32 bits.
    leave,   ///< Ends threads, or returns from a function.
    wait,    ///< A barrier: reads only its operands.
};

enum class Operation : u32 {
#define LODE_OPERATION(name, action) name,
#include "emulator/isa/operations.def"
#undef LODE_OPERATION
    first_row,                ///< The rows of the operation table; see table.hpp.
    first_access = 1u << 16,  ///< Loads and stores; see load_store.hpp.
    first_atomic = 1u << 17,  ///< See atomic.hpp.
};

}  // namespace lode::emulator
