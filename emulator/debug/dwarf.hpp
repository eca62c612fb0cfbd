// DebugInfo: the functions, variables and types that DWARF (versions 2 to 5) in PTX describes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::emulator::debug {

enum class TypeKind : std::uint8_t {
    other,  ///< Only its name is known, as `void`.
    boolean,
    character,
    signed_integer,
    unsigned_integer,
    real,
    enumeration,
    pointer,  ///< Or a reference.
    array,
    structure,  ///< Or a union.
    alias,      ///< typedef, const, volatile.
};

struct Type;

struct Member {
    std::string name;  ///< Empty for a base class.
    const Type* type = nullptr;
    std::uint64_t offset = 0;  ///< In bytes.
    std::uint32_t bits = 0;    ///< The width of a bit field; 0 for others.
    std::uint32_t first_bit = 0;
};

struct Type {
    TypeKind kind = TypeKind::other;
    std::string name = {};
    std::uint64_t bytes = 0;
    const Type* of = nullptr;  ///< What a pointer, an array or an alias is of.
    std::uint64_t count = 0;   ///< The number of an array's elements.
    std::vector<Member> members = {};
    std::vector<std::pair<std::string, std::int64_t>> enumerators = {};

    /// Without aliases.
    [[nodiscard]] const Type& resolved() const noexcept;
};

/// The name as C++ spells it: "const float*", "int[3]".
[[nodiscard]] std::string name_of(const Type& type);

/// A range of lines in the PTX: instructions on lines after `first` and before `end`.
struct LineRange {
    std::uint32_t first = 0, end = 0;
    [[nodiscard]] bool contains(std::uint32_t line) const noexcept {
        return first < line && line < end;
    }
};

/// Where a value is.
struct Whereabouts {
    enum class Kind : std::uint8_t { nowhere, reg, symbol };
    Kind kind = Kind::nowhere;
    std::string name;          ///< The register ("%f3"), or a variable or parameter of the PTX.
    std::uint64_t offset = 0;  ///< From the symbol.
};

struct DebugVariable {
    std::string name;
    const Type* type = nullptr;
    /// Where it is on which lines; the first that contains a line counts.
    std::vector<std::pair<LineRange, Whereabouts>> places;

    [[nodiscard]] Whereabouts at(std::uint32_t line) const;
};

struct Block {
    LineRange range;
    std::vector<DebugVariable> variables;
    std::vector<Block> blocks;
};

struct DebugFunction {
    std::string name, symbol;
    Block body;
};

struct DebugInfo {
    std::deque<Type> types;  ///< Others point to them.
    std::vector<DebugFunction> functions;
    std::vector<DebugVariable> globals;
    std::map<std::string, std::string, std::less<>> strings;  ///< In .debug_str, by their labels.

    /// The function with a symbol; nullptr if there is none.
    [[nodiscard]] const DebugFunction* function(std::string_view symbol) const noexcept;
};

/// Reads a text that the parser has accepted. What isn't understood is left out.
[[nodiscard]] std::unique_ptr<DebugInfo> read_debug_info(std::string_view ptx);

}  // namespace lode::emulator::debug
