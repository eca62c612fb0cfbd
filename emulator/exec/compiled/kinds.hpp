// What the compiler knows of an op, from its operation.
#pragma once

#include "emulator/isa/load_store.hpp"

namespace lode::emulator::exec {

/// Comparisons of 32-bit values.
enum class Compare : u8 { eq, ne, lt_u, le_u, gt_u, ge_u, lt_s, le_s, gt_s, ge_s, real };

struct Kind {
    Action action = Action::stop;
    Compare compare = Compare::eq;
    u8 predicate = 0;  ///< The predicate of vcmpps, for Compare::real.
    u8 writes = 0;     ///< If its handler is called: how many of the first operands it may write.
    u8 bytes = 0;      ///< The most bytes a lane of an operand that a handler writes.
    u8 from = 0;       ///< Bytes of the integers that are converted or multiplied; `to` too.
    u8 to = 0;
    bool sign = false;
    bool shared = false;
    u8 rounding = 0;       ///< For Action::real_round: the mode of vroundps.
    bool flushes = false;  ///< .ftz: denormal sources and results are zeros.
    AddressForm form = AddressForm::index;
};

[[nodiscard]] Kind kind_of(Operation operation);
/// What is known of an op with its flags.
[[nodiscard]] Kind kind_of(const Op& op);

/// Whether an op is a branch with one target.
[[nodiscard]] bool is_branch(Action action);
/// The bytes for each lane of a result, the first operand, that an op always writes as a whole, 4
/// for a predicate; 0 if there is none.
[[nodiscard]] u32 whole_result(const Kind& kind);

}  // namespace lode::emulator::exec
