#include "emulator/decode/provenance.hpp"

#include <algorithm>
#include <span>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

u32 both(u32 a, u32 b) {
    if (a == no_variable || a == b) return b;
    return b == no_variable ? a : several_variables;
}

u32 variable_of(const KernelBuild& build, const ptx::Variable* variable) {
    const auto found = build.shared_index.find(variable);
    return found != build.shared_index.end() ? found->second : no_variable;
}

/// Whether the results of an instruction don't depend on its operands' addresses.
bool makes_new_values(std::string_view opcode) {
    const std::string_view name = opcode.substr(0, opcode.find('.'));
    return name == "ld" || name == "ldu" || name == "call" || name == "atom" || name == "setp" ||
           name == "st" || name == "red" || name == "bra" || name == "mbarrier";
}

}  // namespace

u32 origin_of(const KernelBuild& build, const ptx::Function& function, const ptx::Operand& operand,
              const std::vector<u32>& origins) {
    switch (operand.kind) {
        case OperandKind::reg:
        case OperandKind::sum:
            return origins.empty() ? no_variable : origins[operand.index];
        case OperandKind::variable:
            return variable_of(build, &function.variables[operand.index]);
        case OperandKind::symbol: {
            const ModuleParts& module = *build.module;
            const auto found = module.variables.find(operand.name);
            if (found == module.variables.end()) return no_variable;
            return variable_of(build, &module.ast.variables[found->second]);
        }
        case OperandKind::list: {
            u32 all = no_variable;
            for (const ptx::Operand& one :
                 std::span(function.elements).subspan(operand.index, operand.count))
                all = both(all, origin_of(build, function, one, origins));
            return all;
        }
        default:
            return no_variable;
    }
}

std::vector<u32> shared_origins(const KernelBuild& build, const ptx::Function& function) {
    if (build.shared_index.empty()) return {};
    std::vector<u32> origins(function.registers.size(), no_variable);
    bool changed = true;
    const auto flow = [&](const ptx::Operand& to, u32 from) {
        const auto put = [&](u32 index) {
            const u32 now = both(origins[index], from);
            changed |= now != origins[index];
            origins[index] = now;
        };
        if (to.kind == OperandKind::reg) put(to.index);
        if (to.kind != OperandKind::list) return;
        for (const ptx::Operand& one :
             std::span(function.elements).subspan(to.index, to.count)) {
            if (one.kind == OperandKind::reg) put(one.index);
        }
    };
    while (changed) {
        changed = false;
        for (const ptx::Instruction& instruction : function.instructions) {
            if (instruction.count < 2 || makes_new_values(instruction.opcode)) continue;
            const auto operands =
                std::span(function.operands).subspan(instruction.first, instruction.count);
            u32 from = no_variable;
            for (const ptx::Operand& operand : operands.subspan(1))
                from = both(from, origin_of(build, function, operand, origins));
            if (from != no_variable) flow(operands.front(), from);
        }
    }
    return origins;
}

}  // namespace lode::emulator::decode
