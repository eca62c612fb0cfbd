// Operands against a form: how many, of which kind, and whether a register's type goes with the
// instruction's, as ptxas sees it.
#include <algorithm>

#include <emulator/ptx/grammar.hpp>

namespace lode::emulator::ptx {
namespace {

bool is_integer(Class kind) {
    return kind == Class::bits || kind == Class::unsigned_integer || kind == Class::signed_integer;
}

/// Whether a register may stand where a type is wanted. An .f16x2 register goes as one of 32 bits
/// where the type comes from a modifier.
bool register_fits(const Register& have, Type want, const OperandForm& form) {
    if (want.kind == Class::predicate) return have.bytes == 0;
    if (have.bytes == 0) return false;
    const bool may_be_wider = form.is_wider && have.bytes > want.bytes;
    if (have.bytes != want.bytes && !may_be_wider) return false;
    switch (want.kind) {
        case Class::bits:
            return have.kind != Class::packed || form.is_template;
        case Class::real:
            return have.kind == Class::bits || (have.kind == Class::real && !may_be_wider);
        case Class::packed:
            return have.kind == Class::bits || have.kind == Class::packed;
        default:
            return is_integer(have.kind) || (have.kind == Class::packed && form.is_template);
    }
}

bool number_fits(const Operand& operand, Limit limit) {
    const std::uint64_t bits = operand.bits;
    switch (limit) {
        case Limit::none:
            return true;
        case Limit::byte:
            return bits <= 255;
        case Limit::barrier:
        case Limit::event:
            return bits <= 15;
        case Limit::threads:
            return bits % 32 == 0 && static_cast<std::int64_t>(bits) >= 0;
        case Limit::mask:
            return bits <= 0xffff;
        case Limit::registers:
            return bits >= 24 && bits <= 256 && bits % 8 == 0;
        case Limit::line:
            return bits == 128;
        case Limit::zero:
            return bits == 0;
        case Limit::ca:
            return bits == 4 || bits == 8 || bits == 16;
        case Limit::cg:
            return bits == 16;
        case Limit::fraction:
            return true;
    }
    return true;
}

class Checker {
public:
    Checker(const Function& function, const Instruction& instruction, const Reading& reading,
            const SymbolSpaces& symbols)
        : function_(function),
          symbols_(symbols),
          given_(function.operands.data() + instruction.first, instruction.count),
          reading_(reading) {}

    /// What is wrong; empty where all fits.
    std::string run() {
        const auto& forms = reading_.form->operands;
        std::size_t needed = 0;
        for (const OperandForm& form : forms) {
            if (form.want == Want::anything || form.want == Want::call) return {};
            if (!form.is_optional && (form.want != Want::hint || reading_.has_hint)) ++needed;
        }
        if (given_.size() < needed) return "It has too few operands.";
        std::size_t spare = given_.size() - needed;
        std::size_t at = 0;
        for (const OperandForm& form : forms) {
            if (form.want == Want::hint && !reading_.has_hint) continue;
            if (form.is_optional && spare == 0) continue;
            if (form.is_optional) --spare;
            if (!fits(form, given_[at])) {
                return "Its operand " + std::to_string(at + 1) +
                       " isn't of the kind or of the type that it takes there.";
            }
            ++at;
        }
        return at == given_.size() ? std::string() : "It has too many operands.";
    }

private:
    [[nodiscard]] Type type_of(const OperandForm& form) const {
        if (form.of_type < 0) return form.type;
        Type type = reading_.types[static_cast<std::size_t>(form.of_type)];
        type.bytes = static_cast<std::uint8_t>(type.bytes * form.times);
        return type;
    }

    bool fits(const OperandForm& form, const Operand& operand) {
        switch (form.want) {
            case Want::address:
                return address_fits(operand, space_++);
            case Want::number:
                return operand.kind == OperandKind::integer && !operand.address &&
                       number_fits(operand, form.limit);
            case Want::label:
                return operand.kind == OperandKind::label || operand.kind == OperandKind::symbol;
            case Want::sink:
                return operand.kind == OperandKind::sink;
            case Want::move:
                return !operand.address;
            case Want::vector:
                if (operand.kind == OperandKind::sink) return form.may_discard;
                if (reading_.vector == 1 && operand.kind != OperandKind::list)
                    return value_fits(form, operand, type_of(form), false);
                return list_fits(form, operand, reading_.vector);
            case Want::list:
                return list_fits(form, operand, form.count);
            default:
                return value_fits(form, operand, type_of(form), false);
        }
    }

    bool list_fits(const OperandForm& form, const Operand& operand, std::uint32_t count) {
        if (operand.kind != OperandKind::list || operand.count != count) return false;
        const Type type = type_of(form);
        bool any = false;
        for (std::uint32_t k = 0; k < operand.count; ++k) {
            const Operand& one = function_.elements[operand.index + k];
            if (one.kind == OperandKind::list) return false;
            any |= one.kind != OperandKind::sink;
            if (!value_fits(form, one, type, true)) return false;
        }
        return any;
    }

    bool value_fits(const OperandForm& form, const Operand& operand, Type type, bool in_list) {
        if (operand.address) return false;
        if (operand.pair != -1 && !form.has_second) return false;
        if (form.needs_second && operand.pair < 0) return false;
        if (operand.pair >= 0 &&
            function_.registers[static_cast<std::size_t>(operand.pair)].bytes != 0) {
            return false;
        }
        if (operand.negated && (form.is_destination || type.kind != Class::predicate)) return false;
        switch (operand.kind) {
            case OperandKind::reg:
                return register_fits(function_.registers[operand.index], type, form);
            case OperandKind::sink:
                return form.is_destination && (form.may_discard || in_list);
            default:
                return !form.is_destination && constant_fits(form, operand, type);
        }
    }

    bool constant_fits(const OperandForm& form, const Operand& operand, Type type) {
        const bool real = type.kind == Class::real;
        switch (operand.kind) {
            case OperandKind::integer:
                return !real && type.kind != Class::packed && number_fits(operand, form.limit);
            case OperandKind::real32:
                return (real || (type.kind == Class::bits && type.bytes == 4)) && type.bytes >= 4;
            case OperandKind::real64:
                return (real || (type.kind == Class::bits && type.bytes == 8)) && type.bytes >= 4;
            case OperandKind::special:
                return form.is_wider;  // Only mov and cvt take them.
            case OperandKind::symbol:
            case OperandKind::variable:
                return !real && type.kind != Class::predicate;
            default:
                return false;
        }
    }

    bool address_fits(const Operand& operand, std::size_t index) {
        if (!operand.address) return false;
        switch (operand.kind) {
            case OperandKind::reg: {
                const Register& base = function_.registers[operand.index];
                return base.bytes != 0 && base.bytes <= 8 && is_integer(base.kind);
            }
            case OperandKind::integer:
                return space_named_at(index) == "local";
            case OperandKind::variable:
                return space_fits(function_.variables[operand.index].space, space_named_at(index));
            case OperandKind::symbol: {
                const auto found = symbols_.find(operand.name);
                return found != symbols_.end() && space_fits(found->second, space_named_at(index));
            }
            default:
                return operand.kind != OperandKind::label;
        }
    }

    [[nodiscard]] std::string_view space_named_at(std::size_t index) const {
        return index < reading_.spaces.size() ? reading_.spaces[index] : std::string_view{};
    }

    /// Whether a variable may be read through an instruction of a space; without one its address is
    /// generic.
    static bool space_fits(Space have, std::string_view named) {
        switch (have) {
            case Space::global:
                return named.empty() || named == "global";
            case Space::constant:
                return named == "const";
            case Space::shared:
                return named.empty() || named.starts_with("shared");
            case Space::local:
                return named.empty() || named == "local";
            case Space::param:
                return named.starts_with("param");
            default:
                return false;
        }
    }

    const Function& function_;
    const SymbolSpaces& symbols_;
    std::span<const Operand> given_;
    const Reading& reading_;
    std::size_t space_ = 0;
};

}  // namespace

std::string operand_error(const Function& function, const Instruction& instruction,
                          const Opcode& opcode, const SymbolSpaces& symbols) {
    std::string first;
    for (const Reading& reading : opcode.readings) {
        std::string wrong = Checker(function, instruction, reading, symbols).run();
        if (wrong.empty()) return {};
        if (first.empty()) first = std::move(wrong);
    }
    return first;
}

}  // namespace lode::emulator::ptx
