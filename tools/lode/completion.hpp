// Completions of the command line for shells.
#pragma once

#include "tools/lode/command_table.hpp"

#include <lode/base/error.hpp>

#include <string>
#include <string_view>

namespace lode::tool {

/// The script that `shell` ("bash", "zsh" or "fish") reads. Errors: invalid_argument for another
/// one.
[[nodiscard]] Result<std::string> completion_script(std::string_view shell,
                                                    const CommandRow& program);

}  // namespace lode::tool
