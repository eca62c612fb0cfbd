// The folder for what lode keeps between runs.
#pragma once

#include <lode/base/api.hpp>

#include <filesystem>

namespace LODE_NAMESPACE {

/// LODE_CACHE_DIR, else XDG_CACHE_HOME/lode, else HOME/.cache/lode. Empty if none of them is set,
/// or HOME isn't the absolute path of an existing folder: it is never created.
[[nodiscard]] std::filesystem::path default_cache_folder();

}  // namespace LODE_NAMESPACE
