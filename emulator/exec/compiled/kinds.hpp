// What the compiler knows of an op, from its handler.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

enum class Action : u8 {
    stop,  ///< Nothing is known: a region ends before it.
    call,  ///< Its handler is called; it writes only the first `writes` operands.
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
    shuffle,  ///< With constant source lanes.
    real_add,
    real_subtract,
    real_multiply,
    real_divide,
    real_fma,
    compare,
    compare_and_branch,
    branch,
    branch_if,
    branch_unless,
    other_branch,  ///< A comparison and its branch that aren't compiled.
    load,
    store,
    leave,  ///< Ends threads, or returns from a function.
    wait,   ///< A barrier: reads only its operands.
};

/// Comparisons of 32-bit values; the reals are in the order of the table in kinds.cpp.
enum class Compare : u8 { eq, ne, lt_u, le_u, gt_u, ge_u, lt_s, le_s, gt_s, ge_s, real };

struct Kind {
    Action action = Action::stop;
    Compare compare = Compare::eq;
    u8 predicate = 0;  ///< Of vcmpps, for Compare::real.
    u8 writes = 0;     ///< Action::call: how many of the operands, from the first, it may write.
    u8 bytes = 0;      ///< Action::call: the most bytes a lane of an operand that it writes.
    bool shared = false;
};

/// The kind of an op; Action::stop for unknown handlers. Thread-safe.
Kind kind_of(Handler handler);

}  // namespace lode::emulator::exec
