#include <algorithm>
#include <array>
#include <unordered_map>

#include <emulator/ptx/grammar.hpp>

namespace lode::emulator::ptx {
namespace {

/// A special register: how it ends, and what it needs. Source: PTX ISA 9.0, chapter 10, and ptxas.
enum class Ends : std::uint8_t {
    alone,
    dimension,  ///< .x .y .z .w, or nothing where the whole vector is moved.
    to_31,      ///< 0 to 31
    counter,    ///< 0 to 7, or these with _64
    reserved    ///< begin, end, cap, 0, 1
};
struct Special {
    std::string_view name;
    Ends ends = Ends::alone;
    Needs needs = {};
};
constexpr Needs in_clusters{90, 708};
constexpr Special specials[] = {{"%aggr_smem_size", Ends::alone, {90, 801}},
                                {"%clock"},
                                {"%clock64"},
                                {"%clock_hi", Ends::alone, {0, 500}},
                                {"%cluster_ctaid", Ends::dimension, in_clusters},
                                {"%cluster_ctarank", Ends::alone, in_clusters},
                                {"%cluster_nctaid", Ends::dimension, in_clusters},
                                {"%cluster_nctarank", Ends::alone, in_clusters},
                                {"%clusterid", Ends::dimension, in_clusters},
                                {"%ctaid", Ends::dimension},
                                {"%current_graph_exec", Ends::alone, {0, 800}},
                                {"%dynamic_smem_size", Ends::alone, {0, 401}},
                                {"%envreg", Ends::to_31},
                                {"%globaltimer"},
                                {"%globaltimer_hi"},
                                {"%globaltimer_lo"},
                                {"%gridid"},
                                {"%is_explicit_cluster", Ends::alone, in_clusters},
                                {"%laneid"},
                                {"%lanemask_eq"},
                                {"%lanemask_ge"},
                                {"%lanemask_gt"},
                                {"%lanemask_le"},
                                {"%lanemask_lt"},
                                {"%nclusterid", Ends::dimension, in_clusters},
                                {"%nctaid", Ends::dimension},
                                {"%nsmid"},
                                {"%ntid", Ends::dimension},
                                {"%nwarpid"},
                                {"%pm", Ends::counter},
                                {"%reserved_smem_offset_", Ends::reserved, in_clusters},
                                {"%smid"},
                                {"%tid", Ends::dimension},
                                {"%total_smem_size", Ends::alone, {0, 401}},
                                {"%warpid"}};

bool ends_so(std::string_view end, Ends how) {
    constexpr std::string_view reserved[] = {"begin", "end", "cap", "0", "1"};
    switch (how) {
        case Ends::alone:
            return end.empty();
        case Ends::dimension:
            return end.empty() ||
                   (end.size() == 2 && end[0] == '.' &&
                    std::string_view("xyzwrgba").find(end[1]) != std::string_view::npos);
        case Ends::to_31:
            return (end.size() == 1 && end[0] >= '0' && end[0] <= '9') ||
                   (end.size() == 2 && end >= "10" && end <= "31" && end[1] >= '0' &&
                    end[1] <= '9');
        case Ends::counter:
            return !end.empty() && end[0] >= '0' && end[0] <= '7' &&
                   (end.size() == 1 || end.substr(1) == "_64");
        case Ends::reserved:
            return std::ranges::find(reserved, end) != std::end(reserved);
    }
    return false;
}

bool is_special(std::string_view name, const Device& device) {
    return std::ranges::any_of(specials, [&](const Special& one) {
        return name.starts_with(one.name) && ends_so(name.substr(one.name.size()), one.ends) &&
               device.has(one.needs);
    });
}

/// The .version that each .target came with, as 10 * major + minor.
struct TargetVersion {
    int target;
    char suffix;
    int version;
};
constexpr TargetVersion target_versions[] = {
    {32, ' ', 40},  {35, ' ', 31},  {37, ' ', 41},  {50, ' ', 40},  {52, ' ', 41},  {53, ' ', 42},
    {60, ' ', 50},  {61, ' ', 50},  {62, ' ', 50},  {70, ' ', 60},  {72, ' ', 61},  {75, ' ', 63},
    {80, ' ', 70},  {86, ' ', 71},  {87, ' ', 74},  {88, ' ', 73},  {89, ' ', 78},  {90, ' ', 78},
    {90, 'a', 80},  {100, ' ', 86}, {100, 'a', 86}, {100, 'f', 88}, {103, ' ', 88}, {103, 'a', 88},
    {103, 'f', 88}, {110, ' ', 90}, {110, 'a', 90}, {110, 'f', 90}, {120, ' ', 87}, {120, 'a', 87},
    {120, 'f', 88}, {121, ' ', 88}, {121, 'a', 88}, {121, 'f', 88}};

Device device_of(const Module& module) {
    Device made;
    made.version = module.version;
    std::string_view name = module.target;
    if (!name.starts_with("sm_")) return made;
    for (const char c : name.substr(3)) {
        if (c >= '0' && c <= '9') {
            // No number of so many digits is a target.
            made.target = std::min(made.target * 10 + (c - '0'), 99'999);
        } else {
            made.suffix = c;
        }
    }
    return made;
}

class Validator {
public:
    /// The .version must know the .target.
    ParseError look_at_target(const Module& module) {
        device_ = device_of(module);
        for (const TargetVersion& row : target_versions) {
            const int needed = row.version / 10 * 100 + row.version % 10;
            if (row.target == device_.target && row.suffix == device_.suffix &&
                device_.version < needed) {
                return {1, "PTX of version " + std::to_string(device_.version / 100) + "." +
                               std::to_string(device_.version % 100) + " has no .target " +
                               std::string(module.target) + "."};
            }
        }
        return {};
    }

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
        for (const Function& function : module.functions)
            signatures_.try_emplace(function.name, &function);
        for (const Alias& alias : module.aliases) {
            if (const auto of = signatures_.find(alias.of); of != signatures_.end())
                signatures_[alias.name] = of->second;
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
            if (opcode->readings.front().form->name == "call") {
                std::string wrong_call = call_error(function, instruction);
                if (!wrong_call.empty()) return {instruction.line, std::move(wrong_call)};
            }
            const std::string wrong =
                operand_error(function, instruction, *opcode, spaces_, device_);
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

    /// A call by name against the signature: how many, how large, and where arguments are.
    std::string call_error(const Function& caller, const Instruction& call) const {
        const Operand* at = caller.operands.data() + call.first;
        const Operand* const end = at + call.count;
        const Operand* const returns = at != end && at->kind == OperandKind::list ? at++ : nullptr;
        if (at == end) return "The call names no function.";
        const Operand& target = *at++;
        const Operand* const given = at != end && at->kind == OperandKind::list ? at : nullptr;
        if (target.kind == OperandKind::reg) return {};  // Its prototype isn't the callee's.
        const auto found = signatures_.find(target.name);
        if (target.kind != OperandKind::symbol || found == signatures_.end())
            return "The call's target '" + std::string(target.name) + "' isn't a function.";
        const Function& callee = *found->second;
        if (callee.entry) return "The kernel " + std::string(callee.name) + " can't be called.";
        std::string wrong = arguments_error(caller, returns, callee.returns, true);
        if (wrong.empty()) wrong = arguments_error(caller, given, callee.parameters, false);
        return wrong.empty() ? wrong : "The call of " + std::string(callee.name) + wrong;
    }

    static std::string arguments_error(const Function& caller, const Operand* given,
                                       const std::vector<Variable>& formals, bool results) {
        const char* const what = results ? " result" : " argument";
        const std::uint32_t count = given == nullptr ? 0 : given->count;
        if (count != formals.size()) {
            return " has " + std::to_string(count) + what + "s, and the function has " +
                   std::to_string(formals.size()) + ".";
        }
        for (std::uint32_t k = 0; k < count; ++k) {
            const Operand& one = caller.elements[given->index + k];
            const Variable& formal = formals[k];
            const std::string place = std::string(what) + " " + std::to_string(k + 1);
            std::uint64_t bytes = formal.bytes;
            switch (one.kind) {
                case OperandKind::variable: {
                    const Variable& variable = caller.variables[one.index];
                    if (variable.space != Space::param || one.bits != 0)
                        return " has a" + place + " that isn't of .param space.";
                    bytes = variable.bytes;
                    break;
                }
                case OperandKind::reg:
                    bytes = caller.registers[one.index].bytes;
                    break;
                case OperandKind::sink:
                    if (!results) return " has no" + place + ".";
                    break;
                case OperandKind::integer:
                case OperandKind::real32:
                case OperandKind::real64:
                    if (results) return " has a number as its" + place + ".";
                    break;
                default:
                    return " has a" + place + " that can't be passed.";
            }
            if (bytes != formal.bytes) {
                return " has a" + place + " of " + std::to_string(bytes) +
                       " bytes, and the function's has " + std::to_string(formal.bytes) + ".";
            }
        }
        return {};
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
                           : operand.kind == OperandKind::special
                               ? is_special(operand.name, device_)
                               : true;
        return known ? nullptr : &operand;
    }

    bool is_symbol(const Function& function, std::string_view name) const {
        return symbols_.contains(name) || function.branch_targets.contains(name) ||
               std::ranges::find(function.call_tables, name) != function.call_tables.end();
    }

    std::unordered_map<std::string_view, bool> symbols_;  ///< Whether it is defined here.
    SymbolSpaces spaces_;
    std::unordered_map<std::string_view, const Function*> signatures_;
    Device device_;
    std::unordered_map<std::string_view, const Opcode*> opcodes_;
    std::string why_;
};

}  // namespace

ParseError validate(Module& module) {
    Validator validator;
    if (ParseError error = validator.look_at_target(module); !error.message.empty()) return error;
    if (ParseError error = validator.declare(module); !error.message.empty()) return error;
    for (Function& function : module.functions) {
        ParseError error = validator.check(function);
        if (!error.message.empty()) return error;
    }
    return {};
}

}  // namespace lode::emulator::ptx
