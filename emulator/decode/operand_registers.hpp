// The registers that an operand names.
#pragma once

#include "emulator/decode/ptx/ast.hpp"
#include "emulator/isa/op.hpp"

namespace lode::emulator::decode {

/// Calls f with each register that the operand names, itself or in its list; lists may be nested,
/// as the coordinates of an image are. Not with the second of a pair.
template <class F>
void each_register(const ptx::Function& function, const ptx::Operand& operand, F&& f) {
    using ptx::OperandKind;
    if (operand.kind == OperandKind::reg || operand.kind == OperandKind::sum) f(operand.index);
    if (operand.kind != OperandKind::list) return;
    for (const ptx::Operand& one : function.elements_of(operand))
        each_register(function, one, f);
}

/// The same, and with the second of a pair.
template <class F>
void each_register_or_pair(const ptx::Function& function, const ptx::Operand& operand, F&& f) {
    using ptx::OperandKind;
    if (operand.pair >= 0) f(static_cast<u32>(operand.pair));
    if (operand.kind == OperandKind::reg || operand.kind == OperandKind::sum) f(operand.index);
    if (operand.kind != OperandKind::list) return;
    for (const ptx::Operand& one : function.elements_of(operand))
        each_register_or_pair(function, one, f);
}

}  // namespace lode::emulator::decode
