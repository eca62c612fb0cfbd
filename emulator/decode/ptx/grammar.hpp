// Grammar: what ptxas takes as an instruction, as data, and the one function that reads an opcode
// against it. An opcode is a name of one or more words, whose order is fixed ("mul.wide",
// "cp.async.bulk"), and modifiers in any order. Types keep their order among themselves, and so do
// state spaces: "cvt.f32.f16" isn't "cvt.f16.f32".
#pragma once

#include "emulator/decode/ptx/ast.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::ptx {

/// What a form wants in one operand's place.
enum class Want : std::uint8_t {
    value,    ///< A register or a number of a type.
    address,  ///< In brackets.
    number,   ///< A number that the program fixes.
    label,    ///< Of an instruction.
    table,    ///< Of a list of labels.
    hint,     ///< A cache policy, where .L2::cache_hint is given.
    vector,   ///< As many values as .v2, .v4 or .v8 says, else one.
    list,     ///< Values in braces.
    move,     ///< Both operands of mov.
    call,     ///< The operands of call.
    video,    ///< A value of 32 bits, or a byte or a half of a register: .b0, .h1.
    simd,     ///< A register of 32 bits that may name all its bytes or halves anew: .b7610, .h31.
    mask,     ///< One that may name the bytes or halves that are written: .b20, .h1.
    whole,    ///< One of 32 bits as it is.
    sink,     ///< "_"
    anything  ///< The rest, unseen: of forms that nothing here runs.
};

/// Which numbers fit, where a number stands.
enum class Limit : std::uint8_t {
    none,
    byte,       ///< 0 to 255
    barrier,    ///< 0 to 15
    threads,    ///< A multiple of a warp's.
    event,      ///< 0 to 15
    mask,       ///< 16 bits
    registers,  ///< A multiple of 8 from 24 to 256.
    line,       ///< 128, the bytes of a cache line
    bulk,       ///< A multiple of 16 up to 1048560.
    zero,       ///< 0
    ca,         ///< 4, 8 or 16 bytes
    cg,         ///< 16 bytes
    fraction    ///< Over 0, and 1 at most.
};

struct OperandForm {
    Want want = Want::value;
    bool is_optional = false;
    bool is_destination = false;
    bool is_wider = false;     ///< Its register may have more bits than its type.
    bool may_discard = false;  ///< "_" may be its destination.
    bool needs_second = false;
    Limit limit = Limit::none;
    bool has_second = false;   ///< "d|p" may be given: its predicate, or the second of setp.
    bool is_template = false;  ///< Its type comes from a modifier, or is taken as if it did.
    bool is_wide = false;      ///< The register of its address has 32 bits at least.
    bool is_number = false;    ///< Its register isn't one of bits.
    std::int8_t of_type = -1;  ///< Its type is the n-th that the opcode names; -1: `type`.
    std::uint8_t times = 1;    ///< 2: its type has twice the bits.
    std::uint8_t count = 0;    ///< Of a list.
    Type type;
};

enum class Order : std::uint8_t { free, type, space };

/// Words of which at most one is taken.
struct Group {
    std::vector<std::string_view> words;
    Order order = Order::free;
    bool is_optional = false;
    bool goes_with_previous = false;  ///< Given where the group before it is, and only there.
};

/// What a .target and a .version must be. `family`: only targets with a suffix have it.
struct Needs {
    enum class Family : std::uint8_t {
        none,
        before_sync,   ///< A .target under 70, or a .version under 6.4.
        suffixed,      ///< 90a, and the targets from 100 on that end in a or f
        suffixed_100,  ///< The targets from 100 on that end in a or f
        a_of_10x,      ///< 100a and 103a
        suffixed_10x   ///< 100a, 100f, 103a, 103f
    };
    std::uint16_t target = 0;   ///< 90 for sm_90; 0: any.
    std::uint16_t version = 0;  ///< 100 * major + minor
    Family family = Family::none;
};

inline constexpr Needs in_clusters{90, 708};

/// What a module may use.
struct Device {
    int target = 0;     ///< 90 of "sm_90a".
    char suffix = ' ';  ///< 'a' of it.
    int version = 0;    ///< The module's .version: 100 * major + minor.

    [[nodiscard]] bool has(const Needs& needs) const noexcept;
};

/// Of the module's last .target and its .version.
[[nodiscard]] Device device_of(const Module& module);

struct Form {
    std::string_view name;      ///< "cp.async.bulk"
    std::vector<Group> groups;  ///< In the order of the canonical text.
    std::vector<OperandForm> operands;
    std::vector<std::pair<std::string_view, Needs>> needs;  ///< Of words; of "", the whole form.
    bool any_modifiers = false;  ///< Nothing here runs it; its modifiers aren't looked at.
};

/// One way to read an opcode.
struct Reading {
    const Form* form = nullptr;
    std::vector<Needs> needs;                ///< All must be met.
    std::array<Type, 4> types;               ///< In the order of the opcode.
    std::array<std::string_view, 2> spaces;  ///< Likewise.
    std::uint8_t type_count = 0;
    std::uint8_t vector = 1;  ///< Of .v2 and the like.
    bool adds_one = false;    ///< .po
    bool has_hint = false;    ///< .L2::cache_hint
};

/// An opcode's text, read.
struct Opcode {
    std::string canonical;
    std::vector<Reading> readings;  ///< The forms that have these modifiers; operands decide.
};

/// Reads an opcode. Where no form takes it the result is null and `why` a sentence. Thread-safe;
/// the result lives as long as the process.
[[nodiscard]] const Opcode* read_opcode(std::string_view text, std::string& why);

/// Every form of the grammar, for tests.
[[nodiscard]] std::vector<const Form*> all_forms();

/// The space of each variable of a module; of its functions, none.
using SymbolSpaces = std::unordered_map<std::string_view, Space>;

/// Each function of a module by its name, and by its aliases.
using Signatures = std::unordered_map<std::string_view, const Function*>;

/// What is wrong with a call's target, arguments or results, as a sentence; empty where nothing is.
[[nodiscard]] std::string call_error(const Function& caller, const Instruction& call,
                                     const Signatures& signatures);

/// The first operand that the opcode doesn't take, as a sentence; empty where they fit one of its
/// readings.
[[nodiscard]] std::string operand_error(const Function& function, const Instruction& instruction,
                                        const Opcode& opcode, const SymbolSpaces& symbols,
                                        const Device& device);

}  // namespace lode::emulator::ptx
