#include "emulator/decode/provenance.hpp"

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
    using enum ptx::Effect;
    const ptx::Effect effect = one.traits.effect;
    return effect == load || effect == call || effect == atomic;
}

/// Whether an instruction has results that may depend on its operands' addresses.
bool passes_addresses(const ptx::Instruction& one) {
    return one.traits.results > 0 && !gives_pointers(one) && one.reading->name() != "mbarrier";
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
    SharedOrigins(const KernelBuild& build, const FlowGraph& graph)
        : build_(build),
          graph_(graph),
          function_(graph.function()),
          of_(function_.registers.size(), no_variable) {}

    std::vector<u32> take() {
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
    void set(u32 reg, u32 origin) {
        // A predicate is no address.
        if (origin == of_[reg] || function_.registers[reg].bytes == 0) return;
        of_[reg] = origin;
        worklist_.changed(reg);
    }
    [[nodiscard]] u32 origin_of_sources(u32 at) const {
        u32 all = no_variable;
        for (const ptx::Operand& operand : function_.sources_of(function_.instructions[at]))
            all = both(all, origin_of(build_, function_, operand, of_));
        return all;
    }

    /// The origin of a register changes at most twice: the time is linear in the function's length.
    void follow_variables() {
        while (const auto at = worklist_.next()) {
            if (!passes_addresses(function_.instructions[*at])) continue;
            const u32 from = origin_of_sources(*at);
            graph_.each_result(*at, [&](u32 reg) { set(reg, both(of_[reg], from)); });
        }
    }

    /// By register: whether some instruction that sets it may give it a pointer that was loaded or
    /// returned. What is added to a variable's address is an index, wherever it comes from.
    [[nodiscard]] std::vector<bool> pointers_from_elsewhere() const {
        std::vector<bool> found(function_.registers.size());
        Worklist worklist(graph_, Worklist::Direction::forward);
        const auto mark = [&](u32 reg) {
            if (found[reg] || function_.registers[reg].bytes < 4) return;
            found[reg] = true;
            worklist.changed(reg);
        };
        while (const auto at = worklist.next()) {
            const ptx::Instruction& one = function_.instructions[*at];
            bool from = false;
            graph_.each_source(*at, [&](u32 reg) { from |= found[reg]; });
            const bool chooses = one.reading->name() == "selp";
            // The register's value was added to an address, or is one of a variable already.
            const auto is_index = [&] { return origin_of_sources(*at) != no_variable; };
            if (gives_pointers(one) || (from && passes_addresses(one) && (chooses || !is_index())))
                graph_.each_result(*at, mark);
        }
        return found;
    }

    const KernelBuild& build_;
    const FlowGraph& graph_;
    const ptx::Function& function_;
    std::vector<u32> of_;
    Worklist worklist_{graph_, Worklist::Direction::forward};
};

}  // namespace

std::vector<u32> shared_origins(const KernelBuild& build, const FlowGraph& graph) {
    if (build.shared_index.empty()) return {};
    return SharedOrigins(build, graph).take();
}

}  // namespace lode::emulator::decode
