// Small PTX programs, generated from the tables in opcodes/*.txt; the same for the same seed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::ptx_acceptance {

/// How a form of the table was changed.
enum class Kind : std::uint8_t { form, order, modifier, operand, target, token, address };

[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

struct Program {
    std::string family;  ///< Such as "mbarrier.arrive".
    Kind kind = Kind::form;
    std::string target;       ///< Such as "sm_90a".
    int version = 90;         ///< 10 * major + minor.
    std::string module;       ///< Declarations before the entry.
    std::string before;       ///< Body before the instruction.
    std::string instruction;  ///< The instruction or directives under test, without ';'.
    std::string after;
    std::string heading;    ///< Directives between the entry's parameters and its body.
    std::string canonical;  ///< For Kind::order: the instruction in the table's order.
    bool whole = false;     ///< `module` is the whole text after the header.

    /// The PTX text. With `live`, registers are loaded from memory and stored, so that the machine
    /// code shows what the instruction does. With `canonical_order`, modifiers are in the table's
    /// order.
    [[nodiscard]] std::string text(bool live = false, bool canonical_order = false) const;

    [[nodiscard]] std::string header() const;
    /// The entry without header and module-level declarations.
    [[nodiscard]] std::string entry(std::string_view name, bool live, bool canonical_order) const;
    /// Names that entries may use, with their declarations.
    static std::span<const std::pair<std::string_view, std::string_view>> declarations() noexcept;
};

/// The program on one line: "[sm_90 8.0] add.s32 …".
[[nodiscard]] std::string line_of(const Program& program);

/// The tables of a folder. read() returns false and sets `error`, with file and line, on failure.
class Tables {
public:
    static bool read(const std::string& folder, Tables& tables, std::string& error);
    /// All programs for a seed, with the families in the tables' order.
    [[nodiscard]] std::vector<Program> programs(std::uint64_t seed) const;

    struct Row {
        std::string family, target, text;
        int version = 90;
        bool every_operand = false;  ///< Marked with "!" after the target.
    };

private:
    std::vector<Row> rows_;
};

/// 64-bit FNV-1a; `start` is the digest of the preceding text.
[[nodiscard]] std::uint64_t digest(std::string_view text,
                                   std::uint64_t start = 1469598103934665603U) noexcept;

}  // namespace lode::ptx_acceptance
