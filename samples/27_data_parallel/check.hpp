// Shared by all samples: finding kernel files, checks, and the exit code.
#pragma once

#include <lode/base/unwrap.hpp>
#include <lode/runtime/runtime.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sample {

/// The path of kernel file `name`: in the sample's source folder, or beside the program if the
/// build folder was copied to another machine.
inline std::filesystem::path kernel_file(const std::string& name) {
    const auto in_source = std::filesystem::path(SAMPLE_SOURCE_DIR) / name;
    if (std::filesystem::exists(in_source)) return in_source;
    return std::filesystem::canonical("/proc/self/exe").parent_path() / name;
}

/// Opens a driver: by default CUDA's, or lode's software device if there is none. Warnings, such as
/// that fallback, go to stderr.
inline lode::Runtime open_runtime(const lode::DriverSearch& search = {.emulator_fallback = true}) {
    const lode::Log warnings([](lode::LogLevel level, std::string_view line) {
        if (level == lode::LogLevel::warning)
            std::fprintf(stderr, "lode: %.*s\n", static_cast<int>(line.size()), line.data());
    });
    return lode::unwrap(lode::Runtime::open({.driver = search, .log = warnings}));
}

/// Ends the sample as failed unless `holds`.
inline void check(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("failed: " + what);
}

/// Runs `body`. Exit code: 0 if it returns, 77 ("skipped" for ctest) on a machine without a driver
/// or a device, 1 on any other failure.
template <class Body>
int run(Body&& body) {
    constexpr int skipped = 77;
    try {
        body();
        return 0;
    } catch (const lode::Exception& failure) {
        const auto code = failure.error().code;
        if (code == lode::Errc::driver_missing || code == lode::Errc::no_device) {
            const std::string& message = failure.error().message;
            std::printf("Skipped: %s (%s).\n", message.substr(0, message.find(". ")).c_str(),
                        std::string(to_string(code)).c_str());
            return skipped;
        }
        std::fprintf(stderr, "%s\n", failure.what());
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
    }
    return 1;
}

}  // namespace sample
