// A program that the command runs in its place, with its terminal and its signals.
#pragma once

#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lode::tool {

/// Exit codes for a program that can't be started, as shells use them.
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

/// How a program ended.
struct ChildEnd {
    /// Its exit code; 128 and the number of the signal that ended it.
    int exit_code = 0;
    /// errno, if it couldn't be started; the exit code is 126 or 127 then.
    int start_error = 0;
};

/// Variables to set for the program on top of this process's own.
using ChildEnvironment = std::vector<std::pair<std::string, std::string>>;

/// `folder`, followed by the folders that a variable has already.
[[nodiscard]] std::string in_front_of(const std::filesystem::path& folder,
                                      const std::optional<std::string>& before);

/// Which libraries the loader asks first: `lode emulate` goes on to the cache's stand-ins.
enum class AuditOrder : std::uint8_t { first, last };
/// Variables with which the loader of a program asks a library of lode's what to open, beside those
/// that it asks already.
[[nodiscard]] ChildEnvironment audited_by(const std::filesystem::path& library, AuditOrder order);

/// Where what a program writes to stdout goes.
enum class ChildOutput : std::uint8_t { to_stdout, to_stderr };

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT wait until run_child() or the end of the process handles
/// them, so that nothing is left behind. Make it before what has to be cleaned up, and before any
/// thread is started.
class HeldSignals {
public:
    HeldSignals() noexcept;
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;
    /// Lets a signal that is still waiting end the process.
    ~HeldSignals();
};

/// Runs a program, which is searched for in PATH (the new one, if the environment has it), and
/// waits for its end. Held signals that another process has sent are passed on to the program;
/// those of the terminal reach it anyway. Needs HeldSignals.
[[nodiscard]] ChildEnd run_child(const std::vector<std::string>& command,
                                 const ChildEnvironment& environment,
                                 ChildOutput output = ChildOutput::to_stdout);

/// The error for ChildEnd::start_error.
[[nodiscard]] Error start_failure(const std::string& program, int problem);

}  // namespace lode::tool
