#include <algorithm>
#include <array>
#include <unordered_map>

#include <emulator/ptx/ast.hpp>

namespace lode::emulator::ptx {
namespace {

// Every instruction of PTX, by its first word. What of it the emulator runs is decoding's question;
// a word that isn't here makes a text that isn't PTX. Source: PTX ISA 9.0, chapter 9.
constexpr auto instruction_names = std::to_array<std::string_view>(
    {"abs",          "activemask",    "add",       "addc",       "alloca",
     "and",          "applypriority", "atom",      "bar",        "barrier",
     "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
     "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
     "clz",          "cnot",          "copysign",  "cos",        "cp",
     "createpolicy", "cvt",           "cvta",      "discard",    "div",
     "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
     "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
     "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
     "lg2",          "lop3",          "mad",       "mad24",      "madc",
     "mapa",         "match",         "max",       "mbarrier",   "membar",
     "min",          "mma",           "mov",       "movmatrix",  "mul",
     "mul24",        "multimem",      "nanosleep", "neg",        "not",
     "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
     "prmt",         "rcp",           "red",       "redux",      "rem",
     "ret",          "rsqrt",         "sad",       "selp",       "set",
     "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
     "shr",          "sin",           "slct",      "sqrt",       "st",
     "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
     "suld",         "suq",           "sured",     "sust",       "szext",
     "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
     "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
     "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
     "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
     "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
     "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
     "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"});
static_assert(std::ranges::is_sorted(instruction_names));

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

    ParseError check(const Function& function) const {
        for (const Instruction& instruction : function.instructions) {
            const std::string_view name =
                instruction.opcode.substr(0, instruction.opcode.find('.'));
            if (!std::ranges::binary_search(instruction_names, name)) {
                return {instruction.line,
                        "'" + std::string(instruction.opcode) + "' isn't an instruction of PTX."};
            }
            for (std::uint32_t k = 0; k < instruction.count; ++k) {
                const Operand& operand = function.operands[instruction.first + k];
                const Operand* wrong = wrong_in(function, operand);
                if (wrong != nullptr) return undeclared(wrong->name, instruction.line);
            }
        }
        return {};
    }

private:
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
};

}  // namespace

ParseError validate(const Module& module) {
    Validator validator;
    if (ParseError error = validator.declare(module); !error.message.empty()) return error;
    for (const Function& function : module.functions) {
        ParseError error = validator.check(function);
        if (!error.message.empty()) return error;
    }
    return {};
}

}  // namespace lode::emulator::ptx
