#include "base/cache_folder.hpp"

#include <lode/base/environment.hpp>

namespace lode {

std::filesystem::path default_cache_folder() {
    if (const auto folder = environment("LODE_CACHE_DIR")) return *folder;
    // The XDG specification makes relative paths invalid.
    if (const auto cache = environment("XDG_CACHE_HOME"); cache && cache->starts_with('/')) {
        return std::filesystem::path(*cache) / "lode";
    }
    if (const auto home = environment("HOME")) {
        return std::filesystem::path(*home) / ".cache" / "lode";
    }
    return {};
}

}  // namespace lode
