#include "emulator/decode/product_registers.hpp"

#include "emulator/decode/builder.hpp"

#include <algorithm>
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
    if (std::ranges::none_of(function.instructions, is_matrix_product)) return {};
    std::vector<bool> found(function.registers.size());
    Worklist worklist(graph, Worklist::Direction::forward);
    const auto add = [&](u32 index) {
        if (!found[index]) worklist.changed(index);
        found[index] = true;
    };
    while (const auto at = worklist.next()) {
        const ptx::Instruction& each = function.instructions[*at];
        if (is_matrix_product(each)) {
            for (const Operand& operand : function.operands_of(each))
                if (operand.kind == OperandKind::list) each_register(function, operand, add);
        } else if (is_move(each)) {
            bool from = false;
            graph.each_source(*at, [&](u32 index) { from |= found[index]; });
            if (from) graph.each_result(*at, add);
        }
    }
    return found;
}

void note_product_registers(Builder& b, const std::vector<bool>& registers) {
    const ptx::Instruction& instruction = b.instruction();
    if (is_matrix_product(instruction)) return;
    exec::ProductRegisters made;
    const auto note_in = [&](auto& slots) {
        return [&](u32 index) {
            if (registers[index]) slots.push_back(b.frame().reg(index));
        };
    };
    b.graph().each_result(b.position(), note_in(made.writes));
    b.graph().each_source(b.position(), note_in(made.reads));
    if (made.reads.empty() && made.writes.empty()) return;
    made.copies = is_move(instruction);
    const exec::ProductRegisters& kept = b.kernel().product_registers.emplace_back(std::move(made));
    b.emit(Operation::note_product_registers, {}).table = &kept;
}

}  // namespace lode::emulator::decode
