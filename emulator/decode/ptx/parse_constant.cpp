// Constant expressions: C's operators over 64-bit integers and doubles.
#include "emulator/decode/ptx/parser.hpp"

#include <bit>

namespace lode::emulator::ptx {

namespace {

double real_of(const Constant& value) {
    if (value.kind == OperandKind::real64) return std::bit_cast<double>(value.bits);
    return value.is_unsigned ? static_cast<double>(value.bits)
                             : static_cast<double>(static_cast<std::int64_t>(value.bits));
}

Constant integer(std::uint64_t bits, bool is_unsigned) {
    return {OperandKind::integer, is_unsigned, bits};
}
Constant real(double value) {
    return {OperandKind::real64, false, std::bit_cast<std::uint64_t>(value)};
}

/// The operators of each precedence level, lowest first; longer operators precede their prefixes.
struct Level {
    std::string_view operators[4];
};
constexpr Level levels[] = {{{"||"}},
                            {{"&&"}},
                            {{"|"}},
                            {{"^"}},
                            {{"&"}},
                            {{"==", "!="}},
                            {{"<=", ">=", "<", ">"}},
                            {{"<<", ">>"}},
                            {{"+", "-"}},
                            {{"*", "/", "%"}}};

}  // namespace

/// Accepts an operator of a level, unless it is part of a longer one.
std::string_view Parser::accept_operator(std::size_t level) {
    const std::string_view rest = lexer_.rest_of_marks();
    for (const std::string_view name : levels[level].operators) {
        if (name.empty() || !rest.starts_with(name)) continue;
        const char next = rest.size() > name.size() ? rest[name.size()] : ' ';
        const bool is_longer =
            name.size() == 1 &&
            ((next == name[0] && std::string_view("|&<>").find(next) != std::string_view::npos) ||
             (next == '=' && (name == "<" || name == ">")));
        if (is_longer) continue;
        for (std::size_t k = 0; k < name.size(); ++k)
            lexer_.next();
        return name;
    }
    return {};
}

Constant Parser::constant_expression(int depth) {
    const Constant condition = binary_constant(0, depth);
    if (!lexer_.is('?')) return condition;
    lexer_.next();
    const Constant yes = constant_expression(depth + 1);
    expect(':');
    const Constant no = constant_expression(depth + 1);
    return condition.bits != 0 ? yes : no;
}

Constant Parser::binary_constant(std::size_t level, int depth) {
    constexpr int deepest = 100;
    if (depth > deepest) {
        fail("The constant expression is nested deeper than " + std::to_string(deepest) +
             " levels.");
        return {};
    }
    if (level == std::size(levels)) return unary_constant(depth);
    Constant left = binary_constant(level + 1, depth);
    for (;;) {
        const std::string_view name = accept_operator(level);
        if (name.empty()) return left;
        left = combined(name, left, binary_constant(level + 1, depth));
    }
}

Constant Parser::combined(std::string_view name, const Constant& a, const Constant& b) {
    if (a.kind == OperandKind::real32 || b.kind == OperandKind::real32) {
        fail("A hexadecimal floating-point constant can't be part of an expression.");
        return a;
    }
    const char c = name[0];
    const bool is_double = name.size() == 2;
    if (a.kind != b.kind) {
        fail("A real number and an integer can't be parts of one expression.");
        return a;
    }
    if (a.kind == OperandKind::real64) {
        const double x = real_of(a);
        const double y = real_of(b);
        if (name == "+") return real(x + y);
        if (name == "-") return real(x - y);
        if (name == "*") return real(x * y);
        if (name == "/") return real(x / y);
        if (name == "<") return integer(x < y, false);
        if (name == "<=") return integer(x <= y, false);
        if (name == ">") return integer(x > y, false);
        if (name == ">=") return integer(x >= y, false);
        if (name == "==") return integer(x == y, false);
        if (name == "!=") return integer(x != y, false);
        fail("The operator '" + std::string(name) + "' requires integers.");
        return a;
    }
    const bool u = a.is_unsigned || b.is_unsigned;
    const std::uint64_t x = a.bits;
    const std::uint64_t y = b.bits;
    const auto sx = static_cast<std::int64_t>(x);
    const auto sy = static_cast<std::int64_t>(y);
    switch (c) {
        case '+':
            return integer(x + y, u);
        case '-':
            return integer(x - y, u);
        case '*':
            return integer(x * y, u);
        case '/':
        case '%': {
            if (y == 0) {
                fail("The constant expression divides by zero.");
                return a;
            }
            if (!u && sy == -1) return integer(c == '/' ? 0 - x : 0, false);
            if (u) return integer(c == '/' ? x / y : x % y, true);
            return integer(static_cast<std::uint64_t>(c == '/' ? sx / sy : sx % sy), false);
        }
        case '^':
            return integer(x ^ y, u);
        case '&':
            return is_double ? integer(x != 0 && y != 0, false) : integer(x & y, u);
        case '|':
            return is_double ? integer(x != 0 || y != 0, false) : integer(x | y, u);
        case '=':
            return integer(x == y, false);
        case '!':
            return integer(x != y, false);
        case '<':
            if (name == "<<") return integer(y > 63 ? 0 : x << y, a.is_unsigned);
            if (name == "<=") return integer(u ? x <= y : sx <= sy, false);
            return integer(u ? x < y : sx < sy, false);
        default:
            if (name == ">>") {
                if (a.is_unsigned) return integer(y > 63 ? 0 : x >> y, true);
                return integer(static_cast<std::uint64_t>(sx >> (y > 63 ? 63 : y)), false);
            }
            if (name == ">=") return integer(u ? x >= y : sx >= sy, false);
            return integer(u ? x > y : sx > sy, false);
    }
}

Constant Parser::unary_constant(int depth) {
    char sign = 0;
    for (const char mark : {'-', '+', '!', '~'}) {
        if (lexer_.is(mark)) sign = mark;
    }
    if (sign != 0) {
        lexer_.next();
        Constant value = binary_constant(std::size(levels), depth + 1);
        if (value.kind == OperandKind::real32) {
            fail("The operator '" + std::string(1, sign) +
                 "' can't be applied to a hexadecimal floating-point constant.");
        } else if (sign == '-') {
            value = value.kind == OperandKind::real64 ? real(-real_of(value))
                                                      : integer(0 - value.bits, value.is_unsigned);
        } else if (sign == '!') {
            value = integer(value.bits == 0, false);
        } else if (sign == '~') {
            if (value.kind != OperandKind::integer) fail("The operator '~' requires integers.");
            value.bits = ~value.bits;
        }
        return value;
    }
    if (accept('(')) {
        const bool to_unsigned = lexer_.token == Token::directive && lexer_.text == ".u64";
        if (to_unsigned || (lexer_.token == Token::directive && lexer_.text == ".s64")) {
            lexer_.next();
            expect(')');
            Constant value = binary_constant(std::size(levels), depth + 1);
            if (value.kind != OperandKind::integer) fail("A cast requires an integer.");
            value.is_unsigned = to_unsigned;
            return value;
        }
        const Constant value = constant_expression(depth + 1);
        expect(')');
        return value;
    }
    return number_constant();
}

Constant Parser::number_constant() {
    Constant made;
    made.bits = lexer_.bits;
    switch (lexer_.token) {
        case Token::integer:
            made.is_unsigned = lexer_.is_unsigned || made.bits >> 63 != 0;
            break;
        case Token::real32:
            made.kind = OperandKind::real32;
            break;
        case Token::real64:
            made.kind = OperandKind::real64;
            break;
        case Token::word:
            if (lexer_.text == "WARP_SZ") {
                made.bits = 32;
                break;
            }
            [[fallthrough]];
        default:
            fail_expecting("an operand");
            return made;
    }
    if (lexer_.overflows) {
        const bool is_bare = lexer_.text == "0x" || lexer_.text == "0b";
        fail("The number " + std::string(lexer_.text) +
             (is_bare ? " has no digits." : " is too large."));
    }
    lexer_.next();
    return made;
}

}  // namespace lode::emulator::ptx
