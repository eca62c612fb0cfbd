// What the parser makes of a PTX text. All string_views point into the text, which must live on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::ptx {

enum class Space : std::uint8_t { none, reg, global, constant, shared, local, param };

/// What a fundamental type holds; its size is kept beside it. Predicates have size 0.
/// `packed` is .f16x2.
enum class Class : std::uint8_t {
    bits,
    unsigned_integer,
    signed_integer,
    real,
    packed,
    predicate,
    other
};

struct Type {
    Class kind = Class::other;
    std::uint8_t bytes = 0;
};

/// The type of ".u32" and the like, given without its dot; kind `other` when it isn't one.
[[nodiscard]] Type type_named(std::string_view name) noexcept;

/// The space of ".global" and the like; none when it isn't one.
[[nodiscard]] Space space_named(std::string_view name) noexcept;

/// One value of an initialiser: a number, or the address of a symbol.
struct Initial {
    std::uint64_t bits = 0;  ///< The number, or what is added to the address.
    std::string_view symbol;
    bool generic = false;  ///< generic(symbol): its generic address.
    bool has_offset = false;
    bool is_byte = false;    ///< mask(symbol): one byte of the address.
    std::uint8_t shift = 0;  ///< Which one, in bits.
};

enum class Linkage : std::uint8_t { own, visible, external, weak, common };

struct Variable {
    std::string_view name;
    Space space = Space::none;
    Type type;
    std::uint32_t align = 1;
    std::uint8_t lanes = 1;   ///< 2 or 4 for a vector.
    std::uint64_t bytes = 0;  ///< 0 for an array of unknown length.
    Linkage linkage = Linkage::own;
    bool is_array = false;
    bool pointer = false;  ///< A parameter with .ptr.
    std::uint32_t line = 0;

    [[nodiscard]] bool is_extern() const noexcept { return linkage == Linkage::external; }
    std::vector<Initial> initial;
};

struct Register {
    std::uint8_t bytes = 0;  ///< 0: predicate.
    Class kind = Class::bits;
    std::uint8_t lanes = 1;  ///< Of a vector's first register: how many follow one another.
};

enum class OperandKind : std::uint8_t {
    none,
    reg,       ///< index: the register.
    sum,       ///< index: the register; bits: what is added. Not in an address.
    integer,   ///< bits
    real32,    ///< bits: of a float
    real64,    ///< bits: of a double
    special,   ///< name: "%tid.x"
    variable,  ///< index: of Function::variables; bits: what is added
    symbol,    ///< name: of the module, bits: what is added
    label,     ///< index: of an instruction
    table,     ///< index: of Function::tables
    sink,      ///< "_"
    list,      ///< {…} or (…): index, count: of Function::elements
    opaque,    ///< Something only unsupported instructions have.
};

struct Operand {
    OperandKind kind = OperandKind::none;
    bool negated = false;     ///< !p
    bool address = false;     ///< In brackets: [base + bits].
    bool is_element = false;  ///< "name[3]": an address, though not in brackets.
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::int32_t pair = -1;  ///< "d|p": the register behind the bar; -2 for "_".
    std::uint64_t bits = 0;
    std::string_view name;
    std::string_view selector;  ///< "b0", "h1": parts of a register.
};

struct Instruction {
    /// With every modifier, without the guard; in the grammar's order once validated.
    std::string_view opcode;
    std::uint32_t first = 0;  ///< Operands: Function::operands[first, first + count).
    std::uint16_t count = 0;
    std::int32_t guard = -1;  ///< The register of @p.
    bool guard_negated = false;
    std::uint32_t line = 0;
    std::uint32_t location = 0;  ///< Index into Function::locations; 0: none.
};

struct Location {
    std::uint32_t file = 0, line = 0;
    std::uint32_t parent = 0;  ///< Where it was inlined; 0: nowhere, or not known.
    std::uint32_t column = 0;
};

/// What a call by register or an indexed branch may reach.
struct Table {
    enum class Kind : std::uint8_t { branch, prototype, functions };
    Kind kind = Kind::branch;
    std::vector<std::uint32_t> instructions;    ///< Of .branchtargets.
    std::vector<Variable> returns, parameters;  ///< Of .callprototype.
    std::vector<std::string_view> functions;    ///< Of .calltargets.
};

/// A parameter or result in .reg space.
struct RegisterParameter {
    std::uint32_t variable = 0;  ///< Its place in the call: index into Function::variables.
    std::uint32_t first = 0;     ///< The register that the body names.
    bool is_result = false;
};

struct Function {
    std::string_view name;
    bool entry = false;
    bool defined = false;
    Linkage linkage = Linkage::own;
    std::vector<Variable> returns, parameters;
    std::vector<Variable> variables;  ///< Of every scope, returns and parameters first.
    std::vector<RegisterParameter> register_parameters;
    std::vector<Register> registers;
    std::vector<Instruction> instructions;
    std::vector<Operand> operands, elements;
    std::vector<Location> locations{{}};
    std::vector<Table> tables;
    /// How many of the module's functions and variables its body may name: those before it.
    std::uint32_t known_functions = 0, known_variables = 0;
    std::array<std::uint32_t, 3> max_ntid{}, required_ntid{}, cluster{};
    bool has_cluster = false;
    std::uint32_t min_blocks = 0;
    std::uint32_t line = 0;
};

/// `.alias name, of;`: another name of a function.
struct Alias {
    std::string_view name, of;
    std::uint32_t line = 0;
};

struct Module {
    int version = 0;          ///< 100 * major + minor.
    bool is_too_new = false;  ///< Newer than what the driver reads: fine where all is understood.
    std::string_view target;  ///< "sm_90a"
    int address_size = 64;
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::unordered_map<std::uint32_t, std::string_view> files;
    std::vector<Alias> aliases;
    std::deque<std::string> made_names;  ///< Names that aren't in the text as they are here.
};

/// Whether two declarations give a thing the same type and size.
[[nodiscard]] bool same_type(const Variable& a, const Variable& b) noexcept;

/// What differs between two headings, as part of a sentence; empty where nothing does.
[[nodiscard]] std::string difference(const Function& a, const Function& b);

struct ParseError {
    std::uint32_t line = 0;
    std::string message;  ///< Empty: no error.
};

/// The .version whose grammar this is: 100 * major + minor.
constexpr int own_version = 900;

/// The sentence for a Module::is_too_new.
[[nodiscard]] std::string too_new(const Module& module, int newest_version);

/// Parses the whole text. On an error `module` holds what came before it. A text that is newer than
/// `newest_version` (100 * major + minor) is marked; it is read nevertheless, unless the reader
/// poses as one that is older than this grammar.
[[nodiscard]] ParseError parse(std::string_view text, Module& module, int newest_version);

/// Finds what no PTX has: instructions, modifiers, operands, special registers and symbols that
/// don't exist or don't fit, and names that are defined twice. Says nothing of what the emulator
/// doesn't run. Puts each opcode's modifiers into the grammar's order.
[[nodiscard]] ParseError validate(Module& module);

}  // namespace lode::emulator::ptx
