#include "base/cache_folder.hpp"

#include <lode/base/environment.hpp>

#include <system_error>

namespace LODE_NAMESPACE {

std::filesystem::path default_cache_folder() {
    if (const auto folder = environment("LODE_CACHE_DIR")) return *folder;
    // The XDG specification makes relative paths invalid.
    if (const auto cache = environment("XDG_CACHE_HOME"); cache && cache->starts_with('/')) {
        return std::filesystem::path(*cache) / "lode";
    }
    // A home that doesn't exist, such as a service account's /nonexistent, is to stay so.
    std::error_code problem;
    if (const auto home = environment("HOME");
        home && home->starts_with('/') && std::filesystem::is_directory(*home, problem)) {
        return std::filesystem::path(*home) / ".cache" / "lode";
    }
    return {};
}

}  // namespace LODE_NAMESPACE
