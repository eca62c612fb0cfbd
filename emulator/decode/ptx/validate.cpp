#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>
#include <unordered_map>

namespace lode::emulator::ptx {
namespace {

/// The possible endings of a special register's name. Source: PTX ISA 9.0, chapter 10, and
/// ptxas 13.5.
enum class Ends : std::uint8_t {
    alone,
    dimension,  ///< .x .y .z .w, or none when the whole vector is moved
    to_31,      ///< 0 to 31
    counter,    ///< 0 to 7, optionally with _64
    reserved    ///< begin, end, cap, 0, 1
};
struct Special {
    std::string_view name;
    Ends ends = Ends::alone;
    Needs needs = {};
};
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
                                {"%locality_domain_id", Ends::alone, {100, 905}},
                                {"%locality_domain_supplemental_sm", Ends::alone, {100, 905}},
                                {"%nclusterid", Ends::dimension, in_clusters},
                                {"%nctaid", Ends::dimension},
                                {"%nsmid"},
                                {"%ntid", Ends::dimension},
                                {"%nwarpid"},
                                {"%perctamemoryoffset", Ends::alone, {80, 904}},
                                {"%perctamemorysize", Ends::alone, {80, 904}},
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

/// The .version that introduced each .target, as 10 * major + minor; 0 for one that doesn't exist.
struct TargetVersion {
    ComputeCapability cc;
    int by_suffix[3];
};
constexpr TargetVersion target_versions[] = {
    {{3, 2}, {40}},
    {{3, 5}, {31}},
    {{3, 7}, {41}},
#define LODE_ARCHITECTURE(cc_major, cc_minor, first, last, ...) \
    {{cc_major, cc_minor}, {__VA_ARGS__}},
#include "base/architectures.def"
};

class Validator {
public:
    /// Checks that the .version supports the .target.
    ParseError look_at_target(const Module& module) {
        device_ = device_of(module);
        for (const TargetVersion& row : target_versions) {
            const int since = row.by_suffix[static_cast<std::size_t>(device_.target.suffix())];
            if (row.cc == device_.target.cc() && device_.version < since / 10 * 100 + since % 10) {
                return {1, "PTX version " + std::to_string(device_.version / 100) + "." +
                               std::to_string(device_.version % 100) + " doesn't support .target " +
                               std::string(module.target) + "."};
            }
        }
        return {};
    }

    /// Records the module's names, each with its first declaration.
    void declare(const Module& module) {
        for (std::uint32_t k = 0; k < module.variables.size(); ++k) {
            const Variable& variable = module.variables[k];
            variables_.try_emplace(variable.name, k);
            const bool is_opaque = variable.type.kind == Class::other;
            spaces_[variable.name] = is_opaque ? Space::none : variable.space;
        }
        for (std::uint32_t k = 0; k < module.functions.size(); ++k) {
            functions_.try_emplace(module.functions[k].name, k);
            signatures_.try_emplace(module.functions[k].name, &module.functions[k]);
        }
    }

    ParseError check(Function& function) {
        ParseError error = check_instructions(function);
        if (error.message.empty() && expand_elements(function))
            error = check_instructions(function);
        if (!error.message.empty()) return error;
        if (const Instruction* const load = unreturned_load(function); load != nullptr)
            return {load->line, "'" + std::string(load->opcode) +
                                    "' reads a call's parameter that no call before it returns."};
        return error;
    }

private:
    /// Checks those that have no reading yet.
    ParseError check_instructions(Function& function) {
        for (Instruction& instruction : function.instructions) {
            if (instruction.reading != nullptr) continue;
            const std::span readings = read(instruction);
            if (readings.empty()) return {instruction.line, std::move(why_)};
            instruction.opcode = readings.front().text;
            for (std::uint32_t k = 0; k < instruction.count; ++k) {
                const Operand& operand = function.operands[instruction.first + k];
                const Operand* wrong = wrong_in(function, operand);
                if (wrong != nullptr)
                    return {instruction.line, "'" + std::string(wrong->name) + "' isn't declared."};
            }
            if (readings.front().name() == "call") {
                std::string wrong_call = call_error(function, instruction, signatures_);
                if (!wrong_call.empty()) return {instruction.line, std::move(wrong_call)};
            }
            const Reading* const reading =
                matching(function, instruction, readings, spaces_, device_, why_);
            if (reading == nullptr) return {instruction.line, std::move(why_)};
            instruction.traits = traits_of(function, instruction, *reading);
            const bool is_old = device_.target.cc().number() < 50;
            instruction.reading = is_old ? &modern(*reading) : reading;
            instruction.opcode = instruction.reading->text;
        }
        return {};
    }

    /// What an opcode means for an old .target, in the words of later ones: before sm_20,
    /// instructions on .f32 flush subnormal numbers, and mad without a rounding mode is fma.rn.
    const Reading& modern(const Reading& reading) const {
        if (!reading.has("f32")) return reading;
        std::string text = reading.text;
        std::string ignored;
        const bool is_rounded = std::ranges::any_of(
            reading.words, [](Word word) { return WordPrefix("r").matches(word); });
        if (reading.name() == "mad" && !is_rounded) text.insert(3, ".rn");
        if (device_.target.cc().number() < 20 && !reading.has("ftz")) {
            if (const std::span flushed = read_opcode(text + ".ftz", ignored); !flushed.empty())
                return flushed.front();
        }
        return text == reading.text ? reading : read_opcode(text, ignored).front();
    }

    /// Parses each distinct opcode once per module.
    std::span<const Reading> read(const Instruction& instruction) {
        const auto [at, fresh] = opcodes_.try_emplace(instruction.opcode);
        if (fresh) at->second = read_opcode(instruction.opcode, why_);
        return at->second;
    }

    static Traits traits_of(const Function& function, const Instruction& instruction,
                            const Reading& reading) {
        Traits traits = reading.traits;
        if (traits.effect == Effect::call) {
            const auto operands = function.operands_of(instruction);
            traits.results = operands.front().kind == OperandKind::list ? 1 : 0;
        }
        return traits;
    }

    const Operand* wrong_in(const Function& function, const Operand& operand) const {
        if (operand.kind == OperandKind::list) {
            for (std::uint32_t k = 0; k < operand.count; ++k) {
                const Operand* wrong = wrong_in(function, function.elements[operand.index + k]);
                if (wrong != nullptr) return wrong;
            }
        }
        const bool known =
            operand.kind == OperandKind::symbol ? is_symbol(function, operand.name)
            : operand.kind == OperandKind::special
                ? is_special(operand.name, device_) &&
                      (function.block_memory != 0 || !operand.name.starts_with("%perctamemory"))
                : true;
        return known ? nullptr : &operand;
    }

    /// Whether a name is declared before the end of a function's body.
    bool is_symbol(const Function& function, std::string_view name) const {
        const auto variable = variables_.find(name);
        if (variable != variables_.end()) return variable->second < function.known_variables;
        const auto found = functions_.find(name);
        return found != functions_.end() && found->second < function.known_functions;
    }

    std::unordered_map<std::string_view, std::uint32_t> variables_, functions_;
    SymbolSpaces spaces_;
    Signatures signatures_;
    Device device_;
    std::unordered_map<std::string_view, std::span<const Reading>> opcodes_;
    std::string why_;
};

}  // namespace

ParseError validate(Module& module) {
    Validator validator;
    if (ParseError error = validator.look_at_target(module); !error.message.empty()) return error;
    validator.declare(module);
    for (Function& function : module.functions) {
        ParseError error = validator.check(function);
        if (!error.message.empty()) return error;
    }
    return {};
}

}  // namespace lode::emulator::ptx
