// What `--help` prints.
#pragma once

#include "tools/lode/command_table.hpp"

#include <cstddef>
#include <string>

namespace lode::tool {

/// The command, its arguments, options and commands under their headings, and its examples. No line
/// is longer than `width`, except for an example and for a word that is longer.
[[nodiscard]] std::string help_page(const CommandRow& command, std::size_t width);

}  // namespace lode::tool
