// Address operands of memory instructions.
#include "emulator/decode/instructions/instructions.hpp"

namespace lode::emulator::decode {

using ptx::OperandKind;

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
