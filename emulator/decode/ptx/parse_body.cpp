// Function bodies: scopes, statements, instructions, tables for branches and calls.
#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

void Parser::body(Function& function) {
    function_ = &function;
    function.defined = true;
    location_ = 0;
    open_scope();
    declare_parameters(function);
    if (!accept('{')) fail_expecting("a body");
    block();
    scopes_.clear();
    function_ = nullptr;
}

// Parameters are in the scope of the body's own braces. A parameter in .reg space is a register
// that a call writes or reads; its entry among the variables has no name in the scope.
void Parser::declare_parameters(Function& function) {
    const auto declare_all = [&](const std::vector<Variable>& all, bool are_results) {
        for (const Variable& parameter : all) {
            const auto variable = static_cast<std::uint32_t>(function.variables.size());
            if (parameter.space != Space::reg) {
                declare(parameter);
                continue;
            }
            const auto first = static_cast<std::uint32_t>(function.registers.size());
            for (std::uint32_t k = 0; k < parameter.lanes; ++k) {
                function.register_parameters.push_back(
                    {variable, k * parameter.type.bytes, first + k, are_results});
            }
            declare_register(parameter, 0, false);
            function.variables.push_back(parameter);
            function.variables.back().space = Space::param;
        }
    };
    declare_all(function.returns, true);
    declare_all(function.parameters, false);
}

// Iterates rather than recurses, because the text determines the nesting depth.
void Parser::block() {
    constexpr std::size_t deepest = 1000;
    while (!scopes_.empty()) {
        if (accept('{')) {
            open_scope();
            if (scopes_.size() > deepest + 1)
                fail("Blocks are nested more than " + std::to_string(deepest) + " deep.");
        } else if (accept('}')) {
            close_scope();
        } else if (lexer_.at_end()) {
            return fail_expecting("'}'");
        } else {
            statement();
        }
    }
}

void Parser::close_scope() {
    Scope& scope = scopes_.back();
    Scope* const outer = scopes_.size() == 1 ? nullptr : &scopes_[scopes_.size() - 2];
    const auto settle = [&](std::vector<Operand>& pool, const std::vector<std::uint32_t>& pending,
                            std::vector<std::uint32_t>* further) {
        for (const std::uint32_t index : pending) {
            const auto label = scope.names.find(pool[index].name);
            if (label != scope.names.end() && label->second.kind == Named::Kind::label) {
                pool[index].kind = OperandKind::label;
                pool[index].index = label->second.index;
            } else if (further != nullptr) {
                further->push_back(index);
            }
        }
    };
    settle(function_->operands, scope.pending, outer != nullptr ? &outer->pending : nullptr);
    settle(function_->elements, scope.pending_elements,
           outer != nullptr ? &outer->pending_elements : nullptr);
    settle_targets(scope, outer);
    scopes_.pop_back();
}

void Parser::settle_targets(Scope& scope, Scope* outer) {
    for (const Targets& target : scope.targets) {
        const auto label = scope.names.find(target.label);
        if (label != scope.names.end() && label->second.kind == Named::Kind::label) {
            function_->tables[target.table].instructions[target.place] = label->second.index;
        } else if (outer != nullptr) {
            outer->targets.push_back(target);
        } else {
            return fail("The branch target '" + std::string(target.label) + "' isn't defined.");
        }
    }
}

void Parser::statement() {
    if (lexer_.token == Token::directive) {
        if (accept_directive(".loc")) return location();
        if (accept_directive(".loc_intermediate")) return intermediate_location();
        if (accept_directive(".pragma")) return pragma(Place::body);
        if (at_declaration()) return declarations(Place::body, Linkage::own);
        return fail("The directive '" + std::string(lexer_.text) +
                    "' isn't valid in a function's body.");
    }
    if (lexer_.token != Token::word && !lexer_.is('@')) return fail_expecting("a statement");
    instruction();
}

void Parser::declare(Variable variable) {
    const auto index = static_cast<std::uint32_t>(function_->variables.size());
    declare_name(variable.name, {Named::Kind::variable, index}, variable.line);
    function_->variables.push_back(std::move(variable));
}

// In one scope, names of all kinds, including those from ranges, must be distinct; only a label may
// have the same name as a register of a range.
void Parser::declare_name(std::string_view name, Named what, std::uint32_t line) {
    Scope& scope = scopes_.back();
    if (!scope.names.try_emplace(name, what).second) return fail_twice(name, line);
    if (what.kind == Named::Kind::label) return;
    std::uint64_t number = 0;
    std::uint64_t scale = 1;
    constexpr std::size_t most_digits = 10;
    for (std::size_t digits = 1; digits <= most_digits && digits < name.size(); ++digits) {
        const char digit = name[name.size() - digits];
        if (digit < '0' || digit > '9') break;
        number += scale * static_cast<unsigned>(digit - '0');
        scale *= 10;
        if (digit == '0' && digits > 1) continue;  // r01 isn't register 1 of r<4>.
        const std::string_view prefix = name.substr(0, name.size() - digits);
        const auto range = scope.ranges.find(prefix);
        if (range != scope.ranges.end() && number < range->second.count)
            return fail_twice(name, line);
        const auto [at, fresh] = scope.lowest.try_emplace(prefix, number);
        if (!fresh) at->second = std::min(at->second, number);
    }
}

void Parser::guard(Instruction& made) {
    made.guard_negated = accept('!');
    std::uint32_t index = 0;
    const std::string_view name = expect_word();
    if (!find_register(name, index))
        return fail("The guard '" + std::string(name) + "' isn't a register.");
    if (function_->registers[index].bytes != 0)
        return fail("The guard '" + std::string(name) + "' isn't a predicate.");
    made.guard = static_cast<std::int32_t>(index);
    made.line = lexer_.line;
}

void Parser::instruction() {
    Instruction made;
    made.line = lexer_.line;
    if (accept('@')) guard(made);
    if (lexer_.token != Token::word) return fail("Expected an instruction after the guard.");
    const std::string_view plain = lexer_.text;
    lexer_.extend_word();
    std::string_view opcode = lexer_.text;
    lexer_.next();
    // ptxas allows white space before a modifier.
    while (lexer_.token == Token::directive) {
        lexer_.extend_word();
        opcode = module_.made_names.emplace_back(std::string(opcode) + std::string(lexer_.text));
        lexer_.next();
    }
    in_call_ = plain == "call";
    if (made.guard < 0 && plain.size() == opcode.size() && accept(':'))
        return label(plain, made.line);
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

// name: before a statement or a table.
void Parser::label(std::string_view name, std::uint32_t line) {
    if (name == "_" || name == "WARP_SZ")
        return fail("'" + std::string(name) + "' can't be a label.", line);
    if (lexer_.token == Token::directive) {
        constexpr std::string_view tables[] = {".branchtargets", ".callprototype", ".calltargets"};
        if (std::ranges::find(tables, lexer_.text) != std::end(tables)) return table(name, line);
    }
    const auto at = static_cast<std::uint32_t>(function_->instructions.size());
    declare_name(name, {Named::Kind::label, at}, line);
}

void Parser::table(std::string_view name, std::uint32_t line) {
    const auto index = static_cast<std::uint32_t>(function_->tables.size());
    declare_name(name, {Named::Kind::table, index}, line);
    Table& made = function_->tables.emplace_back();
    if (accept_directive(".branchtargets")) {
        require({0, 600}, "'.branchtargets'");
        branch_targets(made);
    } else if (accept_directive(".callprototype")) {
        made.kind = Table::Kind::prototype;
        call_prototype(made);
    } else {
        lexer_.next();
        made.kind = Table::Kind::functions;
        call_targets(made);
    }
    expect(';');
}

// label, label<4>, …
void Parser::branch_targets(Table& table) {
    constexpr std::uint64_t most = 1 << 16;
    const auto index = static_cast<std::uint32_t>(function_->tables.size() - 1);
    const auto add = [&](std::string_view label) {
        scopes_.back().targets.push_back({index, label, table.instructions.size()});
        table.instructions.push_back(0);
    };
    do {
        const std::string_view name = expect_name();
        if (!accept('<')) {
            add(name);
            continue;
        }
        const std::uint64_t count = expect_count();
        expect('>');
        if (count > most || table.instructions.size() > most)
            return fail("The list of branch targets is longer than " + std::to_string(most) + ".");
        for (std::uint64_t k = 0; k < count; ++k)
            add(module_.made_names.emplace_back(std::string(name) + std::to_string(k)));
    } while (accept(','));
}

// (results) _ (parameters) .noreturn
void Parser::call_prototype(Table& table) {
    if (lexer_.is('(')) table.returns = parameter_list(Place::prototype, true);
    if (lexer_.text != "_") return fail_expecting("'_'");
    lexer_.next();
    table.parameters = parameter_list(Place::prototype, false);
    noreturn_and_abi(!table.returns.empty());
}

void Parser::call_targets(Table& table) {
    do {
        const std::uint32_t line = lexer_.line;
        const std::string_view name = expect_word();
        const auto found = symbols_.find(name);
        if (found == symbols_.end() || !found->second.is_function)
            return fail("The call target '" + std::string(name) + "' isn't a function.", line);
        table.functions.push_back(name);
    } while (accept(','));
}

std::optional<Parser::Named> Parser::find(std::string_view name) {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        --digits;
    std::uint64_t number = 0;
    for (const char c : name.substr(digits))
        number = std::min<std::uint64_t>(number * 10 + static_cast<unsigned>(c - '0'), UINT32_MAX);
    const std::string_view prefix = name.substr(0, digits);
    for (std::size_t k = scopes_.size(); k-- > 0;) {
        Scope& scope = scopes_[k];
        const auto found = scope.names.find(name);
        if (found != scope.names.end() && found->second.kind != Named::Kind::label)
            return found->second;
        if (digits == name.size()) continue;
        const auto range = scope.ranges.find(prefix);
        if (range == scope.ranges.end() || number >= range->second.count) continue;
        const auto next = static_cast<std::uint32_t>(function_->registers.size());
        const auto [made, fresh] = range->second.made.try_emplace(number, next);
        if (fresh) {
            const Register& each = range->second.each;
            function_->registers.resize(next + each.lanes, each);
            function_->registers[next].name = name;
        }
        return Named{Named::Kind::reg, made->second};
    }
    return std::nullopt;
}

bool Parser::find_register(std::string_view name, std::uint32_t& index) {
    const std::optional<Named> found = find(name);
    if (!found || found->kind != Named::Kind::reg) return false;
    index = found->index;
    return true;
}

}  // namespace lode::emulator::ptx
