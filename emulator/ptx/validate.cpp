#include <algorithm>
#include <array>
#include <unordered_map>

#include <emulator/ptx/grammar.hpp>

namespace lode::emulator::ptx {
namespace {

// The special registers, without the numbers and dimensions at their ends. Source: PTX ISA 9.0,
// chapter 10.
constexpr auto special_names = std::to_array<std::string_view>({"%aggr_smem_size",
                                                                "%clock",
                                                                "%clock64",
                                                                "%clock_hi",
                                                                "%cluster_ctaid",
                                                                "%cluster_ctarank",
                                                                "%cluster_nctaid",
                                                                "%cluster_nctarank",
                                                                "%clusterid",
                                                                "%ctaid",
                                                                "%current_graph_exec",
                                                                "%dynamic_smem_size",
                                                                "%envreg",
                                                                "%globaltimer",
                                                                "%globaltimer_hi",
                                                                "%globaltimer_lo",
                                                                "%gridid",
                                                                "%is_explicit_cluster",
                                                                "%laneid",
                                                                "%lanemask_eq",
                                                                "%lanemask_ge",
                                                                "%lanemask_gt",
                                                                "%lanemask_le",
                                                                "%lanemask_lt",
                                                                "%nclusterid",
                                                                "%nctaid",
                                                                "%nsmid",
                                                                "%ntid",
                                                                "%nwarpid",
                                                                "%pm",
                                                                "%reserved_smem_offset_",
                                                                "%smid",
                                                                "%tid",
                                                                "%total_smem_size",
                                                                "%warpid"});
static_assert(std::ranges::is_sorted(special_names));

bool is_special(std::string_view name) {
    const std::string_view whole = name.substr(0, name.find('.'));
    if (std::ranges::binary_search(special_names, whole)) return true;
    return whole.starts_with("%envreg") || whole.starts_with("%pm") ||
           whole.starts_with("%reserved_smem_offset_");
}

class Validator {
public:
    /// Takes in the module's names; an error where two things have one.
    ParseError declare(const Module& module) {
        for (const Variable& variable : module.variables) {
            const auto [at, fresh] = symbols_.try_emplace(variable.name, !variable.is_extern);
            if (!fresh && at->second && !variable.is_extern)
                return twice(variable.name, variable.line);
            at->second |= !variable.is_extern;
            spaces_[variable.name] = variable.space;
        }
        const std::size_t variables = symbols_.size();
        std::unordered_map<std::string_view, bool> functions;
        for (const Function& function : module.functions) {
            const auto [at, fresh] = functions.try_emplace(function.name, function.defined);
            if ((!fresh && at->second && function.defined) ||
                (variables > 0 && symbols_.contains(function.name)))
                return twice(function.name, function.line);
            at->second |= function.defined;
        }
        symbols_.merge(functions);
        for (const Alias& alias : module.aliases) {
            for (const std::string_view name : {alias.name, alias.of})
                if (!symbols_.contains(name)) return undeclared(name, alias.line);
        }
        return {};
    }

    ParseError check(Function& function) {
        for (Instruction& instruction : function.instructions) {
            const Opcode* const opcode = read(instruction);
            if (opcode == nullptr) return {instruction.line, std::move(why_)};
            instruction.opcode = opcode->canonical;
            for (std::uint32_t k = 0; k < instruction.count; ++k) {
                const Operand& operand = function.operands[instruction.first + k];
                const Operand* wrong = wrong_in(function, operand);
                if (wrong != nullptr) return undeclared(wrong->name, instruction.line);
            }
            const std::string wrong = operand_error(function, instruction, *opcode, spaces_);
            if (!wrong.empty())
                return {instruction.line,
                        "'" + std::string(instruction.opcode) + "' can't be used so. " + wrong};
        }
        return {};
    }

private:
    /// An opcode is read once for the module.
    const Opcode* read(const Instruction& instruction) {
        const auto [at, fresh] = opcodes_.try_emplace(instruction.opcode, nullptr);
        if (fresh) at->second = read_opcode(instruction.opcode, why_);
        return at->second;
    }

    static ParseError twice(std::string_view name, std::uint32_t line) {
        return {line, "'" + std::string(name) + "' is defined twice."};
    }
    static ParseError undeclared(std::string_view name, std::uint32_t line) {
        return {line, "'" + std::string(name) + "' isn't declared."};
    }

    const Operand* wrong_in(const Function& function, const Operand& operand) const {
        if (operand.kind == OperandKind::list) {
            for (std::uint32_t k = 0; k < operand.count; ++k) {
                const Operand* wrong = wrong_in(function, function.elements[operand.index + k]);
                if (wrong != nullptr) return wrong;
            }
        }
        const bool known = operand.kind == OperandKind::symbol ? is_symbol(function, operand.name)
                           : operand.kind == OperandKind::special ? is_special(operand.name)
                                                                  : true;
        return known ? nullptr : &operand;
    }

    bool is_symbol(const Function& function, std::string_view name) const {
        return symbols_.contains(name) || function.branch_targets.contains(name) ||
               std::ranges::find(function.call_tables, name) != function.call_tables.end();
    }

    std::unordered_map<std::string_view, bool> symbols_;  ///< Whether it is defined here.
    SymbolSpaces spaces_;
    std::unordered_map<std::string_view, const Opcode*> opcodes_;
    std::string why_;
};

}  // namespace

ParseError validate(Module& module) {
    Validator validator;
    if (ParseError error = validator.declare(module); !error.message.empty()) return error;
    for (Function& function : module.functions) {
        ParseError error = validator.check(function);
        if (!error.message.empty()) return error;
    }
    return {};
}

}  // namespace lode::emulator::ptx
