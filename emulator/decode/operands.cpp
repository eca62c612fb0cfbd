// Operands: slots for registers, numbers and addresses, with conversions between sizes.
#include "emulator/decode/builder.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/isa/half.hpp"

#include <string>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// The key of the row that converts between two sizes. Widening extends according to `sign`; for
/// narrowing, the sign is irrelevant.
std::string size_conversion(char from, char to, bool sign) {
    static constexpr std::string_view names[2][5] = {{"u8", "u16", "u32", "u64", "u128"},
                                                     {"s8", "s16", "s32", "s64", "u128"}};
    const auto index = [](char letter) { return std::string_view("bhwdq").find(letter); };
    return fmt::format("cvt.{}.{}", names[0][index(to)], names[sign ? 1 : 0][index(from)]);
}

}  // namespace

Slot Builder::constant(u64 low, u32 bytes, u64 high) {
    const Slot made = frame_.constant(low, high, bytes);
    if (made == no_slot)
        refuse_function(fmt::format("more than {} bytes of constants", max_frame_bytes));
    return made;
}

Slot Builder::converted(Slot from, char have, char want, bool sign) {
    if (have == want) return from;
    if (have == 'p' || want == 'p') {
        refuse("with a predicate where a value is expected");
        return from;
    }
    const Slot to = temporary(want);
    emit_row(size_conversion(have, want, sign), {to, from});
    return to;
}

Slot Builder::register_source(u32 index, char letter, bool sign) {
    return converted(frame_.reg(index), frame_.letter_of(index), letter, sign);
}

Slot Builder::predicate(const ptx::Operand& operand) {
    if (operand.kind == OperandKind::integer) {
        const bool value = (operand.bits != 0) != operand.negated;
        // `high` keeps this constant distinct from a 32-bit number.
        return constant(value ? all_lanes : 0, 4, 1);
    }
    if (operand.kind == OperandKind::special && operand.name == "%is_explicit_cluster")
        return slot(Area::launch, is_explicit_cluster);
    if (operand.kind != OperandKind::reg || frame_.letter_of(operand.index) != 'p') {
        refuse("with an operand that isn't a predicate");
        return no_slot;
    }
    const Slot plain = frame_.reg(operand.index);
    if (!operand.negated) return plain;
    const Slot turned = temporary('p');
    emit_row("not.pred", {turned, plain});
    return turned;
}

Slot Builder::source(const ptx::Operand& operand, char letter, bool sign) {
    if (letter == 'p') return predicate(operand);
    if (!operand.selector.empty()) {
        refuse("with the selector ." + std::string(operand.selector));
        return no_slot;
    }
    const u32 bytes = bytes_of_letter(letter);
    switch (operand.kind) {
        case OperandKind::reg:
            return register_source(operand.index, letter, sign);
        case OperandKind::sum:
            return sum(operand, letter, sign);
        case OperandKind::integer: {
            const bool minus = bytes == 16 && static_cast<i64>(operand.bits) < 0 && sign;
            return constant(operand.bits, bytes, minus ? ~u64{0} : 0);
        }
        case OperandKind::real32: {
            const f32 value = exec::real32(static_cast<u32>(operand.bits));
            if (letter == 'd') return constant(exec::bits_of(f64{value}), 8);
            if (letter == 'h')
                return constant(exec::narrowed(value, exec::half_format, exec::nearest, false), 2);
            return constant(operand.bits, bytes);
        }
        case OperandKind::real64: {
            const f64 value = exec::real64(operand.bits);
            if (letter == 'w') return constant(exec::bits_of(static_cast<f32>(value)), 4);
            return constant(operand.bits, bytes);
        }
        case OperandKind::special:
            return special_register(operand.name, letter);
        case OperandKind::variable:
        case OperandKind::symbol:
            return address(operand, letter);
        default:
            refuse("with this kind of operand");
            return no_slot;
    }
}

// A register plus a number.
Slot Builder::sum(const ptx::Operand& operand, char letter, bool sign) {
    if (letter == 'b' || letter == 'q') {
        refuse(fmt::format("with the {}-bit sum of a register and a constant",
                           8 * bytes_of_letter(letter)));
        return no_slot;
    }
    const std::string_view key = letter == 'h' ? "add.u16" : letter == 'w' ? "add.u32" : "add.u64";
    const Slot base = register_source(operand.index, letter, sign);
    const Slot made = temporary(letter);
    emit_row(key, {made, base, constant(operand.bits, bytes_of_letter(letter))});
    return made;
}

Slot Builder::address(const ptx::Operand& operand, char letter) {
    if (const auto known = known_address(operand)) return constant(*known, bytes_of_letter(letter));
    if (operand.kind == OperandKind::variable &&
        function_.variables[operand.index].space == ptx::Space::local) {
        const Slot made = temporary('d');
        emit(Operation::local_address, {made}).imm = frame_.local(operand.index) + operand.bits;
        return converted(made, 'd', letter, false);
    }
    refuse("with the address of '" + std::string(operand.name) + "'");
    return no_slot;
}

std::optional<u64> Builder::known_address(const ptx::Operand& operand) const {
    if (operand.kind == OperandKind::variable) {
        const ptx::Variable& variable = function_.variables[operand.index];
        if (variable.space == ptx::Space::shared) return build_.shared.at(&variable) + operand.bits;
        if (const auto offset = frame_.entry_offset(operand.index)) return *offset + operand.bits;
        if (variable.space == ptx::Space::local && function_.entry)
            return frame_.local(operand.index) + operand.bits;
        return std::nullopt;
    }
    if (operand.kind != OperandKind::symbol) return std::nullopt;
    const ModuleParts& module = *build_.module;
    if (const auto global = module.global_of.find(operand.name); global != module.global_of.end())
        return module.globals[global->second].address + operand.bits;
    if (const auto found = module.variables.find(operand.name); found != module.variables.end()) {
        const auto shared = build_.shared.find(&module.ast.variables[found->second]);
        if (shared != build_.shared.end()) return shared->second + operand.bits;
        return std::nullopt;
    }
    if (const auto found = module.functions.find(operand.name); found != module.functions.end())
        return window_tag(Window::code) | found->second;
    return std::nullopt;
}

std::optional<u32> Builder::known_number(const ptx::Operand& operand) const {
    if (operand.kind == OperandKind::integer) return static_cast<u32>(operand.bits);
    if (operand.kind != OperandKind::reg || frame_.letter_of(operand.index) != 'w')
        return std::nullopt;
    return frame_.constant_value(frame_.reg(operand.index));
}

Destination Builder::destination(const ptx::Operand& operand, char letter, bool sign) {
    Destination made;
    if (operand.kind == OperandKind::sink) {
        made.slot = temporary(letter);
        return made;
    }
    if (operand.kind != OperandKind::reg) {
        refuse("with a destination that isn't a register");
        return made;
    }
    if (!operand.selector.empty()) {
        refuse("with the selector ." + std::string(operand.selector) + " on its destination");
        return made;
    }
    const char have = frame_.letter_of(operand.index);
    const Slot place = frame_.reg(operand.index);
    if (have == letter) {
        made.slot = place;
        return made;
    }
    if (have == 'p' || letter == 'p') {
        refuse(have == 'p' ? "with a predicate as its destination"
                           : "with a destination that isn't a predicate");
        return made;
    }
    return {temporary(letter), place, letter, have, sign};
}

Slot Builder::second_destination(const ptx::Operand& operand) const noexcept {
    return operand.pair >= 0 ? frame_.reg(static_cast<u32>(operand.pair)) : no_slot;
}

void Builder::write_back(const Destination& destination) {
    if (destination.reg == no_slot) return;
    emit_row(size_conversion(destination.from, destination.to, destination.sign),
             {destination.reg, destination.slot});
}

}  // namespace lode::emulator::decode
