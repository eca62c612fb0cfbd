#include "base/try.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/cache.hpp>

#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace lode {
namespace {

template <class Value>
struct Choice {
    std::string_view name;
    Value value;
};

constexpr Choice<CacheMode> modes[] = {
    {"off", CacheMode::off}, {"read-only", CacheMode::read_only}, {"on", CacheMode::on}};
constexpr Choice<JitPolicy> policies[] = {
    {"allow", JitPolicy::allow}, {"warn", JitPolicy::warn}, {"forbid", JitPolicy::forbid}};

/// Sets `value` from a variable that names one of some choices.
template <class Value, std::size_t count>
Status choose(std::string_view variable, const Choice<Value> (&choices)[count], Value& value) {
    const auto text = environment(variable);
    if (!text) return {};
    std::string names;
    for (const auto& choice : choices) {
        if (choice.name == *text) {
            value = choice.value;
            return {};
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", choice.name);
    }
    return fail(Errc::invalid_argument,
                fmt::format("{} is '{}'; it must be one of {}.", variable, *text, names));
}

std::filesystem::path default_folder() {
    if (const auto folder = environment("LODE_CACHE_DIR")) return *folder;
    // A relative one is invalid by the XDG specification.
    if (const auto cache = environment("XDG_CACHE_HOME"); cache && cache->starts_with('/')) {
        return std::filesystem::path(*cache) / "lode";
    }
    if (const auto home = environment("HOME")) {
        return std::filesystem::path(*home) / ".cache" / "lode";
    }
    return {};
}

}  // namespace

Result<CacheOptions> CacheOptions::from_environment() {
    CacheOptions options;
    LODE_TRY(choose("LODE_CACHE", modes, options.mode));
    LODE_TRY(choose("LODE_JIT", policies, options.policy));
    options.folder = default_folder();
    if (const auto text = environment("LODE_CACHE_MAX_BYTES")) {
        const char* end = text->data() + text->size();
        const auto [stop, problem] = std::from_chars(text->data(), end, options.max_bytes);
        constexpr std::uint64_t least = std::uint64_t{1024} * 1024;
        if (problem != std::errc{} || stop != end || options.max_bytes < least) {
            return fail(Errc::invalid_argument,
                        fmt::format("LODE_CACHE_MAX_BYTES is '{}'; it must be a number of bytes, "
                                    "at least {}.",
                                    *text, least));
        }
    }
    std::string_view packs;
    const auto list = environment("LODE_CACHE_PACKS");
    if (list) packs = *list;
    while (!packs.empty()) {
        const auto colon = std::min(packs.find(':'), packs.size());
        if (colon > 0) options.packs.emplace_back(packs.substr(0, colon));
        packs.remove_prefix(std::min(colon + 1, packs.size()));
    }
    return options;
}

}  // namespace lode
