// Environment variables that another library of the process reads, not lode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lode {

/// The value of a variable that another library reads, such as NVRTC, so that lode's own table
/// needn't have it; nullopt when it is unset, empty when it is set so.
std::optional<std::string> foreign_environment(std::string_view name);

}  // namespace lode
