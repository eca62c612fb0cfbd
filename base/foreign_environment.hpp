// Environment variables that belong to other libraries of the process.
#pragma once

#include <lode/base/api.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The value of a variable that another library reads, such as NVRTC, and that lode's own table
/// needn't list. nullopt when it is unset; empty when it is set to an empty value.
std::optional<std::string> foreign_environment(std::string_view name);

/// The names of all set variables that begin with `prefix`, in no particular order.
std::vector<std::string> environment_names(std::string_view prefix);

}  // namespace LODE_NAMESPACE
