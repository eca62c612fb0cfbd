// Parser: the recursive-descent parser of parse(). Private to emulator/decode/ptx.
#pragma once

#include "emulator/decode/ptx/ast.hpp"
#include "emulator/decode/ptx/grammar.hpp"
#include "emulator/decode/ptx/lexer.hpp"

#include <array>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>

namespace lode::emulator::ptx {

/// The value of a constant expression; `kind` is integer, real32 (written in hexadecimal) or
/// real64.
struct Constant {
    OperandKind kind = OperandKind::integer;
    bool is_unsigned = false;
    std::uint64_t bits = 0;
};

/// An error stops the lexer, so every loop terminates; only the first message is kept.
class Parser {
public:
    Parser(std::string_view text, Module& module, int newest_version)
        : lexer_(text), module_(module), newest_version_(newest_version) {}
    ParseError run();

private:
    /// The meaning of a name in a scope.
    struct Named {
        enum class Kind : std::uint8_t { reg, variable, global, table, label };
        Kind kind = Kind::reg;
        std::uint32_t index = 0;
    };
    /// `%r<100>`. Registers are only created when the text mentions them, so that their number
    /// depends on the text, not on the declared count.
    struct RegisterRange {
        std::uint64_t count = 0;
        Register each;
        std::unordered_map<std::uint64_t, std::uint32_t> made;  ///< Register number to index.
    };
    struct Targets {
        std::uint32_t table = 0;
        std::string_view label;
        std::size_t place = 0;  ///< Index into Table::instructions.
    };
    struct Scope {
        std::unordered_map<std::string_view, Named> names;
        /// Ranges such as `%r<100>`, by prefix.
        std::unordered_map<std::string_view, RegisterRange> ranges;
        /// The lowest number after each prefix among `names`.
        std::unordered_map<std::string_view, std::uint64_t> lowest;
        std::vector<Targets> targets;
        std::vector<std::uint32_t> pending, pending_elements;  ///< Operands that may be labels.
    };
    /// A name in the module.
    struct Symbol {
        bool is_function = false;
        bool is_defined = false;
        std::uint32_t index = 0;  ///< Index of a function's first declaration or a variable's last.
    };
    /// The part of a declaration before its names.
    struct Specifiers {
        std::optional<Space> space;
        Variable variable;
        bool has_pointer = false;  ///< .ptr, or .align after the type.
        bool is_opaque = false;    ///< .texref and similar.
        std::uint32_t line = 0;
    };
    /// The context of a declaration.
    enum class Place : std::uint8_t { module, body, entry, function, prototype };

    /// Records an error; `line` defaults to that of the next token.
    void fail(std::string message, std::uint32_t line = 0);
    /// Fails with "Expected `what` before …" and the next token.
    void fail_expecting(std::string_view what);
    void fail_twice(std::string_view name, std::uint32_t line = 0);
    /// Fails if the module's .target or .version doesn't support a feature.
    void require(const Needs& needs, std::string_view feature);
    bool accept(char mark);
    void expect(char mark);
    bool accept_directive(std::string_view name);
    std::uint64_t expect_integer();
    std::uint64_t expect_count();           ///< An unsigned number.
    std::uint32_t expect_small(bool zero);  ///< A 32-bit number; `zero`: whether it may be 0.
    std::string_view expect_word();
    std::string_view expect_name();  ///< A word that is valid as a name.
    /// Counts one level of nesting for its lifetime; fails if there are too many.
    class Nesting;

    // parser.cpp: the module
    void header();
    void version();
    void target();
    void top_level();
    void alias();
    void finish();

    // parse_debug.cpp: .file, .loc, .section
    void file();
    void location();
    void intermediate_location();
    void intermediate_source();
    void section();
    void section_data();
    bool at_section_name() const;

    // parse_function.cpp: headings, parameters, pragmas
    void function(bool entry, Linkage linkage);
    std::vector<Variable> parameter_list(Place place, bool results);
    Variable parameter(Place place, bool results);
    void entry_directives(Function& function);
    bool noreturn_and_abi(bool has_results);
    void languages();
    void pragma(Place place);
    void one_pragma(std::string_view text, Place place);
    void redeclare(const Function& made);
    std::array<std::uint32_t, 3> triple(bool zero);
    void table(std::string_view name, std::uint32_t line);
    void branch_targets(Table& table);
    void call_prototype(Table& table);
    void call_targets(Table& table);

    // parse_variable.cpp: variables
    bool at_declaration() const;
    Specifiers specifiers(Place place);
    void attribute(Specifiers& into);
    void pointer(Specifiers& into);
    std::uint64_t alignment();
    void check_type(const Variable& variable, const Specifiers& what, Place place);
    void declarations(Place place, Linkage linkage);
    void declarator(const Specifiers& what, Place place);
    void finish_declarator(Variable& variable, const Specifiers& what, Place place);
    void range(const Specifiers& what, Variable common, Place place);
    void put(Variable variable, Place place);
    void put_global(Variable variable);
    void declare_register(const Variable& variable, std::uint64_t count, bool is_range);
    std::vector<std::uint64_t> extents(Place place);

    // parse_initial.cpp: initial values
    void initialiser(Variable& variable, std::span<const std::uint64_t> extents);
    std::uint64_t initial_list(Variable& variable, std::span<const std::uint64_t> extents);
    void initial_value(Variable& variable);
    Initial initial_symbol();
    void check_initial_symbol(const Variable& variable, const Initial& value, bool is_masked);

    // parse_body.cpp: a function's body
    void body(Function& function);
    void declare_parameters(Function& function);
    void block();
    void statement();
    void instruction();
    void guard(Instruction& made);
    void label(std::string_view name, std::uint32_t line);
    void declare(Variable variable);
    void declare_name(std::string_view name, Named what, std::uint32_t line);
    void open_scope() { scopes_.emplace_back(); }
    void close_scope();
    void settle_targets(Scope& scope, Scope* outer);
    /// The innermost declaration of a name. Creates a register of a range on first use.
    std::optional<Named> find(std::string_view name);
    bool find_register(std::string_view name, std::uint32_t& index);

    // parse_operand.cpp
    Operand operand();
    Operand list(char close);
    Operand list_of(const std::vector<Operand>& items);
    Operand bracketed();
    Operand word_operand();
    Operand constant_operand();
    std::int32_t second_of_pair(bool may_be_sink);
    const Variable* global_named(std::string_view name) const;
    void plus_constant(Operand& operand);
    void element(Operand& operand);
    void scaled_element(Operand& operand, std::uint8_t bytes);
    Operand element_of(std::string_view name);
    Operand vector_operand(std::uint32_t first, std::uint32_t lanes);

    // parse_constant.cpp
    Constant constant_expression(int depth = 0);
    Constant binary_constant(std::size_t level, int depth);
    Constant unary_constant(int depth);
    Constant number_constant();
    Constant combined(std::string_view name, const Constant& a, const Constant& b);
    std::string_view accept_operator(std::size_t level);

    Lexer lexer_;
    Module& module_;
    const int newest_version_;
    Device device_;
    bool has_samplers_ = false;  ///< .target …, texmode_independent
    ParseError error_;
    Function* function_ = nullptr;
    std::vector<Scope> scopes_;
    std::unordered_map<std::string_view, Symbol> symbols_;
    /// Variables declared in blocks, by their names in the module.
    std::unordered_map<std::string_view, std::uint32_t> block_globals_;
    std::unordered_set<std::string_view> section_labels_;
    std::vector<std::pair<std::string_view, std::uint32_t>>
        function_names_;  ///< Function names in .loc, with their lines.
    std::set<std::array<std::uint32_t, 3>> locations_;  ///< File, line and column of each .loc.
    std::uint32_t location_ = 0;
    bool in_call_ = false;     ///< Parentheses delimit lists rather than constant expressions.
    std::uint32_t depth_ = 0;  ///< Open lists and initialisers.
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
