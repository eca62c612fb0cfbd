#include <lode/base/log.hpp>

#include <cstdio>
#include <utility>

namespace LODE_NAMESPACE {

std::string_view to_string(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error";
    }
    return "unknown";
}

Log::Log(LogHook hook) : hook_(hook ? std::make_shared<const LogHook>(std::move(hook)) : nullptr) {}

Log Log::to_stderr(LogLevel least) {
    return Log([least](LogLevel level, std::string_view line) {
        if (level >= least)
            std::fprintf(stderr, "lode: %.*s\n", static_cast<int>(line.size()), line.data());
    });
}

void Log::write(LogLevel level, std::string_view line) const noexcept {
    if (!hook_) return;
    try {
        (*hook_)(level, line);
    } catch (...) {  // NOLINT(bugprone-empty-catch): a broken hook mustn't break the caller.
    }
}

}  // namespace LODE_NAMESPACE
