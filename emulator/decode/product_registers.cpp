#include "emulator/decode/product_registers.hpp"

#include "emulator/decode/builder.hpp"

#include <utility>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;
using ptx::OperandKind;

bool is_matrix_product(const ptx::Instruction& instruction) {
    return instruction.reading->name() == "wgmma" && instruction.reading->has("mma_async");
}

bool is_move(const ptx::Instruction& instruction) {
    return instruction.traits.effect == ptx::Effect::move;
}

}  // namespace

std::vector<bool> product_registers(const FlowGraph& graph) {
    const ptx::Function& function = graph.function();
    std::vector<u32> first;
    for (const ptx::Instruction& each : function.instructions) {
        if (!is_matrix_product(each)) continue;
        for (const Operand& operand : function.operands_of(each))
            if (operand.kind == OperandKind::list)
                each_register(function, operand, [&](u32 index) { first.push_back(index); });
    }
    return registers_from(graph, first, [&](u32 at) { return is_move(function.instructions[at]); });
}

void note_product_registers(Builder& b, const std::vector<bool>& registers) {
    const ptx::Instruction& instruction = b.instruction();
    if (is_matrix_product(instruction)) return;
    exec::ProductRegisters made;
    if (!b.note_accesses(registers, made)) return;
    made.copies = is_move(instruction);
    const exec::ProductRegisters& kept = b.kernel().product_registers.emplace_back(std::move(made));
    b.emit(Operation::note_product_registers, {}).table = &kept;
}

}  // namespace lode::emulator::decode
