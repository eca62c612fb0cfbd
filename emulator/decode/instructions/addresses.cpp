// Address operands of memory instructions.
#include "emulator/decode/instructions/instructions.hpp"

namespace lode::emulator::decode {

using ptx::OperandKind;

exec::MemorySpace space_named(Builder& b, const ptx::Operand& address) {
    using exec::MemorySpace;
    ptx::Space space = ptx::Space::none;
    if (address.kind == OperandKind::variable) {
        space = b.function().variables[address.index].space;
    } else if (address.kind == OperandKind::symbol) {
        const ModuleParts& module = *b.build().module;
        const auto found = module.variables.find(address.name);
        if (found != module.variables.end()) space = module.ast.variables[found->second].space;
    }
    if (space == ptx::Space::global) return MemorySpace::global;
    if (space == ptx::Space::shared) return MemorySpace::shared;
    return space == ptx::Space::local ? MemorySpace::local : MemorySpace::generic;
}

exec::MemorySpace take_space(Builder& b, const ptx::Operand& address) {
    using exec::MemorySpace;
    Opcode& opcode = b.opcode();
    if (opcode.take("global") || opcode.take("const")) return MemorySpace::global;
    if (opcode.take_prefix("shared")) return MemorySpace::shared;
    if (opcode.take("local")) return MemorySpace::local;
    return opcode.take_prefix("param") ? MemorySpace::parameter : space_named(b, address);
}

LaneAddresses lane_addresses(Builder& b, const ptx::Operand& operand, bool shared) {
    LaneAddresses made;
    made.addressing.window = shared ? Window::shared : Window::code;
    if (operand.kind != OperandKind::reg) {
        made.slot = b.source(operand, 'd');
        return made;
    }
    made.offset = operand.bits;
    if (shared && b.frame().letter_of(operand.index) == 'w') {
        made.addressing.narrow = true;
        made.slot = b.frame().reg(operand.index);
        return made;
    }
    made.slot = b.register_source(operand.index, 'd');
    return made;
}

Slot whole_addresses(Builder& b, const ptx::Operand& operand) {
    if (operand.kind != OperandKind::reg) return b.source(operand, 'd');
    const Slot base = b.register_source(operand.index, 'd');
    if (operand.bits == 0) return base;
    const Slot sum = b.temporary('d');
    b.emit_row("add.u64", {sum, base, b.constant(operand.bits, 8)});
    return sum;
}

}  // namespace lode::emulator::decode
