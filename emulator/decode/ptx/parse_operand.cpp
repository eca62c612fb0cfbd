// Operands: registers, numbers, names, lists and addresses.
#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

Operand Parser::operand() {
    const Nesting level(*this);
    if (lexer_.is('{') && in_call_) fail_expecting("a name");
    if (accept('{')) {
        Operand made = list('}');
        if (accept('|')) made.pair = second_of_pair(false);
        return made;
    }
    if (in_call_ && accept('(')) return list(')');
    if (accept('[')) return bracketed();
    Operand made;
    // "!" negates a predicate, and "-" a source of vmad; before a number, both are operators.
    if ((lexer_.is('!') || lexer_.is('-')) && lexer_.word_follows()) {
        lexer_.next();
        if (lexer_.text == "WARP_SZ") {
            fail_expecting("a register");
            return made;
        }
        made = word_operand();
        made.negated = true;
        return made;
    }
    if (lexer_.token != Token::word || lexer_.text == "WARP_SZ") return constant_operand();
    made = word_operand();
    if (accept('|')) {
        made.pair = second_of_pair(made.kind != OperandKind::sink);
    } else if (lexer_.is('+')) {
        plus_constant(made);
    } else if (made.kind == OperandKind::symbol || made.kind == OperandKind::variable) {
        if (accept('[')) element(made);
    }
    return made;
}

// After a bar: a register, or "_" if allowed.
std::int32_t Parser::second_of_pair(bool may_be_sink) {
    std::uint32_t index = 0;
    const std::string_view name = expect_word();
    if (name == "_" && may_be_sink) return -2;
    if (!find_register(name, index)) fail("'" + std::string(name) + "' isn't a register.");
    return static_cast<std::int32_t>(index);
}

Operand Parser::constant_operand() {
    const Constant value = constant_expression();
    Operand made;
    made.kind = value.kind;
    made.bits = value.bits;
    return made;
}

// %r1+4, name+4: as in ptxas, only a plus and a constant expression may follow.
void Parser::plus_constant(Operand& operand) {
    expect('+');
    const Constant value = constant_expression();
    if (value.kind != OperandKind::integer) fail("Expected an integer after '+'.");
    operand.bits += value.bits;
    if (operand.kind == OperandKind::reg) {
        operand.kind = OperandKind::sum;
    } else if (operand.kind != OperandKind::symbol && operand.kind != OperandKind::variable) {
        fail("Nothing can be added to '" + std::string(operand.name) + "'.");
    }
}

// name[3], name[%r], name[%r+3]: the address of an element, in place of brackets. As in ptxas, the
// elements of vectors count singly, and the offset in bytes has 32 bits, zero-extended.
void Parser::element(Operand& operand) {
    const Variable* const variable = operand.kind == OperandKind::variable
                                         ? &function_->variables[operand.index]
                                         : global_named(operand.name);
    if (variable == nullptr || !variable->is_array)
        return fail("'" + std::string(operand.name) + "' isn't an array.");
    operand.is_element = true;
    if (lexer_.token == Token::word && lexer_.text != "WARP_SZ") {
        scaled_element(operand, variable->type.bytes);
    } else {
        const Constant index = constant_expression();
        if (index.kind != OperandKind::integer) fail("Expected an integer as the index.");
        operand.bits += static_cast<std::uint32_t>(index.bits * variable->type.bytes);
    }
    expect(']');
}

void Parser::scaled_element(Operand& operand, std::uint8_t bytes) {
    Operand index = word_operand();
    if (index.kind != OperandKind::reg || !index.selector.empty())
        return fail("'" + std::string(index.name) + "' can't be an index.");
    const Register& have = function_->registers[index.index];
    if (have.bytes == 0 || have.bytes > 8 || !is_integer(have.kind))
        return fail("The index '" + std::string(index.name) + "' isn't an integer.");
    operand.scale = bytes;
    operand.count = index.index;
    if (lexer_.is('+')) plus_constant(index);
    operand.bits = index.bits;
}

/// A variable of the module, by its own name or by the module's name for a variable of a block.
const Variable* Parser::global_named(std::string_view name) const {
    const auto found = symbols_.find(name);
    if (found != symbols_.end())
        return found->second.is_function ? nullptr : &module_.variables[found->second.index];
    const auto of_block = block_globals_.find(name);
    return of_block == block_globals_.end() ? nullptr : &module_.variables[of_block->second];
}

Operand Parser::word_operand() {
    Operand made;
    const std::string_view plain = lexer_.text;
    lexer_.extend_word();
    const std::string_view name = lexer_.text;
    lexer_.next();
    made.name = name;
    std::uint32_t index = 0;
    if (name.size() > plain.size() && find_register(plain, index)) return element_of(name);
    if (name == "_") {
        made.kind = OperandKind::sink;
        return made;
    }
    const std::optional<Named> found = find(name);
    if (!found) {
        made.kind = name.front() == '%' ? OperandKind::special : OperandKind::symbol;
        return made;
    }
    made.index = found->index;
    switch (found->kind) {
        case Named::Kind::reg: {
            const std::uint32_t lanes = function_->registers[made.index].lanes;
            if (lanes > 1) return vector_operand(made.index, lanes);
            made.kind = OperandKind::reg;
            break;
        }
        case Named::Kind::variable:
            made.kind = OperandKind::variable;
            break;
        case Named::Kind::table:
            made.kind = OperandKind::table;
            break;
        default:
            made.kind = OperandKind::symbol;
            made.name = module_.variables[made.index].name;
            break;
    }
    return made;
}

// v.x, or the bytes and halves of a register in video instructions: r.b0, r.h1.
Operand Parser::element_of(std::string_view name) {
    const std::size_t dot = name.find('.');
    const std::string_view selector = name.substr(dot + 1);
    Operand made;
    made.name = name;
    made.kind = OperandKind::reg;
    find_register(name.substr(0, dot), made.index);
    const std::uint32_t lanes = function_->registers[made.index].lanes;
    constexpr std::string_view letters[] = {"xyzw", "rgba"};
    for (const std::string_view names : letters) {
        const std::size_t at = selector.size() == 1 ? names.find(selector[0]) : names.npos;
        if (at == names.npos || lanes == 1) continue;
        if (at >= lanes) break;
        made.index += static_cast<std::uint32_t>(at);
        return made;
    }
    const bool is_part = lanes == 1 && selector.size() >= 2 &&
                         (selector[0] == 'b' || selector[0] == 'h') &&
                         selector.find_first_not_of("01234567", 1) == selector.npos;
    if (!is_part) fail("The element '" + std::string(name) + "' doesn't exist.");
    made.selector = selector;
    return made;
}

Operand Parser::vector_operand(std::uint32_t first, std::uint32_t lanes) {
    Operand made;
    made.kind = OperandKind::list;
    made.index = static_cast<std::uint32_t>(function_->elements.size());
    made.count = lanes;
    for (std::uint32_t k = 0; k < lanes; ++k) {
        Operand one;
        one.kind = OperandKind::reg;
        one.index = first + k;
        function_->elements.push_back(one);
    }
    return made;
}

Operand Parser::list(char close) {
    std::vector<Operand> items;
    if (!lexer_.is(close)) {
        do {
            items.push_back(operand());
        } while (accept(','));
    }
    expect(close);
    return list_of(items);
}

Operand Parser::list_of(const std::vector<Operand>& items) {
    Operand made;
    made.kind = OperandKind::list;
    made.index = static_cast<std::uint32_t>(function_->elements.size());
    made.count = static_cast<std::uint32_t>(items.size());
    for (const Operand& item : items) {
        if (item.kind == OperandKind::symbol) {
            scopes_.back().pending_elements.push_back(
                static_cast<std::uint32_t>(function_->elements.size()));
        }
        function_->elements.push_back(item);
    }
    return made;
}

// [base], [base+4], [base+-4], [4096]; addresses of several parts (textures, tensors) are lists.
Operand Parser::bracketed() {
    Operand made = operand();
    if (made.is_element) fail("An element's address has no brackets around it.");
    if (made.kind == OperandKind::sum) made.kind = OperandKind::reg;
    if (lexer_.is(',')) {
        std::vector<Operand> parts{made};
        while (accept(','))
            parts.push_back(operand());
        made = list_of(parts);
    }
    made.address = true;
    expect(']');
    return made;
}

}  // namespace lode::emulator::ptx
