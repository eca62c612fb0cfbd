#include "emulator/decode/provenance.hpp"

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/opcode.hpp"

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

/// Whether the results of an instruction may be pointers that were kept in memory.
bool gives_pointers(const ptx::Instruction& one) {
    using enum ptx::Action;
    const ptx::Action action = one.traits.action;
    return action == load || action == call || action == atomic;
}

/// Whether an instruction has results that may depend on its operands' addresses.
bool passes_addresses(const ptx::Instruction& one) {
    const std::string_view name = name_of(one.opcode);
    return one.traits.results > 0 && !gives_pointers(one) && name != "setp" && name != "mbarrier";
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
            for (const ptx::Operand& one : function.elements_of(operand))
                all = both(all, origin_of(build, function, one, origins));
            return all;
        }
        default:
            return no_variable;
    }
}

namespace {

/// Follows values from register to register.
class SharedOrigins {
public:
    SharedOrigins(const KernelBuild& build, const ptx::Function& function)
        : build_(build),
          function_(function),
          readers_(function.registers.size()),
          waits_(function.instructions.size()),
          of_(function.registers.size(), no_variable) {
        for (auto at = static_cast<u32>(function.instructions.size()); at-- > 0;) {
            const ptx::Instruction& one = function.instructions[at];
            if (!passes_addresses(one)) continue;
            for (const ptx::Operand& operand : function.sources_of(one))
                each_register(function, operand, [&](u32 reg) { readers_[reg].push_back(at); });
        }
    }

    std::vector<u32> take() {
        for (auto at = static_cast<u32>(function_.instructions.size()); at-- > 0;)
            wait(at);
        follow_variables();
        // A register that may hold a variable's address or a pointer from elsewhere has no bounds.
        const auto other = pointers_from_elsewhere();
        for (u32 reg = 0; reg < of_.size(); ++reg) {
            if (other[reg] && of_[reg] != no_variable) set(reg, several_variables);
        }
        follow_variables();
        return std::move(of_);
    }

private:
    [[nodiscard]] std::span<const ptx::Operand> sources_of(u32 at) const {
        return function_.sources_of(function_.instructions[at]);
    }
    template <class F>
    void each_result(u32 at, F&& f) const {
        for (const ptx::Operand& to : function_.results_of(function_.instructions[at]))
            each_register(function_, to, f);
    }
    void wait(u32 at) {
        const ptx::Instruction& one = function_.instructions[at];
        if (waits_[at] || !passes_addresses(one)) return;
        waits_[at] = true;
        waiting_.push_back(at);
    }
    void set(u32 reg, u32 origin) {
        if (origin == of_[reg]) return;
        of_[reg] = origin;
        for (const u32 reader : readers_[reg])
            wait(reader);
    }

    /// An instruction is looked at again when the origin of one of its sources has changed, which
    /// happens at most twice to a register: the time is linear in the function's length.
    void follow_variables() {
        while (!waiting_.empty()) {
            const u32 at = waiting_.back();
            waiting_.pop_back();
            waits_[at] = false;
            u32 from = no_variable;
            for (const ptx::Operand& operand : sources_of(at))
                from = both(from, origin_of(build_, function_, operand, of_));
            each_result(at, [&](u32 reg) { set(reg, both(of_[reg], from)); });
        }
    }

    /// By register: whether some instruction that sets it may give it a pointer that was loaded or
    /// returned. What is added to a variable's address is an index, wherever it comes from.
    [[nodiscard]] std::vector<bool> pointers_from_elsewhere() const {
        std::vector<bool> found(function_.registers.size());
        std::vector<u32> next;
        const auto mark = [&](u32 reg) {
            if (found[reg] || function_.registers[reg].bytes < 4) return;
            found[reg] = true;
            next.push_back(reg);
        };
        for (u32 at = 0; at < function_.instructions.size(); ++at) {
            const ptx::Instruction& one = function_.instructions[at];
            if (gives_pointers(one)) each_result(at, mark);
        }
        while (!next.empty()) {
            const u32 reg = next.back();
            next.pop_back();
            for (const u32 reader : readers_[reg]) {
                const bool chooses = function_.instructions[reader].opcode.starts_with("selp");
                // The register's value was added to an address, or is one of a variable already.
                const bool is_index =
                    std::ranges::any_of(sources_of(reader), [&](const ptx::Operand& operand) {
                        return origin_of(build_, function_, operand, of_) != no_variable;
                    });
                if (chooses || !is_index) each_result(reader, mark);
            }
        }
        return found;
    }

    const KernelBuild& build_;
    const ptx::Function& function_;
    std::vector<std::vector<u32>> readers_;
    std::vector<u32> waiting_;
    std::vector<bool> waits_;
    std::vector<u32> of_;
};

}  // namespace

std::vector<u32> shared_origins(const KernelBuild& build, const ptx::Function& function) {
    if (build.shared_index.empty()) return {};
    return SharedOrigins(build, function).take();
}

}  // namespace lode::emulator::decode
