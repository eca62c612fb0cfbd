// Inputs of the code besides file contents: paths, the time, environment variables.
#pragma once

#include <lode/jit/options.hpp>

#include <span>
#include <string_view>

namespace lode::cache {

/// The environment variables that NVRTC is known to read; the request's key holds their values.
[[nodiscard]] std::span<const std::string_view> key_variables() noexcept;

/// Whether a text may put its own path into the code: it contains "__FILE__", "assert", …
bool mentions_path(std::string_view text);

/// Whether an environment variable is in the key already, or never matters.
bool is_variable_in_key(std::string_view name) noexcept;

/// Whether a text may put the time into the code: it contains "__TIME__" or the like.
bool mentions_time(std::string_view text);

/// Whether the options put paths into the code, whatever the source.
bool options_put_paths_into_code(const CompileOptions& options) noexcept;

}  // namespace lode::cache
