// Runs the lode command as its users do, and catches everything it says.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lode::test {

/// What a finished process left behind.
struct Outcome {
    int exit_code = -1;  ///< -1 when a signal ended it.
    std::string out;
    std::string err;

    /// stdout as one JSON value; a test failure when it isn't.
    [[nodiscard]] nlohmann::json json() const;
    [[nodiscard]] bool says(std::string_view text) const {
        return out.find(text) != std::string::npos;
    }
    [[nodiscard]] bool complains(std::string_view text) const {
        return err.find(text) != std::string::npos;
    }
};

/// Variables to set on top of the test's own environment.
using Environment = std::map<std::string, std::string>;

/// The environment of a machine without a driver.
inline const Environment no_driver = {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"}};

/// Runs `lode` with these arguments and waits for it. With `out`, its stdout goes there and isn't
/// caught.
Outcome lode(const std::vector<std::string>& arguments, const Environment& environment = {},
             const std::filesystem::path& out = {});

}  // namespace lode::test
