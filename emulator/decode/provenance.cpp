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
    const auto operands_of = [&](u32 at) {
        const ptx::Instruction& one = function.instructions[at];
        return std::span(function.operands).subspan(one.first, one.count);
    };
    const auto each_register = [&](const ptx::Operand& operand, auto&& f) {
        if (operand.kind == OperandKind::reg || operand.kind == OperandKind::sum) f(operand.index);
        if (operand.kind != OperandKind::list) return;
        for (const ptx::Operand& one :
             std::span(function.elements).subspan(operand.index, operand.count))
            if (one.kind == OperandKind::reg || one.kind == OperandKind::sum) f(one.index);
    };
    // An instruction is looked at again when the origin of one of its sources has changed, which
    // happens at most twice to a register: the time is linear in the function's length.
    std::vector<std::vector<u32>> readers(function.registers.size());
    std::vector<u32> waiting;
    std::vector<bool> waits(function.instructions.size());
    for (auto at = static_cast<u32>(function.instructions.size()); at-- > 0;) {
        const ptx::Instruction& one = function.instructions[at];
        if (one.count < 2 || makes_new_values(one.opcode)) continue;
        for (const ptx::Operand& operand : operands_of(at).subspan(1))
            each_register(operand, [&](u32 reg) { readers[reg].push_back(at); });
        waiting.push_back(at);
        waits[at] = true;
    }
    std::vector<u32> origins(function.registers.size(), no_variable);
    while (!waiting.empty()) {
        const u32 at = waiting.back();
        waiting.pop_back();
        waits[at] = false;
        const auto operands = operands_of(at);
        u32 from = no_variable;
        for (const ptx::Operand& operand : operands.subspan(1))
            from = both(from, origin_of(build, function, operand, origins));
        const ptx::Operand& to = operands.front();
        if (from == no_variable || to.kind == OperandKind::sum) continue;
        each_register(to, [&](u32 reg) {
            const u32 now = both(origins[reg], from);
            if (now == origins[reg]) return;
            origins[reg] = now;
            for (const u32 reader : readers[reg]) {
                if (waits[reader]) continue;
                waits[reader] = true;
                waiting.push_back(reader);
            }
        });
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
