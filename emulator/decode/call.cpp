// Calls: rows of the caller's frame that hold arguments and results, and whom they reach.
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/control.hpp"

namespace lode::emulator::decode {

using ptx::OperandKind;

ParameterRows Decoder::rows_of(u32 variable) {
    const auto bytes = static_cast<u32>(function_.variables[variable].bytes);
    if (rows_[variable] == ~u32{0}) rows_[variable] = fresh_rows(bytes);
    return {rows_[variable], (bytes + 3) / 4};
}

Slot Decoder::fresh_rows(u32 bytes) {
    frame_ = (frame_ + 127) / 128 * 128;
    const Slot first = frame_;
    frame_ += (bytes + 3) / 4 * 128;
    return first;
}

// A register or a number goes through rows of its own. Of a real number ptxas passes the bits as
// they are written, cut or filled with zeros; only for .f32 it makes a float of a decimal.
void Decoder::pass_value(const ptx::Operand& item, u32 bytes, bool is_real, Slot row) {
    Slot value = no_slot;
    if (item.kind == OperandKind::reg || item.kind == OperandKind::integer ||
        (item.kind == OperandKind::real64 && is_real && bytes == 4)) {
        value = source_of(item, letter_of_bytes(bytes));
    } else if (item.kind == OperandKind::real32 || item.kind == OperandKind::real64) {
        value = constant(item.bits, bytes);
    } else {
        refuse("with such an argument");
    }
    if (refusal_) return;
    emit(&exec::store_row, {value, row}, 0).flags = static_cast<u16>(bytes);
}

std::vector<ParameterRows> Decoder::argument_rows(const ptx::Operand& operands,
                                                  const std::vector<ptx::Variable>& formals,
                                                  std::vector<Result>* results) {
    std::vector<ParameterRows> rows;
    for (u32 k = 0; k < operands.count && !refusal_; ++k) {
        const ptx::Operand& item = list(operands)[k];
        if (item.kind == OperandKind::variable) {
            rows.push_back(rows_of(item.index));
            continue;
        }
        const u64 bytes = item.kind == OperandKind::reg ? function_.registers[item.index].bytes
                          : k < formals.size()          ? formals[k].bytes
                                                        : 0;
        const bool is_one = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
        if (!is_one) {
            refuse("with such an argument");
            break;
        }
        const auto size = static_cast<u32>(bytes);
        const Slot row = fresh_rows(size);
        rows.push_back({row, (size + 3) / 4});
        if (results == nullptr) {
            const bool is_real = k < formals.size() && formals[k].type.kind == ptx::Class::real;
            pass_value(item, size, is_real, row);
        } else if (item.kind == OperandKind::reg) {
            results->push_back({&item, row});
        } else if (item.kind != OperandKind::sink) {
            refuse("with such a result");
        }
    }
    return rows;
}

// call (returns), target, (arguments) [, table]; the lists may be absent.
void Decoder::call() {
    parts_.ignore({"uni"});
    u32 next = 0;
    const ptx::Operand* const returns =
        operand(next).kind == OperandKind::list ? &operand(next++) : nullptr;
    const ptx::Operand& target = operand(next++);
    const ptx::Operand* const arguments =
        operand(next).kind == OperandKind::list ? &operand(next++) : nullptr;
    const auto found = build_.module->functions.find(target.name);
    const auto& functions = build_.module->ast.functions;
    const bool is_direct = target.kind == OperandKind::symbol;
    // What is called says the types of numbers and of results that nobody wants.
    const ptx::Function* formal = nullptr;
    const ptx::Table* table = nullptr;
    if (is_direct) {
        if (found != build_.module->functions.end()) formal = &functions[found->second];
    } else {
        table = &function_.tables[operand(next).index];
        if (table->kind == ptx::Table::Kind::functions)
            formal = &functions[build_.module->functions.at(table->functions.front())];
    }
    static const std::vector<ptx::Variable> none;
    CallSite site;
    std::vector<Result> results;
    if (returns != nullptr)
        site.returns = argument_rows(*returns,
                                     formal != nullptr  ? formal->returns
                                     : table != nullptr ? table->returns
                                                        : none,
                                     &results);
    if (arguments != nullptr)
        site.arguments = argument_rows(*arguments,
                                       formal != nullptr  ? formal->parameters
                                       : table != nullptr ? table->parameters
                                                          : none,
                                       nullptr);
    if (refusal_) return;
    Handler handler = &exec::call_direct;
    if (!is_direct) {
        handler = &exec::call_indirect;
        site.target = register_source(target.index, 'd', false);
    } else if (formal != nullptr && formal->defined) {
        site.callee = build_.codes.at(found->second);
    } else {
        site.builtin = builtin_named(target.name);  // Else the module doesn't load.
        handler = &exec::call_builtin;
    }
    build_.kernel->calls.push_back(std::move(site));
    emit(handler, {}, 0).table = &build_.kernel->calls.back();
    for (const Result& result : results) {
        const char letter = letter_of(result.to->index);
        const Target to = target_of(*result.to, letter);
        if (refusal_) return;
        emit(&exec::load_row, {to.written, result.row}).flags =
            static_cast<u16>(bytes_of_letter(letter));
        settle(to);
    }
}

}  // namespace lode::emulator::decode
