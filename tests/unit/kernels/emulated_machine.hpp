// One emulated device for the tests of the kernel families.
#pragma once

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace lode::test {

/// The architectures of the emulated machine, which are fixed for the life of a process.
inline constexpr std::array<std::string_view, 5> emulated_architectures{"sm_75", "sm_80", "sm_90",
                                                                        "sm_100", "sm_120"};

/// One emulated device, and a loader whose log is kept.
struct Machine {
    explicit Machine(std::string_view architecture) {
        ::setenv("LODE_EMULATOR_DEVICES", "sm_75,sm_80,sm_90,sm_100,sm_120", 1);
        const auto at = std::ranges::find(emulated_architectures, architecture) -
                        emulated_architectures.begin();
        const auto runtime = lode::Runtime::open(
            {.driver = {.library = LODE_EMULATOR_LIBRARY}, .cache = lode::CacheOptions{}});
        if (!runtime) FAIL(runtime.error().describe());
        const auto device = runtime->device(static_cast<int>(at));
        if (!device) FAIL(device.error().describe());
        const lode::Log log([this](lode::LogLevel level, std::string_view line) {
            lines.push_back(std::string(to_string(level)) + ": " + std::string(line));
        });
        loader.emplace(*runtime, *device, log, lode::TunedChoices(std::filesystem::path()));
        compiles = lode::Compiler().info().has_value();
        if (!compiles) MESSAGE("skipped: there is no compiler");
    }

    std::vector<std::string> lines;
    std::optional<lode::VariantLoader> loader;
    bool compiles = false;
};

}  // namespace lode::test
