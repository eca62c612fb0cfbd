// A program with the software device as its CUDA driver: `lode emulate`, and `lode debug`.
#pragma once

#include "tools/lode/child_process.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lode::tool {

struct Emulation {
    std::vector<std::string> command;
    std::string devices;   ///< LODE_EMULATOR_DEVICES; empty: as it is.
    std::string checks;    ///< LODE_EMULATOR_CHECK; empty: as it is.
    std::string findings;  ///< The file for SARIF; empty: none.
    bool allow_unused = false;
    ChildOutput output = ChildOutput::to_stdout;
    /// Is called before the program starts, with its private folder, and may add variables for it.
    /// It isn't started after false.
    std::function<Result<bool>(const std::filesystem::path& folder, ChildEnvironment&)> begin = {};
};

/// The library of the software device. Opening it reports wrong devices and checks before the
/// program starts.
[[nodiscard]] Result<std::filesystem::path> find_device(const Emulation& values);

/// Runs the program. The answer has what the device has found in all of its processes.
[[nodiscard]] Result<Answer> emulate(const Emulation& values, const std::filesystem::path& device);

}  // namespace lode::tool
