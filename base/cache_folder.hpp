// The folder for what lode keeps between runs.
#pragma once

#include <filesystem>

namespace lode {

/// LODE_CACHE_DIR, else XDG_CACHE_HOME/lode, else HOME/.cache/lode; empty if none of them is set.
[[nodiscard]] std::filesystem::path default_cache_folder();

}  // namespace lode
