// Instructions that are a single op of the operation table.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"

namespace lode::emulator::decode {

void decode_by_table(Builder& b, std::string_view key, Flags flags) {
    const OpRow* const row = find_op(key);
    if (row == nullptr) return b.refuse();
    const std::string_view letters(row->operands);
    const bool sign = is_signed(b.opcode().take_last());
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    const Destination to = b.destination(b.operand(0), letters[0], sign);
    slots[0] = to.slot;
    for (u32 k = 1; k < letters.size(); ++k) {
        if (k >= b.operand_count()) return b.refuse("with too few operands");
        slots[k] = b.source(b.operand(k), letters[k], sign);
    }
    if (b.refused()) return;
    if (b.operand_count() != letters.size())
        return b.refuse("with " + std::to_string(b.operand_count()) + " operands");
    b.emit(row->operation(), {slots[0], slots[1], slots[2], slots[3], slots[4]}).flags = flags;
    b.write_back(to);
}

void decode_by_table(Builder& b) {
    b.opcode().take_all();
    decode_by_table(b, b.instruction().opcode);
}

}  // namespace lode::emulator::decode
