// Matches calls against the callee's heading: number, types and spaces of the arguments.
#include "emulator/decode/ptx/grammar.hpp"

#include <fmt/format.h>

namespace lode::emulator::ptx {
namespace {

/// Whether a value of one kind can be passed as another kind of the same size.
bool kind_fits(Class have, Class formal) {
    if (have == Class::predicate || formal == Class::predicate) return false;
    if (have == Class::bits || formal == Class::bits || formal == Class::packed) return true;
    if (formal == Class::real) return have == Class::real;
    return is_integer(have) || have == Class::packed;
}

bool variable_fits(const Variable& have, const Variable& formal) {
    if (have.is_array != formal.is_array) return false;
    if (formal.is_array) return formal.bytes == 0 || have.bytes == formal.bytes;
    return have.bytes == formal.bytes && kind_fits(have.type.kind, formal.type.kind);
}

/// The error in an argument, as the end of a sentence.
std::string argument_error(const Function& caller, const Operand& one, const Variable& formal,
                           bool is_result) {
    constexpr std::string_view mismatch = "doesn't match the type that the function declares";
    const bool is_plain = !one.negated && !one.address && !one.is_element && one.pair == -1 &&
                          one.selector.empty() && one.bits == 0;
    const auto register_fits = [&](std::uint32_t index) {
        const Register& have = caller.registers[index];
        return have.bytes == formal.type.bytes && kind_fits(have.kind, formal.type.kind);
    };
    switch (one.kind) {
        case OperandKind::variable: {
            const Variable& variable = caller.variables[one.index];
            if (!is_plain || variable.space != Space::param) return "isn't in .param space";
            if (one.index < caller.returns.size() + caller.parameters.size())
                return "is a parameter of the calling function";
            if (!variable_fits(variable, formal)) return std::string(mismatch);
            if (formal.space == Space::param && variable.align != formal.align)
                return "has a different alignment";
            return {};
        }
        case OperandKind::reg: {
            const bool is_whole = one.name.find('.') == one.name.npos;
            if (!is_plain || !is_whole) return "isn't a whole register";
            const bool fits = !formal.is_array && formal.lanes == 1 && register_fits(one.index);
            return fits ? std::string() : std::string(mismatch);
        }
        case OperandKind::list: {  // A vector register.
            bool fits = !formal.is_array && formal.lanes == one.count;
            for (std::uint32_t k = 0; fits && k < one.count; ++k)
                fits = register_fits(caller.elements[one.index + k].index);
            return fits ? std::string() : std::string(mismatch);
        }
        case OperandKind::sink:
            return is_result ? std::string() : "is missing";
        case OperandKind::integer: {
            if (is_result || one.address) return "can't be passed";
            const bool fits = !formal.is_array && formal.lanes == 1 && is_integer(formal.type.kind);
            return fits ? std::string() : std::string(mismatch);
        }
        case OperandKind::real32:
        case OperandKind::real64: {
            if (is_result || one.address) return "can't be passed";
            const bool fits = !formal.is_array && formal.lanes == 1 &&
                              (formal.type.kind == Class::real || formal.type.kind == Class::bits);
            return fits ? std::string() : std::string(mismatch);
        }
        default:
            return "can't be passed";
    }
}

std::string list_error(const Function& caller, const Operand* given,
                       const std::vector<Variable>& formals, bool are_results) {
    const std::string what = are_results ? "result" : "argument";
    const std::uint32_t count = given == nullptr ? 0 : given->count;
    if (count != formals.size()) {
        return "The call has " + std::to_string(count) + " " + what + (count == 1 ? "" : "s") +
               ", but the function declares " + std::to_string(formals.size()) + ".";
    }
    for (std::uint32_t k = 0; k < count; ++k) {
        const std::string wrong =
            argument_error(caller, caller.elements[given->index + k], formals[k], are_results);
        if (!wrong.empty()) return fmt::format("The call's {} {} {}.", what, k + 1, wrong);
    }
    return {};
}

/// The operands of a call: (results), target, (arguments), table; only the target is required.
struct Call {
    const Operand* results = nullptr;
    const Operand* target = nullptr;
    const Operand* arguments = nullptr;
    const Operand* table = nullptr;
    bool has_more = false;

    Call(const Function& caller, const Instruction& call) {
        const Operand* at = caller.operands.data() + call.first;
        const Operand* const end = at + call.count;
        if (at != end && at->kind == OperandKind::list) results = at++;
        if (at != end) target = at++;
        if (at != end && at->kind == OperandKind::list) arguments = at++;
        if (at != end) table = at++;
        has_more = at != end;
    }
};

}  // namespace

std::string call_error(const Function& caller, const Instruction& instruction,
                       const Signatures& signatures) {
    const Call call(caller, instruction);
    if (call.target == nullptr) return "The call doesn't name a function.";
    if (call.has_more) return "The call has too many operands.";
    const Operand& target = *call.target;
    const std::string name(target.name);
    if (target.negated || target.address || target.pair != -1 || target.bits != 0)
        return "The call target '" + name + "' isn't a plain name.";
    const auto fits = [&](const std::vector<Variable>& returns,
                          const std::vector<Variable>& parameters) {
        std::string wrong = list_error(caller, call.results, returns, true);
        return wrong.empty() ? list_error(caller, call.arguments, parameters, false) : wrong;
    };
    if (target.kind == OperandKind::symbol) {
        const auto found = signatures.find(target.name);
        if (found == signatures.end()) return "The call target '" + name + "' isn't a function.";
        if (found->second->entry) return "The kernel " + name + " can't be called.";
        if (call.table != nullptr)
            return "A direct call can't have a prototype or a list of functions.";
        return fits(found->second->returns, found->second->parameters);
    }
    if (target.kind != OperandKind::reg) return "The call target '" + name + "' isn't a function.";
    const Register& pointer = caller.registers[target.index];
    if (!is_integer(pointer.kind) || pointer.bytes < 4 || pointer.bytes > 8)
        return "The call target '" + name + "' isn't an address.";
    const bool has_table = call.table != nullptr && call.table->kind == OperandKind::table &&
                           !call.table->address && !call.table->negated && call.table->bits == 0;
    if (!has_table) return "An indirect call needs a prototype or a list of functions.";
    const Table& table = caller.tables[call.table->index];
    if (table.kind == Table::Kind::branch) return "A list of branch targets can't be called.";
    if (table.kind == Table::Kind::prototype) {
        if (table.returns.size() > 1) return "An indirect call can have at most one result.";
        return fits(table.returns, table.parameters);
    }
    for (const std::string_view one : table.functions) {
        const auto found = signatures.find(one);
        if (found == signatures.end() || found->second->entry)
            return "The call target '" + std::string(one) + "' isn't a function.";
        std::string wrong = fits(found->second->returns, found->second->parameters);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

const Instruction* unreturned_load(const Function& function) {
    const std::size_t own = function.returns.size() + function.parameters.size();
    std::vector<bool> is_returned(function.variables.size());
    for (const Instruction& instruction : function.instructions) {
        if (instruction.traits.effect == Effect::call && instruction.traits.results != 0) {
            for (const Operand& one : function.elements_of(function.operands_of(instruction)[0]))
                if (one.kind == OperandKind::variable) is_returned[one.index] = true;
        }
        if (instruction.traits.effect != Effect::load) continue;
        for (const Operand& one : function.operands_of(instruction)) {
            const bool is_variable = one.kind == OperandKind::variable && one.index >= own;
            if (is_variable && function.variables[one.index].space == Space::param &&
                !is_returned[one.index])
                return &instruction;
        }
    }
    return nullptr;
}

}  // namespace lode::emulator::ptx
