#include <algorithm>

#include <emulator/ptx/parser.hpp>

namespace lode::emulator::ptx {

void Parser::body(Function& function) {
    function_ = &function;
    function.defined = true;
    location_ = 0;
    open_scope();
    for (const auto* group : {&function.returns, &function.parameters}) {
        for (const Variable& variable : *group)
            declare(variable);
    }
    if (!lexer_.is('{')) fail_expecting("A body");
    block();
    close_scope();
    function_ = nullptr;
}

// A loop and not a recursion: how deep blocks are nested is the text's choice.
void Parser::block() {
    constexpr std::size_t deepest = 1000;
    const std::size_t outside = scopes_.size();
    do {
        if (accept('{')) {
            open_scope();
            if (scopes_.size() - outside > deepest)
                fail("Blocks are nested more than " + std::to_string(deepest) + " deep.");
        } else if (accept('}')) {
            close_scope();
        } else if (lexer_.at_end()) {
            fail_expecting("'}'");
            scopes_.resize(outside);
        } else {
            statement();
        }
    } while (scopes_.size() > outside);
}

void Parser::close_scope() {
    Scope& scope = scopes_.back();
    const bool last = scopes_.size() == 1;
    const auto settle = [&](std::vector<Operand>& pool, const std::vector<std::uint32_t>& pending,
                            std::vector<std::uint32_t>* outer) {
        for (const std::uint32_t index : pending) {
            const auto label = scope.labels.find(pool[index].name);
            if (label != scope.labels.end()) {
                pool[index].kind = OperandKind::label;
                pool[index].index = label->second;
            } else if (outer != nullptr) {
                outer->push_back(index);
            }
        }
    };
    Scope* const outer = last ? nullptr : &scopes_[scopes_.size() - 2];
    settle(function_->operands, scope.pending, outer != nullptr ? &outer->pending : nullptr);
    settle(function_->elements, scope.pending_elements,
           outer != nullptr ? &outer->pending_elements : nullptr);
    for (const auto& [name, labels] : scope.targets) {
        std::vector<std::uint32_t>& targets = function_->branch_targets[name];
        for (const std::string_view label : labels) {
            const auto found = scope.labels.find(label);
            if (found == scope.labels.end()) {
                fail("The branch target '" + std::string(label) + "' isn't defined.");
                break;
            }
            targets.push_back(found->second);
        }
    }
    scopes_.pop_back();
}

void Parser::statement() {
    if (accept(';')) return;
    if (lexer_.token == Token::directive) {
        if (accept_directive(".reg")) return declare_registers();
        if (accept_directive(".loc")) return location();
        if (accept_directive(".local")) return declare_variables(Space::local);
        if (accept_directive(".shared")) return declare_variables(Space::shared);
        if (accept_directive(".param")) return declare_variables(Space::param);
        if (accept_directive(".pragma")) return skip_statement();
        if (accept_directive(".file")) return file();
        return fail("The directive '" + std::string(lexer_.text) + "' isn't known in a body.");
    }
    if (lexer_.is('@')) return instruction();
    if (lexer_.token != Token::word) {
        return fail_expecting("A statement");
    }
    instruction();
}

void Parser::declare_registers() {
    Type type;
    std::uint8_t lanes = 1;
    while (lexer_.token == Token::directive) {
        if (lexer_.text == ".v2" || lexer_.text == ".v4")
            lanes = static_cast<std::uint8_t>(lexer_.text[2] - '0');
        const Type named = type_named(lexer_.text.substr(1));
        if (named.kind != Class::other) type = named;
        lexer_.next();
    }
    if (type.kind == Class::other) return fail("A register needs a type.");
    do {
        const std::string_view name = expect_word();
        if (accept('<')) {
            const std::uint64_t count = expect_count();
            expect('>');
            if (count > UINT32_MAX) {
                return fail("A range of " + std::to_string(count) +
                            " registers is too large; the limit is " + std::to_string(UINT32_MAX) +
                            ".");
            }
            const RegisterRange range{count, Register{type.bytes, type.kind, lanes}, {}};
            if (!scopes_.back().ranges.try_emplace(name, range).second) return fail_twice(name);
            continue;
        }
        const auto index = static_cast<std::uint32_t>(function_->registers.size());
        if (!scopes_.back().registers.try_emplace(name, index).second) return fail_twice(name);
        function_->registers.resize(index + lanes, Register{type.bytes, type.kind, lanes});
    } while (accept(','));
    expect(';');
}

void Parser::declare_variables(Space space) {
    std::vector<Variable> made;
    variable_list(space, false, false, made);
    for (Variable& variable : made)
        declare(std::move(variable));
    expect(';');
}

void Parser::declare(Variable variable) {
    const auto index = static_cast<std::uint32_t>(function_->variables.size());
    if (!scopes_.back().variables.try_emplace(variable.name, index).second)
        fail_twice(variable.name, variable.line);
    function_->variables.push_back(std::move(variable));
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
void Parser::location() {
    Location made;
    made.file = static_cast<std::uint32_t>(expect_integer());
    made.line = static_cast<std::uint32_t>(expect_integer());
    made.column = static_cast<std::uint32_t>(expect_integer());
    auto& all = function_->locations;
    while (accept(',')) {
        const std::string_view what = expect_word();
        if (what == "inlined_at") {
            const auto file = static_cast<std::uint32_t>(expect_integer());
            const auto line = static_cast<std::uint32_t>(expect_integer());
            const auto column = static_cast<std::uint32_t>(expect_integer());
            const std::size_t oldest = all.size() > 32 ? all.size() - 32 : 1;
            for (std::size_t i = all.size(); i-- > oldest;) {
                if (all[i].file == file && all[i].line == line && all[i].column == column) {
                    made.parent = static_cast<std::uint32_t>(i);
                    break;
                }
            }
        } else {
            expect_word();
            if (accept('+')) expect_integer();
        }
    }
    location_ = static_cast<std::uint32_t>(all.size());
    all.push_back(made);
}

void Parser::branch_target_list(std::string_view name) {
    std::vector<std::string_view>& labels = scopes_.back().targets[name];
    do {
        labels.push_back(expect_word());
    } while (accept(','));
    expect(';');
}

void Parser::instruction() {
    Instruction made;
    made.line = lexer_.line;
    if (accept('@')) {
        made.guard_negated = accept('!');
        std::uint32_t index = 0;
        const std::string_view name = expect_word();
        if (!find_register(name, index)) {
            return fail("The guard '" + std::string(name) + "' isn't a register.");
        }
        if (function_->registers[index].bytes != 0) {
            return fail("The guard '" + std::string(name) + "' isn't a predicate.");
        }
        made.guard = static_cast<std::int32_t>(index);
        made.line = lexer_.line;
    }
    if (lexer_.token != Token::word) return fail("An instruction is expected behind its guard.");
    const std::string_view plain = lexer_.text;
    lexer_.extend_word();
    std::string_view opcode = lexer_.text;
    lexer_.next();
    // ptxas takes blanks before a modifier.
    while (lexer_.token == Token::directive) {
        lexer_.extend_word();
        opcode = module_.made_names.emplace_back(std::string(opcode) + std::string(lexer_.text));
        lexer_.next();
    }
    in_call_ = plain == "call";
    if (made.guard < 0 && plain.size() == opcode.size() && lexer_.is(':')) {
        lexer_.next();
        if (accept_directive(".branchtargets")) return branch_target_list(plain);
        if (accept_directive(".callprototype") || accept_directive(".calltargets")) {
            function_->call_tables.push_back(plain);
            return skip_statement();
        }
        const auto at = static_cast<std::uint32_t>(function_->instructions.size());
        if (!scopes_.back().labels.try_emplace(plain, at).second) fail_twice(plain, made.line);
        return;
    }
    made.opcode = opcode;
    made.location = location_;
    std::vector<Operand> operands;
    if (!lexer_.is(';')) {
        do {
            operands.push_back(operand());
        } while (accept(','));
    }
    expect(';');
    if (operands.size() > UINT16_MAX)
        return fail("The instruction has " + std::to_string(operands.size()) +
                    " operands; the limit is " + std::to_string(UINT16_MAX) + ".");
    made.first = static_cast<std::uint32_t>(function_->operands.size());
    made.count = static_cast<std::uint16_t>(operands.size());
    for (const Operand& one : operands) {
        if (one.kind == OperandKind::symbol && !one.address) {
            scopes_.back().pending.push_back(
                static_cast<std::uint32_t>(function_->operands.size()));
        }
        function_->operands.push_back(one);
    }
    function_->instructions.push_back(made);
}

Operand Parser::operand() {
    const Nesting level(*this);
    if (accept('{')) return list('}');
    if (in_call_ && accept('(')) return list(')');
    if (accept('[')) return bracketed();
    Operand made;
    // "!" turns a predicate, "-" a source of vmad; before a number both are operators.
    if ((lexer_.is('!') || lexer_.is('-')) && lexer_.word_follows()) {
        lexer_.next();
        if (lexer_.text == "WARP_SZ") {
            fail_expecting("A register");
            return made;
        }
        made = word_operand();
        made.negated = true;
        return made;
    }
    if (lexer_.token != Token::word || lexer_.text == "WARP_SZ") return constant_operand();
    made = word_operand();
    if (accept('|')) {
        std::uint32_t index = 0;
        const std::string_view name = expect_word();
        if (name == "_" && made.kind != OperandKind::sink) {
            made.pair = -2;
        } else if (find_register(name, index)) {
            made.pair = static_cast<std::int32_t>(index);
        } else {
            fail("'" + std::string(name) + "' isn't a register.");
        }
    } else if (lexer_.is('+')) {
        plus_constant(made);
    } else if (made.kind == OperandKind::symbol || made.kind == OperandKind::variable) {
        if (accept('[')) element(made);
    }
    return made;
}

Operand Parser::constant_operand() {
    const Constant value = constant_expression();
    Operand made;
    made.kind = value.kind;
    made.bits = value.bits;
    return made;
}

// %r1+4, name+4: ptxas takes a constant behind a plus, nothing else.
void Parser::plus_constant(Operand& operand) {
    while (accept('+')) {
        const Constant value = binary_constant(9, 0);
        if (value.kind != OperandKind::integer) fail("An integer is expected behind '+'.");
        operand.bits += value.bits;
    }
    if (operand.kind == OperandKind::reg) {
        operand.kind = OperandKind::sum;
    } else if (operand.kind != OperandKind::symbol && operand.kind != OperandKind::variable) {
        fail("Nothing can be added to '" + std::string(operand.name) + "'.");
    }
}

// name[3]: the address of an element, in brackets or as a value.
void Parser::element(Operand& operand) {
    std::uint64_t size = 1;
    if (operand.kind == OperandKind::variable) {
        const Variable& variable = function_->variables[operand.index];
        size = std::uint64_t{variable.type.bytes} * variable.lanes;
    } else {
        for (const Variable& variable : module_.variables) {
            if (variable.name == operand.name)
                size = std::uint64_t{variable.type.bytes} * variable.lanes;
        }
    }
    if (lexer_.token == Token::word && lexer_.text != "WARP_SZ") {
        operand = word_operand();
        if (lexer_.is('+')) plus_constant(operand);
        operand.kind = OperandKind::opaque;
    } else {
        const Constant index = constant_expression();
        operand.bits += index.bits * size;
        operand.is_element = true;
    }
    expect(']');
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
    } else if (find_register(name, index)) {
        const std::uint32_t lanes = function_->registers[index].lanes;
        if (lanes > 1) return vector_operand(index, lanes);
        made.kind = OperandKind::reg;
        made.index = index;
    } else if (find_variable(name, index)) {
        made.kind = OperandKind::variable;
        made.index = index;
    } else if (name.front() == '%') {
        made.kind = OperandKind::special;
    } else {
        made.kind = OperandKind::symbol;
    }
    return made;
}

// v.x, or the bytes and halves of a register that video instructions name: r.b0, r.h1.
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
    if (!is_part) fail("'" + std::string(name) + "' has no such element.");
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

// [base], [base+4], [base+-4], [4096]; anything else (textures, tensors) becomes opaque.
Operand Parser::bracketed() {
    Operand made = operand();
    made.address = true;
    if (made.kind == OperandKind::sum) made.kind = OperandKind::reg;
    if (lexer_.is('-')) fail_expecting("']'");
    if (!lexer_.is(']')) {
        made.kind = OperandKind::opaque;
        while (!lexer_.at_end() && !lexer_.is(']'))
            lexer_.next();
    }
    expect(']');
    return made;
}

bool Parser::find_register(std::string_view name, std::uint32_t& index) {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        --digits;
    std::uint64_t number = 0;
    for (const char c : name.substr(digits))
        number = std::min<std::uint64_t>(number * 10 + static_cast<unsigned>(c - '0'), UINT32_MAX);
    const std::string_view prefix = name.substr(0, digits);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (digits < name.size()) {
            const auto range = scope->ranges.find(prefix);
            if (range != scope->ranges.end() && number < range->second.count) {
                const auto next = static_cast<std::uint32_t>(function_->registers.size());
                const auto [made, fresh] = range->second.made.try_emplace(number, next);
                if (fresh) {
                    const Register& each = range->second.each;
                    function_->registers.resize(next + each.lanes, each);
                }
                index = made->second;
                return true;
            }
        }
        const auto found = scope->registers.find(name);
        if (found != scope->registers.end()) {
            index = found->second;
            return true;
        }
    }
    return false;
}

bool Parser::find_variable(std::string_view name, std::uint32_t& index) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        const auto found = scope->variables.find(name);
        if (found == scope->variables.end()) continue;
        index = found->second;
        return true;
    }
    return false;
}

}  // namespace lode::emulator::ptx
