// Manual pages, as troff.
#pragma once

#include "tools/lode/command_table.hpp"

#include <string>
#include <string_view>

namespace lode::tool {

/// The page lode(1) for the program, or lode-COMMAND(1) with the commands within it.
[[nodiscard]] std::string man_page(const CommandRow& command, const CommandRow& program,
                                   std::string_view version);

}  // namespace lode::tool
