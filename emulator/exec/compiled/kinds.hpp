// What the compiler knows of an op, from its handler.
#pragma once

#include "emulator/isa/op.hpp"

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
    predicate_and,
    predicate_or,
    predicate_xor,
    predicate_not,
    predicate_move,
    convert,      ///< Between integers of `from` and `to` bytes; `sign` extends.
    product,      ///< mul.wide: of values of `from` bytes.
    product_sum,  ///< mad.wide of 32-bit values.
    wide_add,     ///< Values of 64 bits.
    wide_subtract,
    wide_move,
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
    atomic,  ///< On values of 32 bits.
    leave,   ///< Ends threads, or returns from a function.
    wait,    ///< A barrier: reads only its operands.
};

/// What a load or store makes its addresses of.
enum class Form : u8 {
    index,   ///< A row of 32-bit indices, a base and a scale.
    narrow,  ///< A row of 32-bit addresses, of shared memory.
    wide,    ///< A row of 64-bit addresses.
};

/// Comparisons of 32-bit values; the reals are in the order of the table in kinds.cpp.
enum class Compare : u8 { eq, ne, lt_u, le_u, gt_u, ge_u, lt_s, le_s, gt_s, ge_s, real };

struct Kind {
    Action action = Action::stop;
    Compare compare = Compare::eq;
    u8 predicate = 0;  ///< The predicate of vcmpps, for Compare::real.
    u8 writes = 0;     ///< Action::call: how many of the operands, from the first, it may write.
    u8 bytes = 0;      ///< The most bytes a lane of an operand that a handler writes.
    u8 from = 0;       ///< Bytes of the integers that are converted or multiplied; `to` too.
    u8 to = 0;
    bool sign = false;
    bool shared = false;
    Form form = Form::index;
};

/// The kind of an op; Action::stop for unknown handlers. Thread-safe.
Kind kind_of(Handler handler);

}  // namespace lode::emulator::exec
