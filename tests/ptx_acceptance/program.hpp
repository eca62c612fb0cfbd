// Small PTX programs, made from the tables in opcodes/*.txt: the same ones for the same seed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::ptx_acceptance {

/// What was done to a form of the table.
enum class Kind : std::uint8_t { form, order, modifier, operand, target, token };

[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

struct Program {
    std::string family;  ///< "mbarrier.arrive"
    Kind kind = Kind::form;
    std::string target;       ///< "sm_90a"
    int version = 90;         ///< 10 * major + minor
    std::string module;       ///< Declarations in front of the entry.
    std::string before;       ///< In front of the instruction, in the body.
    std::string instruction;  ///< The instruction or the directives under test; without ';'.
    std::string after;
    std::string heading;    ///< Between the entry's parameters and its body.
    std::string canonical;  ///< Kind order: the instruction in the order of the table.
    bool whole = false;     ///< `module` is the whole text behind the header.

    /// The PTX text. `live` feeds the registers from memory and stores them, so that the machine
    /// code shows what the instruction does. `canonical` takes the table's order.
    [[nodiscard]] std::string text(bool live = false, bool canonical_order = false) const;

    [[nodiscard]] std::string header() const;
    /// The entry without what stands in front of it.
    [[nodiscard]] std::string entry(std::string_view name, bool live, bool canonical_order) const;
    /// Names that entries use, and how they are declared.
    static std::span<const std::pair<std::string_view, std::string_view>> declarations() noexcept;
};

/// "[sm_90 8.0] add.s32 …": what a program is, on one line.
[[nodiscard]] std::string line_of(const Program& program);

/// Reads every table of a folder. Fails with a message that names file and line.
class Tables {
public:
    static bool read(const std::string& folder, Tables& tables, std::string& error);
    /// Every program of a seed, families in the tables' order.
    [[nodiscard]] std::vector<Program> programs(std::uint64_t seed) const;

    struct Row {
        std::string family, target, text;
        int version = 90;
    };

private:
    std::vector<Row> rows_;
};

/// FNV-1a of 64 bits; `start` is the digest of what comes before.
[[nodiscard]] std::uint64_t digest(std::string_view text,
                                   std::uint64_t start = 1469598103934665603U) noexcept;

}  // namespace lode::ptx_acceptance
