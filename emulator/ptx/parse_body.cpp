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

void Parser::block() {
    expect('{');
    open_scope();
    while (!lexer_.at_end() && !lexer_.is('}'))
        statement();
    expect('}');
    close_scope();
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
    if (lexer_.is('{')) return block();
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
    while (lexer_.token == Token::directive) {
        const Type named = type_named(lexer_.text.substr(1));
        if (named.kind != Class::other) type = named;
        lexer_.next();
    }
    if (type.kind == Class::other) return fail("A register needs a type.");
    do {
        const std::string_view name = expect_word();
        std::uint32_t count = 1;
        const auto first = static_cast<std::uint32_t>(function_->registers.size());
        if (accept('<')) {
            const std::uint64_t asked = expect_count();
            expect('>');
            if (asked > 10'000'000) return fail("The function declares too many registers.");
            count = static_cast<std::uint32_t>(asked);
            if (!scopes_.back().ranges.try_emplace(name, first, count).second)
                return fail_twice(name);
        } else if (!scopes_.back().registers.try_emplace(name, first).second) {
            return fail_twice(name);
        }
        function_->registers.resize(first + count, Register{type.bytes, type.kind});
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
    const std::string_view opcode = lexer_.text;
    lexer_.next();
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
    if (accept('{')) return list('}');
    if (accept('(')) return list(')');
    if (accept('[')) return bracketed();
    Operand made;
    if (accept('!')) {
        made = operand();
        made.negated = true;
        return made;
    }
    if (accept('-')) return number_operand(true);
    if (lexer_.token == Token::word) {
        made = word_operand();
        if (accept('|')) {
            std::uint32_t index = 0;
            const std::string_view name = expect_word();
            if (name == "_") {
                made.pair = -2;
            } else if (find_register(name, index)) {
                made.pair = static_cast<std::int32_t>(index);
            } else {
                fail("'" + std::string(name) + "' isn't a register.");
            }
        } else if (made.kind == OperandKind::symbol || made.kind == OperandKind::variable) {
            if (accept('+')) made.bits += expect_integer();
            if (lexer_.is('-')) made.bits += expect_integer();
        }
        return made;
    }
    return number_operand(false);
}

Operand Parser::number_operand(bool minus) {
    Operand made;
    made.bits = lexer_.bits;
    switch (lexer_.token) {
        case Token::integer:
            made.kind = OperandKind::integer;
            if (minus) made.bits = 0 - made.bits;
            break;
        case Token::real32:
            made.kind = OperandKind::real32;
            if (minus) made.bits ^= 1u << 31;
            break;
        case Token::real64:
            made.kind = OperandKind::real64;
            if (minus) made.bits ^= std::uint64_t{1} << 63;
            break;
        default:
            fail_expecting("An operand");
            return made;
    }
    if (lexer_.overflows) fail("The number " + std::string(lexer_.text) + " is too large.");
    lexer_.next();
    return made;
}

Operand Parser::word_operand() {
    Operand made;
    if (lexer_.text.front() == '%') lexer_.extend_word();
    const std::string_view name = lexer_.text;
    lexer_.next();
    made.name = name;
    std::uint32_t index = 0;
    if (name == "_") {
        made.kind = OperandKind::sink;
    } else if (find_register(name, index)) {
        made.kind = OperandKind::reg;
        made.index = index;
    } else if (find_variable(name, index)) {
        made.kind = OperandKind::variable;
        made.index = index;
    } else if (name == "WARP_SZ") {
        made.kind = OperandKind::integer;
        made.bits = 32;
    } else if (name.front() == '%') {
        made.kind = OperandKind::special;
    } else {
        made.kind = OperandKind::symbol;
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
    while (lexer_.is('+') || lexer_.is('-')) {
        const bool minus = lexer_.is('-');
        lexer_.next();
        const std::uint64_t offset = expect_integer();
        made.bits += minus ? 0 - offset : offset;
    }
    if (!lexer_.is(']')) {
        made.kind = OperandKind::opaque;
        while (!lexer_.at_end() && !lexer_.is(']'))
            lexer_.next();
    }
    expect(']');
    return made;
}

bool Parser::find_register(std::string_view name, std::uint32_t& index) const {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        --digits;
    std::uint32_t number = 0;
    for (const char c : name.substr(digits))
        number = number * 10 + static_cast<unsigned>(c - '0');
    const std::string_view prefix = name.substr(0, digits);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (digits < name.size()) {
            const auto range = scope->ranges.find(prefix);
            if (range != scope->ranges.end() && number < range->second.second) {
                index = range->second.first + number;
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
