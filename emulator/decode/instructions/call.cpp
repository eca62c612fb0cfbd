// Calls: the callee, and the rows of the caller's frame that hold arguments and results.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/isa/control.hpp"

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// Copies between a register and its place in the rows of an argument or result.
void copy_row(Builder& b, Operation operation, Slot value, u32 bytes, Slot rows, u32 offset) {
    const Slot row = rows + offset / 4 * row_bytes;
    b.emit(operation, {value, row}).flags =
        exec::RowFlags{static_cast<u8>(bytes), static_cast<u8>(offset % 4)};
}

/// A call's result that is a register: the operand, the rows that hold the value, and where.
struct RegisterResult {
    const ptx::Operand* to;
    Slot rows;
    u32 offset;
};

// Passes a register or a number in rows of its own. As in ptxas, a real number is passed as its
// written bits, truncated or zero-extended; only for an .f32 parameter is a decimal number
// converted to float.
void pass_value(Builder& b, const ptx::Operand& item, u32 bytes, bool is_real, Slot rows,
                u32 offset) {
    Slot value = no_slot;
    if (item.kind == OperandKind::reg || item.kind == OperandKind::integer ||
        (item.kind == OperandKind::real64 && is_real && bytes == 4)) {
        value = b.source(item, letter_of_bytes(bytes));
    } else if (item.kind == OperandKind::real32 || item.kind == OperandKind::real64) {
        value = b.constant(item.bits, bytes);
    } else {
        b.refuse("with this kind of argument");
    }
    if (!b.refused()) copy_row(b, Operation::store_row, value, bytes, rows, offset);
}

/// The size of an argument or result that isn't a variable, or of an element of its vector. Refuses
/// it if the size is unknown.
u32 value_bytes(Builder& b, const ptx::Operand& item, const ptx::Variable* formal) {
    u64 bytes = formal != nullptr ? formal->bytes : 0;
    if (item.kind == OperandKind::reg) bytes = b.function().registers[item.index].bytes;
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
        return static_cast<u32>(bytes);
    b.refuse("with this kind of argument");
    return 0;
}

/// The rows of the arguments; copies values into theirs.
std::vector<ParameterRows> pass_arguments(Builder& b, const ptx::Operand& arguments,
                                          std::span<const ptx::Variable> formals) {
    std::vector<ParameterRows> rows;
    for (u32 k = 0; k < arguments.count && !b.refused(); ++k) {
        const ptx::Operand& item = b.list(arguments)[k];
        if (item.kind == OperandKind::variable) {
            rows.push_back(b.frame().rows(item.index));
            continue;
        }
        const ptx::Variable* const formal = k < formals.size() ? &formals[k] : nullptr;
        const auto parts = b.list(item);
        const u32 bytes = value_bytes(b, parts.front(), formal);
        if (b.refused()) break;
        const auto count = static_cast<u32>(parts.size());
        rows.push_back(b.frame().allocate_rows(count * bytes));
        const bool is_real = formal != nullptr && formal->type.kind == ptx::Class::real;
        for (u32 part = 0; part < count; ++part)
            pass_value(b, parts[part], bytes, is_real, rows.back().offset, part * bytes);
    }
    return rows;
}

/// The rows of the results; `results` lists those to load into registers after the call.
std::vector<ParameterRows> result_rows(Builder& b, const ptx::Operand& returns,
                                       std::span<const ptx::Variable> formals,
                                       std::vector<RegisterResult>& results) {
    std::vector<ParameterRows> rows;
    for (u32 k = 0; k < returns.count && !b.refused(); ++k) {
        const ptx::Operand& item = b.list(returns)[k];
        if (item.kind == OperandKind::variable) {
            rows.push_back(b.frame().rows(item.index));
            continue;
        }
        const auto parts = b.list(item);
        const u32 bytes = value_bytes(b, parts.front(), k < formals.size() ? &formals[k] : nullptr);
        if (b.refused()) break;
        const auto count = static_cast<u32>(parts.size());
        rows.push_back(b.frame().allocate_rows(count * bytes));
        for (u32 part = 0; part < count; ++part) {
            if (parts[part].kind == OperandKind::reg) {
                results.push_back({&parts[part], rows.back().offset, part * bytes});
            } else if (parts[part].kind != OperandKind::sink) {
                b.refuse("with this kind of result");
            }
        }
    }
    return rows;
}

/// The callee of a call. `formal` and `table` give the types of numbers and of discarded results.
struct Callee {
    bool is_direct = false;
    u32 function = ~u32{0};  ///< Index of the callee of a direct call; ~0 for a builtin.
    const ptx::Function* formal = nullptr;
    const ptx::Table* table = nullptr;

    [[nodiscard]] std::span<const ptx::Variable> returns() const {
        if (formal != nullptr) return formal->returns;
        if (table != nullptr) return table->returns;
        return {};
    }
    [[nodiscard]] std::span<const ptx::Variable> parameters() const {
        if (formal != nullptr) return formal->parameters;
        if (table != nullptr) return table->parameters;
        return {};
    }
};

/// `table` is the operand after the arguments, for an indirect call.
Callee callee_of(Builder& b, const ptx::Operand& target, const ptx::Operand& table) {
    const ModuleParts& module = *b.build().module;
    Callee made;
    made.is_direct = target.kind == OperandKind::symbol;
    if (made.is_direct) {
        const auto found = module.functions.find(target.name);
        if (found == module.functions.end()) return made;
        made.function = found->second;
        made.formal = &module.ast.functions[found->second];
        return made;
    }
    made.table = &b.function().tables[table.index];
    if (made.table->kind == ptx::Table::Kind::functions)
        made.formal = &module.ast.functions[module.functions.at(made.table->functions.front())];
    return made;
}

void emit_call(Builder& b, CallSite site, const ptx::Operand& target, const Callee& callee) {
    Operation operation = Operation::call_direct;
    if (!callee.is_direct) {
        operation = Operation::call_indirect;
        site.target = b.register_source(target.index, 'd');
    } else if (callee.formal != nullptr && callee.formal->defined) {
        site.callee = b.build().codes.at(callee.function);
    } else {
        operation = Operation::call_builtin;
        site.builtin = builtin_named(target.name);  // The module has no other undefined callee.
        if (site.builtin == no_builtin || builtin_rows[site.builtin].is_refused)
            return b.refuse(fmt::format("of {}", target.name));
    }
    b.emit(operation, {}).table = &b.kernel().calls.emplace_back(std::move(site));
}

// call (returns), target, (arguments) [, table]; the lists may be absent.
void call(Builder& b) {
    b.opcode().ignore({"uni"});
    u32 next = 0;
    const auto take_list = [&] {
        const bool is_list = b.operand(next).kind == OperandKind::list;
        return is_list ? &b.operand(next++) : nullptr;
    };
    const ptx::Operand* const returns = take_list();
    const ptx::Operand& target = b.operand(next++);
    const ptx::Operand* const arguments = take_list();
    const Callee callee = callee_of(b, target, b.operand(next));
    CallSite site;
    std::vector<RegisterResult> results;
    if (returns != nullptr) site.returns = result_rows(b, *returns, callee.returns(), results);
    if (arguments != nullptr) site.arguments = pass_arguments(b, *arguments, callee.parameters());
    if (b.refused()) return;
    emit_call(b, std::move(site), target, callee);
    for (const RegisterResult& result : results) {
        const char letter = b.frame().letter_of(result.to->index);
        const Destination to = b.destination(*result.to, letter);
        if (b.refused()) return;
        copy_row(b, Operation::load_row, to.slot, bytes_of_letter(letter), result.rows,
                 result.offset);
        b.write_back(to);
    }
}

constexpr OpcodeDecoder call_decoders[] = {{"call", call}};

/// Copies between the registers of parameters, or of results, and their rows.
void copy_register_parameters(Builder& b, Operation operation, bool results) {
    for (const ptx::RegisterParameter& one : b.function().register_parameters) {
        const u32 bytes = b.function().registers[one.reg].bytes;
        if (bytes == 0) return b.refuse_function("a predicate parameter in .reg space");
        if (one.is_result != results) continue;
        copy_row(b, operation, b.frame().reg(one.reg), bytes, b.frame().rows(one.variable).offset,
                 one.offset);
    }
}

}  // namespace

OpcodeDecoders call_opcodes() noexcept {
    return call_decoders;
}

void load_register_parameters(Builder& b) {
    copy_register_parameters(b, Operation::load_row, false);
}

void store_register_results(Builder& b) {
    copy_register_parameters(b, Operation::store_row, true);
}

}  // namespace lode::emulator::decode
