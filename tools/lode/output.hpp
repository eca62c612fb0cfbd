// What the command says, and where: the one way to stdout and stderr. Nothing here throws, raises a
// signal or ends the process but end_quietly(): a stream that is closed, full or gone costs its
// text and never the command's exit code.
#pragma once

#include <lode/base/log.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// Call first. Standard streams that the parent closed are opened on /dev/null so that writing to
/// them fails: no file that is opened later can take their numbers and get the command's text.
/// Writing to a pipe that nobody reads, and past a file size limit, becomes an error, not a signal.
void prepare_streams() noexcept;

/// Writes all of `text` to stdout, behind what others (kernels' printf) have left in stdio's
/// buffer. Returns 0, or errno.
[[nodiscard]] int write_stdout(std::string_view text) noexcept;

/// Writes to stderr as much as it takes.
void write_stderr(std::string_view text) noexcept;

/// Ends the process as a broken pipe ends other tools: by SIGPIPE, without a word. Returns where
/// the parent has chosen to ignore that signal.
void end_quietly() noexcept;

/// A log that prints each warning as one line on stderr at once and keeps it for warnings().
/// Errors reach the user as the command's answer. Thread-safe.
[[nodiscard]] Log warning_log();

/// Every warning so far, in order: for --json. Thread-safe.
[[nodiscard]] std::vector<std::string> warnings();

/// From now on warning_log() keeps what the software device finds wrong in kernels: all that it
/// logs as an error.
void watch_findings();

/// What it found, a sentence each; nullopt when nobody watches. Thread-safe.
[[nodiscard]] std::optional<std::vector<std::string>> findings();

}  // namespace lode::tool
