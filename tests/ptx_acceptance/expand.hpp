// The language of the tables: choices, type groups, registers. See README.md.
#pragma once

#include "random.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lode::ptx_acceptance {

/// Picks one alternative of every <a|b|c>, replaces group names by types, and resolves escapes.
[[nodiscard]] std::string expand(std::string_view text, Random& random);

/// Collects every modifier in a text of the tables.
void collect_modifiers(std::string_view text, std::vector<std::string>& into);

struct Instruction {
    std::string guard;                   ///< "@%p_1 "
    std::string name;                    ///< "cp"
    std::vector<std::string> modifiers;  ///< "async", "ca", "shared::cta"
    std::vector<std::string> operands;

    [[nodiscard]] std::string text() const;
};

[[nodiscard]] Instruction split(std::string_view text);

/// A register in a text of the tables, such as "%u32_1" or "%u32:4_1".
struct RegisterName {
    std::size_t at = 0, length = 0;
    std::string type;
    int lanes = 1;
    std::string number;
};

[[nodiscard]] std::vector<RegisterName> registers_of(std::string_view text);

/// The type of a register for an instruction type: "b16" for "e4m3x2".
[[nodiscard]] std::string register_type(std::string_view modifier);

}  // namespace lode::ptx_acceptance
