// The registers that an operand names.
#pragma once

#include "emulator/decode/op.hpp"
#include "emulator/decode/ptx/ast.hpp"

#include <span>

namespace lode::emulator::decode {

/// Calls f with each register that the operand, or an element of it, names; not with the second of
/// a pair.
template <class F>
void each_register(const ptx::Function& function, const ptx::Operand& operand, F&& f) {
    using ptx::OperandKind;
    if (operand.kind == OperandKind::reg || operand.kind == OperandKind::sum) f(operand.index);
    if (operand.kind != OperandKind::list) return;
    for (const ptx::Operand& one :
         std::span(function.elements).subspan(operand.index, operand.count))
        if (one.kind == OperandKind::reg || one.kind == OperandKind::sum) f(one.index);
}

}  // namespace lode::emulator::decode
