// Initial values of variables.
#include "emulator/decode/ptx/parser.hpp"

#include <bit>

namespace lode::emulator::ptx {

// An initialiser has braces for each extent and for a vector, and none for a single value. As in
// ptxas, values are stored consecutively: a list that is too short isn't padded.
void Parser::initialiser(Variable& variable, std::span<const std::uint64_t> extents) {
    const bool is_list = !extents.empty() || variable.lanes > 1;
    if (!is_list) return initial_value(variable);
    const std::uint32_t line = lexer_.line;
    const std::uint64_t count = initial_list(variable, extents);
    if (!extents.empty() && extents[0] == 0 && count == 0)
        fail("An array without a length needs initial values.", line);
}

std::uint64_t Parser::initial_list(Variable& variable, std::span<const std::uint64_t> extents) {
    const Nesting level(*this);
    const std::uint32_t line = lexer_.line;
    const std::uint64_t limit = extents.empty() ? variable.lanes : extents[0];
    expect('{');
    std::uint64_t count = 0;
    if (!lexer_.is('}')) {
        do {
            if (extents.empty()) {
                initial_value(variable);
            } else {
                initialiser(variable, extents.subspan(1));
            }
            ++count;
        } while (accept(','));
    }
    expect('}');
    const bool is_open = !extents.empty() && limit == 0;
    if (count > limit && !is_open)
        fail("'" + std::string(variable.name) + "' has more initial values than elements.", line);
    if (extents.empty() && count != limit) {
        fail("The vector '" + std::string(variable.name) + "' needs " + std::to_string(limit) +
                 " initial values.",
             line);
    }
    return count;
}

// A number, a symbol, generic(symbol), symbol+4, or 0xFF00(symbol), which is a byte of an address.
void Parser::initial_value(Variable& variable) {
    const auto mismatch = [&] {
        fail("The initial value of '" + std::string(variable.name) + "' has the wrong type.");
    };
    if (lexer_.token == Token::word && lexer_.text != "WARP_SZ") {
        const Initial value = initial_symbol();
        check_initial_symbol(variable, value, false);
        variable.initial.push_back(value);
        return;
    }
    Lexer ahead = lexer_;
    ahead.next();
    if (lexer_.token == Token::integer && ahead.is('(')) {
        const std::uint64_t mask = expect_count();
        const int shift = mask == 0 ? 0 : std::countr_zero(mask);
        if (mask >> shift != 0xff || shift % 8 != 0)
            fail("The mask " + std::to_string(mask) + " doesn't select a single byte.");
        expect('(');
        Initial value = initial_symbol();
        expect(')');
        value.shift = static_cast<std::uint8_t>(shift);
        value.is_byte = true;
        check_initial_symbol(variable, value, true);
        variable.initial.push_back(value);
        return;
    }
    const Constant number = constant_expression();
    const Type type = variable.type;
    const bool is_integer = number.kind == OperandKind::integer;
    const bool is_bits = type.kind == Class::bits;
    const bool fits = is_bits || (is_integer ? type.kind == Class::unsigned_integer ||
                                                   type.kind == Class::signed_integer
                                             : type.kind == Class::real && type.bytes >= 4);
    if (!fits) return mismatch();
    Initial value;
    value.bits = number.bits;
    if (number.kind == OperandKind::real64 && type.bytes == 4)
        value.bits =
            std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(number.bits)));
    variable.initial.push_back(value);
}

// symbol [+ 4], generic(symbol) [+ 4]
Initial Parser::initial_symbol() {
    Initial value;
    value.symbol = expect_word();
    if (value.symbol == "generic" && accept('(')) {
        value.generic = true;
        value.symbol = expect_word();
        expect(')');
    }
    if (accept('+')) {
        const Constant offset = constant_expression();
        if (offset.kind != OperandKind::integer) fail("Expected an integer after '+'.");
        value.bits = offset.bits;
        value.has_offset = true;
    }
    return value;
}

void Parser::check_initial_symbol(const Variable& variable, const Initial& value, bool is_masked) {
    if (lexer_.at_end() && !error_.message.empty()) return;
    const std::string name(value.symbol);
    const auto found = symbols_.find(value.symbol);
    if (found == symbols_.end())
        return fail("'" + name + "' isn't declared before its address is used.");
    const bool is_whole = variable.type.bytes >= 4;
    const bool is_byte = is_masked && variable.type.bytes != 2;
    if (variable.type.kind != Class::unsigned_integer || !(is_whole || is_byte))
        return fail("An address doesn't fit the type of '" + std::string(variable.name) + "'.");
    if (found->second.is_function) {
        if (value.generic || value.has_offset)
            return fail("'" + name +
                        "' is a function: only its plain address can be an initial value.");
        const Function& function = module_.functions[found->second.index];
        if (!function.entry && function.linkage == Linkage::external)
            return fail("The function '" + name + "' isn't defined, so it has no address.");
        return;
    }
    const Space space = module_.variables[found->second.index].space;
    if (space != Space::global && space != Space::constant)
        fail("The address of '" + name +
             "' can't be an initial value: it is neither in .global nor in .const space.");
}

}  // namespace lode::emulator::ptx
