#include "emulator/decode/shuffled.hpp"

#include "emulator/decode/builder.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::decode {

namespace {

bool is_shuffle(const ptx::Instruction& instruction) {
    return instruction.reading->name() == "shfl";
}

bool is_select(const ptx::Instruction& instruction) {
    return instruction.reading->name() == "selp";
}

/// Whether an instruction only computes numbers from what it reads.
bool computes(const FlowGraph& graph, u32 at) {
    if (!graph.function().instructions[at].traits.is_pure) return false;
    bool numbers = true;
    graph.each_result(at,
                      [&](u32 index) { numbers &= graph.function().registers[index].bytes != 0; });
    return numbers;
}

/// The registers that shuffles set whose values may stay unused: no instruction in the rest of the
/// block uses them, whatever the guards are.
std::vector<u32> unsure_results(const FlowGraph& graph) {
    const ptx::Function& function = graph.function();
    std::vector<u32> found;
    for (u32 block = 0; block < graph.blocks(); ++block) {
        std::vector<bool> used(function.registers.size());
        for (u32 at = graph.start(block + 1); at-- > graph.start(block);) {
            const ptx::Instruction& each = function.instructions[at];
            const ptx::Operand& to = function.operands_of(each).front();
            if (is_shuffle(each) && to.kind == ptx::OperandKind::reg && !used[to.index])
                found.push_back(to.index);
            bool uses = !computes(graph, at);
            graph.each_result(at, [&](u32 index) {
                uses |= used[index];
                used[index] = false;
            });
            if (uses && each.guard < 0 && !is_select(each))
                graph.each_source(at, [&](u32 index) { used[index] = true; });
        }
    }
    return found;
}

}  // namespace

std::vector<bool> shuffled_registers(const FlowGraph& graph) {
    if (std::ranges::none_of(graph.function().instructions, is_shuffle)) return {};
    return registers_from(graph, unsure_results(graph),
                          [&](u32 at) { return computes(graph, at); });
}

void note_shuffled_registers(Builder& b, const std::vector<bool>& registers) {
    const ptx::Instruction& instruction = b.instruction();
    exec::ShuffledRegisters made;
    if (!b.note_accesses(registers, made)) return;
    if (is_select(instruction)) {
        made.reads.clear();
        for (const u32 k : {1, 2}) {
            const std::size_t before = made.reads.size();
            each_register(b.function(), b.operand(k), [&](u32 index) {
                if (registers[index]) made.reads.push_back(b.frame().reg(index));
            });
            if (made.reads.size() == before) made.reads.push_back(no_slot);
        }
        made.condition = b.predicate(b.operand(3));
    }
    made.computes = computes(b.graph(), b.position());
    const auto& kept = b.kernel().shuffled_registers.emplace_back(std::move(made));
    b.emit(Operation::note_shuffled_registers, {}).table = &kept;
}

}  // namespace lode::emulator::decode
