// Parser: the recursive descent behind parse(). Private to emulator/ptx.
#pragma once

#include <initializer_list>

#include <emulator/ptx/ast.hpp>
#include <emulator/ptx/lexer.hpp>

namespace lode::emulator::ptx {

/// The value of a constant expression; `kind` is integer, real32 (written in hexadecimal) or
/// real64.
struct Constant {
    OperandKind kind = OperandKind::integer;
    bool is_unsigned = false;
    std::uint64_t bits = 0;
};

/// A failure stops the lexer, so every loop ends by itself; the first message is kept.
class Parser {
public:
    Parser(std::string_view text, Module& module, int newest_version)
        : lexer_(text), module_(module), newest_version_(newest_version) {}
    ParseError run();

private:
    /// `%r<100>`: only the registers that the text mentions are made, so that their number is the
    /// text's and not the declaration's.
    struct RegisterRange {
        std::uint64_t count = 0;
        Register each;
        std::unordered_map<std::uint64_t, std::uint32_t> made;  ///< Number to register.
    };
    struct Scope {
        std::unordered_map<std::string_view, std::uint32_t> registers;
        /// `%r<100>`, by its prefix.
        std::unordered_map<std::string_view, RegisterRange> ranges;
        std::unordered_map<std::string_view, std::uint32_t> variables;
        std::unordered_map<std::string_view, std::uint32_t> labels;
        std::unordered_map<std::string_view, std::vector<std::string_view>> targets;
        std::vector<std::uint32_t> pending, pending_elements;  ///< Operands that may be labels.
    };

    /// The line is the next token's unless it is given.
    void fail(std::string message, std::uint32_t line = 0);
    /// "`what` is expected before …", with the token that is there instead.
    void fail_expecting(std::string_view what);
    void fail_twice(std::string_view name, std::uint32_t line = 0);
    bool accept(char mark);
    void expect(char mark);
    bool accept_directive(std::string_view name);
    std::uint64_t expect_integer();
    std::uint64_t expect_count();  ///< A number without a sign.
    std::string_view expect_word();
    /// Counts a level of nesting for as long as it lives; fails past the limit.
    class Nesting;
    void skip_statement();
    void skip_braces();
    void skip_parentheses();

    // parser.cpp: the module
    void header();
    void version();
    void target();
    void top_level();
    void file();
    void alias();
    void function(bool entry);
    std::vector<Variable> parameter_list(bool entry);
    void performance_directives(Function& function);
    std::array<std::uint32_t, 3> triple();

    // parse_variable.cpp: variables and parameters
    void variable_list(Space space, bool is_extern, bool is_weak, std::vector<Variable>& into);
    Variable variable_type(Space space);
    void declarator(Variable& variable);
    void initialiser(Variable& variable);
    void initial_value(Variable& variable);

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
    Operand constant_operand();
    void plus_constant(Operand& operand);
    void element(Operand& operand);
    Operand element_of(std::string_view name);
    Operand vector_operand(std::uint32_t first, std::uint32_t lanes);
    void location();
    void branch_target_list(std::string_view name);
    void declare(Variable variable);
    /// The innermost register of that name; one of a range is made when it is first named.
    bool find_register(std::string_view name, std::uint32_t& index);
    bool find_variable(std::string_view name, std::uint32_t& index) const;

    // parse_constant.cpp
    Constant constant_expression(int depth = 0);
    Constant binary_constant(std::size_t level, int depth);
    Constant unary_constant(int depth);
    Constant number_constant();
    Constant combined(std::string_view name, const Constant& a, const Constant& b);
    std::string_view accept_operator(std::size_t level);

    void open_scope() { scopes_.emplace_back(); }
    void close_scope();

    Lexer lexer_;
    Module& module_;
    const int newest_version_;
    ParseError error_;
    Function* function_ = nullptr;
    std::vector<Scope> scopes_;
    std::uint32_t location_ = 0;
    bool in_call_ = false;     ///< Parentheses are lists, not part of a number.
    std::uint32_t depth_ = 0;  ///< Of lists and initialisers that are open.
};

class Parser::Nesting {
public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

private:
    Parser& parser_;
};

}  // namespace lode::emulator::ptx
