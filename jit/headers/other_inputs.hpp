// Inputs of the code besides file contents: paths, the time, environment variables.
#pragma once

#include <lode/jit/options.hpp>

#include <span>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The environment variables that NVRTC is known to read; the request's key holds their values.
[[nodiscard]] std::span<const std::string_view> key_variables() noexcept;

/// Whether an environment variable is in the key already, or never matters.
bool is_variable_in_key(std::string_view name) noexcept;

/// Whether the options put paths into the code, whatever the source.
bool options_put_paths_into_code(const CompileOptions& options) noexcept;

}  // namespace LODE_NAMESPACE::cache
