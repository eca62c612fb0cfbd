#include "emulator/decode/product_registers.hpp"

#include "emulator/decode/builder.hpp"
#include "emulator/decode/operand_registers.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;
using ptx::OperandKind;

bool is_matrix_product(const ptx::Instruction& instruction) {
    return instruction.opcode.starts_with("wgmma.mma_async");
}

bool is_move(const ptx::Instruction& instruction) {
    return instruction.traits.action == ptx::Action::move;
}

}  // namespace

std::vector<bool> product_registers(const ptx::Function& function) {
    const auto& all = function.instructions;
    if (std::ranges::none_of(all, is_matrix_product)) return {};
    std::vector<bool> found(function.registers.size());
    for (const ptx::Instruction& each : all) {
        if (!is_matrix_product(each)) continue;
        for (const Operand& operand : function.operands_of(each)) {
            if (operand.kind != OperandKind::list) continue;
            each_register_or_pair(function, operand, [&](u32 index) { found[index] = true; });
        }
    }
    for (bool changed = true; std::exchange(changed, false);) {
        for (const ptx::Instruction& each : all) {
            if (!is_move(each)) continue;
            const auto operands = function.operands_of(each);
            bool from = false;
            each_register_or_pair(function, operands[1], [&](u32 index) { from |= found[index]; });
            if (!from) continue;
            each_register_or_pair(function, operands[0], [&](u32 index) {
                changed |= !found[index];
                found[index] = true;
            });
        }
    }
    return found;
}

void note_product_registers(Builder& b, const std::vector<bool>& registers) {
    const ptx::Instruction& instruction = b.instruction();
    if (is_matrix_product(instruction)) return;
    exec::ProductRegisters made;
    const auto note = [&](std::span<const Operand> operands, auto& to) {
        for (const Operand& operand : operands) {
            each_register_or_pair(b.function(), operand, [&](u32 index) {
                if (registers[index]) to.push_back(b.frame().reg(index));
            });
        }
    };
    note(b.function().results_of(instruction), made.writes);
    note(b.function().sources_of(instruction), made.reads);
    if (made.reads.empty() && made.writes.empty()) return;
    made.copies = is_move(instruction);
    const exec::ProductRegisters& kept = b.kernel().product_registers.emplace_back(std::move(made));
    b.emit(Operation::note_product_registers, {}).table = &kept;
}

}  // namespace lode::emulator::decode
