// The part of `lode doctor` that looks at environment variables.
#include "base/foreign_environment.hpp"
#include "tools/lode/doctor.hpp"
#include "tools/lode/misspelt_variables.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// A value of a variable that is valid and has a price.
struct PricedValue {
    std::string_view name;
    std::string_view value;
    Effect effect;
    std::string_view message;
    std::string_view cure;
};

constexpr PricedValue lode_values[] = {
    {"LODE_CACHE", "off", Effect::slow,
     "LODE_CACHE is off: each start compiles every kernel that it loads.", "Unset LODE_CACHE."},
    {"LODE_CACHE", "read-only", Effect::slow,
     "LODE_CACHE is read-only: a kernel that isn't in the cache is compiled at each start.",
     "Fill the cache with `lode warm`, or unset LODE_CACHE."},
    {"LODE_FORCE_PTX", "1", Effect::slow,
     "LODE_FORCE_PTX is 1: the driver compiles PTX where machine code would do.",
     "Unset LODE_FORCE_PTX outside of tests."},
    {"LODE_SYNC_LAUNCHES", "1", Effect::slow,
     "LODE_SYNC_LAUNCHES is 1: every launch waits until its kernel has ended.",
     "Unset LODE_SYNC_LAUNCHES once the failing launch is found."},
};

constexpr PricedValue driver_values[] = {
    {"CUDA_LAUNCH_BLOCKING", "1", Effect::slow,
     "CUDA_LAUNCH_BLOCKING is 1: every launch waits until its kernel has ended.",
     "Unset CUDA_LAUNCH_BLOCKING."},
    {"CUDA_MODULE_LOADING", "EAGER", Effect::slow,
     "CUDA_MODULE_LOADING is EAGER: the driver loads every kernel of each library at once.",
     "Unset CUDA_MODULE_LOADING, or set it to LAZY."},
    {"CUDA_FORCE_PTX_JIT", "1", Effect::may_fail,
     "CUDA_FORCE_PTX_JIT is 1: the driver ignores machine code, and code without PTX isn't loaded.",
     "Unset CUDA_FORCE_PTX_JIT; LODE_FORCE_PTX=1 makes lode choose PTX."},
};
/// Those that matter where the driver compiles PTX.
constexpr PricedValue ptx_values[] = {
    {"CUDA_CACHE_DISABLE", "1", Effect::slow,
     "CUDA_CACHE_DISABLE is 1, and the driver compiles PTX here: it does so at each start.",
     "Unset CUDA_CACHE_DISABLE."},
    {"CUDA_DISABLE_PTX_JIT", "1", Effect::fails,
     "CUDA_DISABLE_PTX_JIT is 1, but the devices here need the driver to compile PTX.",
     "Unset CUDA_DISABLE_PTX_JIT."},
};

void check_values(std::span<const PricedValue> values, Findings& findings) {
    for (const auto& [name, value, effect, message, cure] : values) {
        if (foreign_environment(name) != std::string(value)) continue;
        findings.push_back({effect, std::string(name), std::string(message), std::string(cure),
                            Errc::invalid_argument});
    }
}

}  // namespace

std::string_view to_string(Effect effect) noexcept {
    switch (effect) {
        case Effect::fails:
            return "fails";
        case Effect::may_fail:
            return "may fail";
        case Effect::slow:
            break;
    }
    return "slow";
}

void add_wrong_value(std::string_view check, const Error& error, Findings& findings) {
    const bool is_known = std::ranges::any_of(
        findings, [&](const Finding& finding) { return finding.message == error.message; });
    if (is_known) return;
    findings.push_back({Effect::fails, std::string(check), error.message,
                        "Correct the variable or unset it.", error.code});
}

void check_variables(Findings& findings) {
    const bool uses_emulator = environment("LODE_DRIVER") == "emulator";
    for (const auto& row : environment_table()) {
        if (row.allowed.empty()) continue;
        if (row.name.starts_with("LODE_EMULATOR_") && !uses_emulator) continue;
        if (const auto word = environment_word(row.name); !word)
            add_wrong_value(row.name, word.error(), findings);
    }
    if (const auto options = WorkerOptions::from_environment(); !options)
        add_wrong_value("workers", options.error(), findings);
    if (const auto options = CacheOptions::from_environment(); !options)
        add_wrong_value("cache", options.error(), findings);
    check_values(lode_values, findings);
    if (const auto file = environment("LODE_RECORD")) {
        findings.push_back({Effect::slow, "LODE_RECORD",
                            fmt::format("LODE_RECORD is '{}': every request for code is compared "
                                        "with those of the file.",
                                        *file),
                            "Unset LODE_RECORD when the recording is complete."});
    }
    for (const auto& [name, meant] : misspelt_variables()) {
        findings.push_back({Effect::may_fail, name,
                            fmt::format("{} is set, but lode has no such variable.", name),
                            fmt::format("{} may be meant.", meant), Errc::invalid_argument});
    }
}

void check_driver_variables(bool uses_ptx, Findings& findings) {
    check_values(driver_values, findings);
    if (uses_ptx) check_values(ptx_values, findings);
}

}  // namespace lode::tool
