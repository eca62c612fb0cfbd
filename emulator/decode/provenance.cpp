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
        for (const ptx::Operand& one : std::span(function.elements).subspan(to.index, to.count)) {
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

std::vector<bool> only_stored(const ptx::Function& function) {
    std::vector<bool> stored(function.registers.size());
    std::vector<bool> used(function.registers.size());
    const auto mark = [&](const ptx::Operand& operand, std::vector<bool>& marks) {
        const bool is_register =
            operand.kind == OperandKind::reg || operand.kind == OperandKind::sum;
        if (is_register) marks[operand.index] = true;
        if (operand.kind != OperandKind::list) return;
        for (const ptx::Operand& one :
             std::span(function.elements).subspan(operand.index, operand.count)) {
            if (one.kind == OperandKind::reg || one.kind == OperandKind::sum)
                marks[one.index] = true;
        }
    };
    for (const ptx::Instruction& instruction : function.instructions) {
        const auto operands =
            std::span(function.operands).subspan(instruction.first, instruction.count);
        const std::string_view opcode = instruction.opcode;
        const bool stores = opcode.starts_with("st.") && !opcode.starts_with("st.param") &&
                            !opcode.starts_with("st.bulk") && !opcode.starts_with("st.async");
        const bool has_result = !stores && opcode.find('.') != opcode.npos &&
                                !opcode.starts_with("st.") && !opcode.starts_with("red.");
        for (std::size_t k = 0; k < operands.size(); ++k) {
            if (stores && k == 1) {
                mark(operands[k], stored);
            } else if (k > 0 || !has_result || operands[k].address) {
                mark(operands[k], used);
            }
        }
    }
    for (const ptx::RegisterParameter& one : function.register_parameters)
        used[one.first] = true;
    for (std::size_t k = 0; k < stored.size(); ++k)
        stored[k] = stored[k] && !used[k];
    return stored;
}

}  // namespace lode::emulator::decode
