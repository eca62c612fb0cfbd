// Variables and parameters: types, arrays, initial values.
#include <algorithm>
#include <bit>

#include <emulator/ptx/parser.hpp>

namespace lode::emulator::ptx {

// Everything behind the space: attributes, type, and one or more declarators.
void Parser::variable_list(Space space, bool is_extern, bool is_weak, std::vector<Variable>& into) {
    Variable common = variable_type(space);
    common.is_extern = is_extern;
    common.is_weak = is_weak;
    do {
        Variable variable = common;
        declarator(variable);
        into.push_back(std::move(variable));
    } while (accept(','));
}

Variable Parser::variable_type(Space space) {
    Variable variable;
    variable.space = space;
    bool typed = false;
    while (lexer_.token == Token::directive) {
        const std::string_view word = lexer_.text;
        lexer_.next();
        if (word == ".align") {
            // Behind .ptr it is the alignment of what is pointed to.
            const std::uint64_t align = expect_count();
            if (!std::has_single_bit(align))
                fail("The alignment " + std::to_string(align) + " isn't a power of two.");
            if (align > (1u << 31))
                fail("The alignment " + std::to_string(align) + " is larger than 2147483648.");
            if (!variable.pointer) variable.align = static_cast<std::uint32_t>(align);
        } else if (word == ".ptr") {
            variable.pointer = true;
        } else if (word == ".attribute") {
            skip_parentheses();
        } else if (word == ".v2" || word == ".v4" || word == ".v8") {
            variable.lanes = static_cast<std::uint8_t>(word[2] - '0');
        } else if (const Type type = type_named(word.substr(1)); type.kind != Class::other) {
            variable.type = type;
            typed = true;
        } else if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
            variable.type = {Class::other, 8};
            typed = true;
        } else if (!variable.pointer || space_named(word) == Space::none) {
            fail("The directive '" + std::string(word) + "' isn't known in a declaration.");
        }
    }
    if (!typed) fail_expecting("A type");
    const std::uint32_t natural = std::max<std::uint32_t>(1, variable.type.bytes);
    variable.align = std::max(variable.align, natural);
    return variable;
}

// name, its extents, its initial value.
void Parser::declarator(Variable& variable) {
    variable.line = lexer_.line;
    variable.name = expect_word();
    std::uint64_t elements = variable.lanes;
    bool is_array = false;
    while (accept('[')) {
        const std::uint64_t count = lexer_.is(']') ? 0 : expect_count();
        expect(']');
        if (__builtin_mul_overflow(elements, count, &elements)) fail("The array is too large.");
        is_array = true;
    }
    if (accept('=')) {
        if (variable.space != Space::global && variable.space != Space::constant)
            fail("'" + std::string(variable.name) + "' can't have an initial value.");
        initialiser(variable);
        if (is_array && elements == 0) elements = variable.initial.size();
        if (variable.initial.size() > elements)
            fail("'" + std::string(variable.name) + "' has more initial values than elements.");
    }
    if (__builtin_mul_overflow(elements, std::uint64_t{variable.type.bytes}, &variable.bytes))
        fail("The array is too large.");
    if (is_array && elements == 0 && !variable.is_extern && variable.space != Space::param)
        fail("'" + std::string(variable.name) + "' is an array of no length.", variable.line);
    if (unsigned{variable.lanes} * variable.type.bytes > 16)
        fail("The vector '" + std::string(variable.name) + "' has more than 128 bits.",
             variable.line);
}

void Parser::initialiser(Variable& variable) {
    if (!accept('{')) return initial_value(variable);
    const Nesting level(*this);
    do {
        initialiser(variable);
    } while (accept(','));
    expect('}');
}

// A number, a symbol, generic(symbol), symbol+4, or 0xFF00(symbol): a byte of an address.
void Parser::initial_value(Variable& variable) {
    Initial value;
    const bool minus = accept('-');
    if (lexer_.token == Token::integer || lexer_.token == Token::real32 ||
        lexer_.token == Token::real64) {
        value.bits = minus ? 0 - lexer_.bits : lexer_.bits;
        if (minus && lexer_.token == Token::real64) value.bits = lexer_.bits ^ (1ull << 63);
        lexer_.next();
        if (accept('(')) {
            std::uint64_t mask = value.bits;
            value.bits = 0;
            while (mask != 0 && (mask & 0xff) == 0) {
                mask >>= 8;
                value.shift = static_cast<std::uint8_t>(value.shift + 8);
            }
            value.symbol = expect_word();
            if (value.symbol == "generic" && accept('(')) {
                value.generic = true;
                value.symbol = expect_word();
                expect(')');
            }
            if (accept('+')) value.bits = expect_integer();
            expect(')');
        }
    } else {
        value.symbol = expect_word();
        if (value.symbol == "generic" && accept('(')) {
            value.generic = true;
            value.symbol = expect_word();
            if (accept('+')) value.bits = expect_integer();
            expect(')');
        }
        if (accept('+')) value.bits += expect_integer();
        if (lexer_.is('-')) value.bits += expect_integer();
    }
    variable.initial.push_back(value);
}

}  // namespace lode::emulator::ptx
