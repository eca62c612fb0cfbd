// Set variables that lode doesn't read.
#pragma once

#include <string>
#include <vector>

namespace lode::tool {

/// A set variable that begins with LODE_, and lode's variable that it is probably meant to be.
struct MisspeltVariable {
    std::string name;
    std::string meant;
};

/// Those that differ from one of lode's variables in one or two letters; other names are left to
/// other programs.
[[nodiscard]] std::vector<MisspeltVariable> misspelt_variables();

}  // namespace lode::tool
