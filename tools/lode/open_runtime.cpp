#include "tools/lode/commands.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace lode::tool {

Result<Runtime> open_runtime() {
    // Errors reach the user as the command's answer.
    const Log warnings([](LogLevel level, std::string_view line) {
        if (level == LogLevel::warning) fmt::print(stderr, "lode: {}\n", line);
    });
    return Runtime::open({.driver = {.emulator_fallback = true}, .log = warnings});
}

}  // namespace lode::tool
