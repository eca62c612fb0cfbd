#include "base/cache_folder.hpp"
#include "base/try.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/cache.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

template <class Value>
struct Choice {
    std::string_view name;
    Value value;
};

constexpr Choice<CacheMode> modes[] = {
    {"off", CacheMode::off}, {"read-only", CacheMode::read_only}, {"on", CacheMode::on}};
constexpr Choice<CacheTrust> trusts[] = {{"any", CacheTrust::any},
                                         {"signed", CacheTrust::signed_only}};
constexpr Choice<JitPolicy> policies[] = {
    {"allow", JitPolicy::allow}, {"warn", JitPolicy::warn}, {"forbid", JitPolicy::forbid}};
constexpr Choice<PtxPolicy> ptx_policies[] = {{"driver", PtxPolicy::driver},
                                              {"assemble", PtxPolicy::assemble}};

/// Sets `value` from a variable whose value is one of the listed choices.
template <class Value, std::size_t count>
Status choose(std::string_view variable, const Choice<Value> (&choices)[count], Value& value) {
    LODE_TRY_ASSIGN(const auto text, environment_word(variable));
    for (const auto& choice : choices) {
        if (text == choice.name) value = choice.value;
    }
    return {};
}

/// The paths of a variable, separated by colons.
std::vector<std::filesystem::path> environment_paths(std::string_view variable) {
    std::vector<std::filesystem::path> paths;
    const auto list = environment(variable);
    std::string_view rest = list ? std::string_view(*list) : std::string_view();
    while (!rest.empty()) {
        const auto colon = std::min(rest.find(':'), rest.size());
        if (colon > 0) paths.emplace_back(rest.substr(0, colon));
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    return paths;
}

}  // namespace

Result<WorkerOptions> WorkerOptions::from_environment() {
    WorkerOptions options;
    const auto limit = [](std::string_view variable, std::uint64_t most) {
        return environment_number(variable, 0, most).map([](auto value) {
            return value.value_or(0);
        });
    };
    constexpr std::uint64_t most_processes = 1024;
    constexpr std::uint64_t day_ms = std::uint64_t{24} * 60 * 60 * 1000;
    const auto workers = environment("LODE_WORKERS");
    if (workers == "off") {
        options.policy = WorkerPolicy::never;
    } else if (workers && workers != "auto") {
        const auto processes = limit("LODE_WORKERS", most_processes);
        if (!processes) {
            return fail(Errc::invalid_argument,
                        fmt::format("LODE_WORKERS is '{}'; it must be auto, off, or a number from "
                                    "0 to {}.",
                                    *workers, most_processes));
        }
        options.policy = *processes == 0 ? WorkerPolicy::never : WorkerPolicy::always;
        options.max_processes = static_cast<int>(*processes);
    }
    LODE_TRY_ASSIGN(const auto milliseconds, limit("LODE_COMPILE_TIMEOUT", day_ms));
    LODE_TRY_ASSIGN(options.limits.memory_bytes, limit("LODE_COMPILE_MEMORY", ~std::uint64_t{0}));
    options.limits.time = std::chrono::milliseconds(milliseconds);
    return options;
}

Result<CacheOptions> CacheOptions::from_environment() {
    CacheOptions options;
    LODE_TRY(check_environment());
    LODE_TRY(choose("LODE_CACHE", modes, options.mode));
    LODE_TRY(choose("LODE_CACHE_TRUST", trusts, options.trust));
    LODE_TRY(choose("LODE_JIT", policies, options.policy));
    LODE_TRY(choose("LODE_PTX", ptx_policies, options.ptx));
    LODE_TRY_ASSIGN(options.remote, RemoteCacheOptions::from_environment());
    LODE_TRY_ASSIGN(options.workers, WorkerOptions::from_environment());
    options.folder = default_cache_folder();
    options.record = environment("LODE_RECORD").value_or("");
    constexpr std::uint64_t least_bytes = std::uint64_t{1024} * 1024;
    LODE_TRY_ASSIGN(const auto bytes, environment_number("LODE_CACHE_MAX_BYTES", least_bytes));
    options.max_bytes = bytes.value_or(options.max_bytes);
    LODE_TRY_ASSIGN(const auto pch_bytes, environment_number("LODE_PCH_MAX_BYTES", 0));
    options.precompiled_headers.max_bytes =
        pch_bytes.value_or(options.precompiled_headers.max_bytes);
    options.packs = environment_paths("LODE_CACHE_PACKS");
    options.keys = environment_paths("LODE_CACHE_KEYS");
    options.sign_with = environment("LODE_CACHE_SIGN_WITH").value_or("");
    return options;
}

}  // namespace LODE_NAMESPACE
