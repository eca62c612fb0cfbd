// Parser: the recursive descent behind parse(). Private to emulator/ptx.
#pragma once

#include <initializer_list>

#include <emulator/ptx/ast.hpp>
#include <emulator/ptx/lexer.hpp>

namespace lode::emulator::ptx {

/// A failure stops the lexer, so every loop ends by itself; the first message is kept.
class Parser {
public:
    Parser(std::string_view text, Module& module) : lexer_(text), module_(module) {}
    ParseError run();

private:
    struct Scope {
        std::unordered_map<std::string_view, std::uint32_t> registers;
        /// `%r<100>`: prefix to {first register, count}.
        std::unordered_map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> ranges;
        std::unordered_map<std::string_view, std::uint32_t> variables;
        std::unordered_map<std::string_view, std::uint32_t> labels;
        std::unordered_map<std::string_view, std::vector<std::string_view>> targets;
        std::vector<std::uint32_t> pending, pending_elements;  ///< Operands that may be labels.
    };

    void fail(std::string message);
    bool accept(char mark);
    void expect(char mark);
    bool accept_directive(std::string_view name);
    std::uint64_t expect_integer();
    std::string_view expect_word();
    void skip_statement();
    void skip_braces();

    // parser.cpp: the module
    void top_level();
    void variable_list(Space space, bool is_extern, bool is_weak, std::vector<Variable>& into);
    Variable declarator(Space space);
    void initialiser(Variable& variable, std::uint64_t& elements);
    void initial_value(Variable& variable);
    void function(bool entry);
    std::vector<Variable> parameter_list();
    void performance_directives(Function& function);
    std::array<std::uint32_t, 3> triple();

    // parse_body.cpp: a function's body
    void body(Function& function);
    void block();
    void statement();
    void declare_registers();
    void declare_variables(Space space);
    void instruction();
    Operand operand();
    Operand list(char close);
    Operand bracketed();
    Operand word_operand();
    Operand number_operand(bool minus);
    void location();
    void branch_target_list(std::string_view name);
    bool find_register(std::string_view name, std::uint32_t& index) const;
    bool find_variable(std::string_view name, std::uint32_t& index) const;
    void open_scope() { scopes_.emplace_back(); }
    void close_scope();

    Lexer lexer_;
    Module& module_;
    ParseError error_;
    Function* function_ = nullptr;
    std::vector<Scope> scopes_;
    std::uint32_t location_ = 0;
};

}  // namespace lode::emulator::ptx
