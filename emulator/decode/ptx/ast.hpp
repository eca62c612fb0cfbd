// The syntax tree of a PTX text. All string_views point into the text, which must outlive the tree.
#pragma once

#include "emulator/decode/ptx/word.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::ptx {

enum class Space : std::uint8_t { none, reg, global, constant, shared, local, param };

/// The kind of a fundamental type; the size is stored separately. Predicates have size 0. `packed`
/// is .f16x2.
enum class Class : std::uint8_t {
    bits,
    unsigned_integer,
    signed_integer,
    real,
    packed,
    predicate,
    other
};

constexpr bool is_integer(Class kind) noexcept {
    return kind == Class::bits || kind == Class::unsigned_integer || kind == Class::signed_integer;
}

struct Type {
    Class kind = Class::other;
    std::uint8_t bytes = 0;
};

/// The type named by a word such as "u32", without its dot; kind `other` if there is none.
[[nodiscard]] Type type_named(std::string_view name) noexcept;

/// The space named by a word such as ".global"; `none` if there is none.
[[nodiscard]] Space space_named(std::string_view name) noexcept;

/// The space that a word of an opcode names: `shared` for shared::cta.
[[nodiscard]] Space space_of(Word word) noexcept;

/// One value of an initialiser: a number, or the address of a symbol.
struct Initial {
    std::uint64_t bits = 0;  ///< The number, or the offset from the symbol's address.
    std::string_view symbol;
    bool generic = false;  ///< generic(symbol): its generic address.
    bool has_offset = false;
    bool is_byte = false;    ///< mask(symbol): one byte of the address.
    std::uint8_t shift = 0;  ///< The shift of that byte, in bits.
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
    bool pointer = false;     ///< For a parameter with .ptr.
    bool is_managed = false;  ///< .attribute(.managed)
    std::uint32_t line = 0;

    [[nodiscard]] bool is_extern() const noexcept { return linkage == Linkage::external; }
    std::vector<Initial> initial;
};

struct Register {
    std::uint8_t bytes = 0;  ///< 0 for a predicate.
    Class kind = Class::bits;
    std::uint8_t lanes = 1;      ///< In a vector's first register: the number of registers.
    std::string_view name = {};  ///< A scalar's, or that of a vector's first register.
};

enum class OperandKind : std::uint8_t {
    none,
    reg,       ///< index: the register
    sum,       ///< index: the register; bits: the number added to it. Not in an address.
    integer,   ///< bits
    real32,    ///< bits: the bits of a float
    real64,    ///< bits: the bits of a double
    special,   ///< name: "%tid.x"
    variable,  ///< index: in Function::variables; bits: the offset
    symbol,    ///< name: of a module symbol; bits: the offset
    label,     ///< index: the instruction
    table,     ///< index: in Function::tables
    sink,      ///< "_"
    list,      ///< {…} or (…): index, count: in Function::elements
};

struct Operand {
    OperandKind kind = OperandKind::none;
    bool negated = false;     ///< !p
    bool address = false;     ///< In brackets: [base + bits]
    bool is_element = false;  ///< "name[3]": an address without brackets
    /// Only before validation, "name[%r+3]": the bytes of an element. count is %r's register, bits
    /// the 3.
    std::uint8_t scale = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::int32_t pair = -1;  ///< "d|p": the register after the bar; -2 for "_"
    std::uint64_t bits = 0;
    std::string_view name;
    std::string_view selector;  ///< "b0", "h1": a part of a register
};

/// The instructions that passes tell apart. Their asynchronous and bulk forms are `other`.
enum class Effect : std::uint8_t { other, move, load, store, atomic, reduce, call };

/// What an instruction does with its operands. Its row of the grammar says so.
struct Traits {
    Effect effect = Effect::other;
    Space space = Space::none;  ///< The first that the opcode names; none: generic, or no memory.
    std::uint8_t results = 0;   ///< The first operands that it sets.
    bool reads_results : 1 = false;  ///< What it sets depends on what was there.
    /// Its results, the carry too, are made of its operands, and it does nothing else.
    bool is_pure : 1 = false;
    bool writes_global : 1 = false;  ///< Perhaps: global memory, or an address of any space.
    bool ends_path : 1 = false;      ///< Without a guard, no lane goes on after it.
};

struct Form;  // grammar.hpp

/// What an opcode means: a form of the grammar with a choice of its modifiers.
struct Reading {
    const Form* form = nullptr;
    std::string text;           ///< In the grammar's order: "ld.global.u32".
    std::vector<Word> words;    ///< The same; the first is the name.
    Traits traits;              ///< Without those that depend on the operands of call.
    std::array<Type, 4> types;  ///< In the order of the opcode, as are the spaces.
    std::array<Space, 2> spaces{};
    std::uint8_t type_count = 0;
    std::uint8_t vector = 1;    ///< From .v2, .v4 or .v8
    std::uint16_t columns = 0;  ///< From .m64n…
    Word geometry;              ///< Geometry of a texture or surface: "2d"

    [[nodiscard]] Word name() const { return words.front(); }
    [[nodiscard]] bool has(Word word) const {
        return std::ranges::find(words, word) != words.end();
    }
};

struct Instruction {
    /// Includes every modifier but not the guard; in the grammar's order once validated.
    std::string_view opcode;
    const Reading* reading = nullptr;  ///< Set by validate(); valid as long as the process.
    std::uint32_t first = 0;           ///< Operands are Function::operands[first, first + count).
    std::uint16_t count = 0;
    std::int32_t guard = -1;  ///< The register of @p.
    bool guard_negated = false;
    Traits traits;  ///< Set by validate().
    std::uint32_t line = 0;
    std::uint32_t location = 0;  ///< Index into Function::locations; 0 if there is none.
};

struct Location {
    std::uint32_t file = 0, line = 0;
    std::uint32_t parent = 0;  ///< The call site of inlined code; 0 if not inlined or unknown.
    std::uint32_t column = 0;
    std::string_view function = {};  ///< Inlined code's: the label of its name in .debug_str.
};

/// The possible targets of an indirect call or an indexed branch.
struct Table {
    enum class Kind : std::uint8_t { branch, prototype, functions };
    Kind kind = Kind::branch;
    std::vector<std::uint32_t> instructions;    ///< For .branchtargets
    std::vector<Variable> returns, parameters;  ///< For .callprototype
    std::vector<std::string_view> functions;    ///< For .calltargets
};

/// A register of a parameter or result in .reg space.
struct RegisterParameter {
    std::uint32_t variable = 0;  ///< Its variable in the call: index into Function::variables.
    std::uint32_t offset = 0;    ///< In that variable, in bytes; above 0 in a vector.
    std::uint32_t reg = 0;       ///< The register that the body uses.
    bool is_result = false;
};

struct Function {
    std::string_view name;
    bool entry = false;
    bool defined = false;
    Linkage linkage = Linkage::own;
    std::vector<Variable> returns, parameters;
    std::vector<Variable> variables;  ///< From every scope; returns and parameters come first.
    std::vector<RegisterParameter> register_parameters;
    std::vector<Register> registers;
    std::vector<Instruction> instructions;
    std::vector<Operand> operands, elements;
    std::vector<Location> locations{{}};
    std::vector<Table> tables;
    /// The number of module functions and variables that are visible to the body: those declared
    /// before it.
    std::uint32_t known_functions = 0, known_variables = 0;
    std::array<std::uint32_t, 3> max_ntid{}, required_ntid{}, cluster{};
    bool has_cluster = false, explicit_cluster = false;
    std::uint32_t max_cluster_rank = 0;
    std::uint32_t min_blocks = 0;
    std::uint32_t block_memory = 0;  ///< .minperctamemory, in bytes
    std::uint32_t line = 0;

    /// Whether it has a .loc.
    [[nodiscard]] bool has_locations() const noexcept { return locations.size() > 1; }
    [[nodiscard]] std::span<const Operand> operands_of(const Instruction& one) const {
        return std::span(operands).subspan(one.first, one.count);
    }
    /// The operands that a validated instruction sets.
    [[nodiscard]] std::span<const Operand> results_of(const Instruction& one) const {
        return operands_of(one).first(one.traits.results);
    }
    /// The operands that its effects and results depend on.
    [[nodiscard]] std::span<const Operand> sources_of(const Instruction& one) const {
        return operands_of(one).subspan(one.traits.reads_results ? 0 : one.traits.results);
    }
    /// The elements of an operand that is a list.
    [[nodiscard]] std::span<const Operand> elements_of(const Operand& list) const {
        return std::span(elements).subspan(list.index, list.count);
    }
};

/// `.alias name, of;`: another name for the function `of`.
struct Alias {
    std::string_view name, of;
    std::uint32_t line = 0;
};

struct Module {
    int version = 0;          ///< 100 * major + minor.
    bool is_too_new = false;  ///< Newer than supported; valid if fully understood.
    std::string_view target;  ///< For example "sm_90a"
    int address_size = 64;
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::unordered_map<std::uint32_t, std::string_view> files;
    std::vector<Alias> aliases;
    std::deque<std::string> made_names;  ///< Names that don't occur literally in the text.
};

/// Whether two declarations have the same type and size.
[[nodiscard]] bool same_type(const Variable& a, const Variable& b) noexcept;

/// How two headings differ, as part of a sentence; empty if they are the same.
[[nodiscard]] std::string difference(const Function& a, const Function& b);

struct ParseError {
    std::uint32_t line = 0;
    std::string message;  ///< Empty if there is no error.
};

/// The newest .version that the grammar covers: 100 * major + minor.
constexpr int own_version = 900;

/// The message for a module with is_too_new.
[[nodiscard]] std::string too_new(const Module& module, int newest_version);

/// Parses the whole text. On an error, `module` has the contents up to that point. A text newer
/// than `newest_version` (100 * major + minor) is marked as such but still parsed, unless
/// `newest_version` is less than own_version.
[[nodiscard]] ParseError parse(std::string_view text, Module& module, int newest_version);

/// Finds errors that make a text invalid PTX: instructions, modifiers, operands, special registers
/// and symbols that don't exist or don't match, and duplicate names. Doesn't report valid PTX that
/// the emulator doesn't support. Puts each opcode's modifiers into the grammar's order, and sets
/// each instruction's reading and traits.
[[nodiscard]] ParseError validate(Module& module);

/// Puts instructions that compute the address before each instruction with an operand such as
/// "name[%r+3]", which becomes a register. Theirs have no reading; false if there are none.
bool expand_elements(Function& function);

}  // namespace lode::emulator::ptx
