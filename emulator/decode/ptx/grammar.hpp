// Grammar: the instructions and data that ptxas accepts, and the function that matches an opcode
// against them. An opcode is a name of one or more words in fixed order ("mul.wide",
// "cp.async.bulk"), followed by modifiers in any order, except that types keep their relative
// order, and so do state spaces and .row and .col: "cvt.f32.f16" isn't "cvt.f16.f32".
//
// The grammar_*.def files have one row per form: LODE_FORM(name, modifiers, operands, needs), or
// LODE_PURE for one whose results are made of its operands and that does nothing else, LODE_WRITES
// for one that writes memory that may be global, of the first state space that it names, or
// LODE_ENDS for one after which no lane goes on.
//
// modifiers: groups in canonical order, separated by spaces. "a|b" are alternatives; a word in
// capitals is a list of grammar_words.def; "?" marks an optional group; "+" a group that is present
// exactly when the previous one is. "*" accepts any modifiers.
//
// operands: "?" marks an optional operand, "=" a destination, "+" one whose value is read, too, "_"
// one that "_" may replace. Destinations come first, and none is optional. "T" to
// "W" are the first to fourth type that the opcode names; other types are named. "2T" has twice the
// bits, ">T" may be a wider register, "~" treats a named type like one from a modifier, "!" rejects
// registers of bits. "{T}" is a vector, "{4:T}" a list of four, "{n2:T}"
// one of half as many as the shape has columns; "|pred" allows a second
// destination, "|must" requires one. "[]" is an address, "[w]" one in a register of at least 32
// bits, "[t]" one of tensor memory, "%" rejects constants, "#" a constant number, "tensor:3" a
// tensor map with three coordinates, "handle:2" a fabric's endpoint with one offset; "@" precedes a
// Limit; "image:", "texels:", "slopes:", "offset:" and "elements:" precede the type of an operand
// of textures; the other words name a Want, with a number of parts or without.
//
// needs: "word=target@version" for a modifier; an empty word applies to the whole form. LODE_NEEDS
// of grammar_words.def has what words need in every row.
#pragma once

#include "emulator/decode/ptx/ast.hpp"

#include <lode/base/arch.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::ptx {

/// The kind of operand that a form accepts at one position.
enum class Want : std::uint8_t {
    value,    ///< A register or a number of a type
    address,  ///< In brackets
    number,   ///< A constant number
    label,    ///< The label of an instruction
    table,    ///< The label of a list of branch targets
    hint,     ///< A cache policy, present if .L2::cache_hint is given
    vector,   ///< As many values as .v2, .v4 or .v8 gives, otherwise one
    list,     ///< Values in braces
    move,     ///< Either operand of mov
    call,     ///< The operands of call
    video,    ///< A 32-bit value, or a byte or a half of a register: .b0, .h1
    simd,   ///< A 32-bit register, optionally with a selection of all bytes or halves: .b7610, .h31
    mask,   ///< A 32-bit register, optionally with the bytes or halves to write: .b20, .h1
    whole,  ///< A whole 32-bit register
    sink,   ///< "_"
    image,  ///< [handle, coordinates]
    texels,    ///< The result of a fetch: four values, or two of .f16x2
    slopes,    ///< A vector of derivatives
    offset,    ///< A vector of offsets in texels; if it doesn't fit, it is taken for left out
    elements,  ///< Values of a surface: a vector or one value
    tensor,    ///< [tensor map{, what overrides it}, {coordinates}], `count` of them
    handle,    ///< [endpoint, offset{, offset of a counter}], `count` parts
    anything   ///< Any operands; for forms that the emulator doesn't support
};

/// What a constant operand may be.
struct Limit {
    std::string_view name;
    std::uint64_t least = 0, most = ~std::uint64_t{0};
    std::uint64_t multiple = 1;
    bool is_power = false;     ///< A power of two.
    bool is_unit = false;      ///< 1 or -1.
    bool is_full = false;      ///< All bits of 32: 0xffffffff or -1.
    bool is_fraction = false;  ///< A real number over 0 and at most 1.
};

struct OperandForm {
    Want want = Want::value;
    bool is_optional = false;
    bool is_destination = false;
    bool is_wider = false;     ///< The register may have more bits than the type
    bool may_discard = false;  ///< The destination may be "_"
    bool needs_second = false;
    Limit limit;
    bool has_second = false;   ///< "d|p" is allowed: p is a predicate, or the second result of setp
    bool is_template = false;  ///< The type comes from a modifier, or is treated as if it did
    bool is_wide = false;      ///< The address register has at least 32 bits
    bool is_number = false;    ///< The register must not be one of bits
    bool is_register = false;  ///< No constant
    bool is_tensor_memory = false;  ///< An address in a 32-bit register
    std::int8_t of_type = -1;  ///< Index of the type among those that the opcode names; -1: `type`
    std::uint8_t times = 1;    ///< 2 if the operand has twice the bits of its type
    std::uint8_t count = 0;    ///< Number of values in a list
    bool is_per_column = false;  ///< `count` divides the number of columns
    Type type;
};

enum class Order : std::uint8_t { free, type, space, layout };

/// Alternative words, of which an opcode has at most one.
struct Group {
    std::vector<Word> words;
    Order order = Order::free;
    bool is_optional = false;
    bool goes_with_previous = false;  ///< Present exactly when the previous group is.
};

/// Targets with a suffix, of which `numbers` qualify, or all from `least` on.
struct Family {
    std::string_view name;
    std::array<int, 4> numbers{};
    int least = 0;
    bool is_specific = false;       ///< The suffix is "a".
    std::array<int, 2> specific{};  ///< More of them, whose suffix is "a".
};

/// Requirements on .target and .version.
struct Needs {
    std::uint16_t target = 0;   ///< 90 for sm_90; 0: any.
    std::uint16_t version = 0;  ///< 100 * major + minor
    /// Rather a .target or a .version below these.
    std::uint16_t target_below = 0, version_below = 0;
    const Family* family = nullptr;
};

inline constexpr Needs in_clusters{90, 708};

/// The target and version of a module.
struct Device {
    Arch target;      ///< sm_0 if it is unknown
    int version = 0;  ///< 100 * major + minor

    [[nodiscard]] bool has(const Needs& needs) const noexcept;
};

/// From the module's last .target and its .version.
[[nodiscard]] Device device_of(const Module& module);

struct Form {
    std::string_view name;      ///< For example "cp.async.bulk"
    std::vector<Group> groups;  ///< In canonical order
    std::vector<OperandForm> operands;
    std::vector<std::pair<Word, Needs>> needs;  ///< By word; none: the whole form
    bool any_modifiers = false;  ///< The form is unsupported; its modifiers aren't checked
    Traits traits;               ///< Without those that depend on modifiers.
};

/// The forms that fit an opcode's modifiers, of which operands select one. If none fits, sets `why`
/// to a sentence. Thread-safe; the result is valid for the lifetime of the process.
[[nodiscard]] std::span<const Reading> read_opcode(std::string_view text, std::string& why);

/// Every form of the grammar; for tests.
[[nodiscard]] std::vector<const Form*> all_forms();

/// The space of each variable of a module, `none` for .texref, .surfref and .samplerref; functions
/// have no entry.
using SymbolSpaces = std::unordered_map<std::string_view, Space>;

/// Each function of a module by its name and its aliases.
using Signatures = std::unordered_map<std::string_view, const Function*>;

/// The error in a call's target, arguments or results, as a sentence; empty if there is none.
[[nodiscard]] std::string call_error(const Function& caller, const Instruction& instruction,
                                     const Signatures& signatures);

/// The first load of a call's parameter that isn't a result of a call before it; nullptr if there
/// is none.
[[nodiscard]] const Instruction* unreturned_load(const Function& function);

/// Whether a modifier is the geometry of a texture or surface.
[[nodiscard]] bool is_geometry(Word word) noexcept;

/// Whether an operand of a texture or surface instruction matches; `type` is the form's.
[[nodiscard]] bool image_operand_fits(const Function& function, const SymbolSpaces& symbols,
                                      const Reading& reading, const OperandForm& form, Type type,
                                      const Operand& operand);

/// The first of an opcode's readings that the operands match; nullptr if there is none, and `why`
/// is a sentence about the first operand that doesn't.
[[nodiscard]] const Reading* matching(const Function& function, const Instruction& instruction,
                                      std::span<const Reading> readings,
                                      const SymbolSpaces& symbols, const Device& device,
                                      std::string& why);

}  // namespace lode::emulator::ptx
