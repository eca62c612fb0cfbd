// The command's output: everything for stdout and stderr goes through here. If a stream is closed,
// full or gone, its text is lost and nothing throws or raises a signal; main.cpp decides on the
// exit code. Only end_quietly() ends the process.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// Call first. Opens standard streams that the parent closed on /dev/null, so that no file opened
/// later gets their number and the command's text; writing to them still fails. Makes writing to a
/// pipe without a reader or past a file size limit an error instead of a signal.
void prepare_streams() noexcept;

/// Gives signals back the meaning that they had before prepare_streams(), for a program that is
/// about to replace this one. Safe between fork() and exec().
void restore_signals() noexcept;

/// Writes all of `text` to stdout, after flushing stdio's buffer (kernels' printf). Returns 0, or
/// errno.
[[nodiscard]] int write_stdout(std::string_view text) noexcept;

/// Writes `text` to stderr as far as possible.
void write_stderr(std::string_view text) noexcept;

/// The columns of the lines on the stream `file`: COLUMNS if it is set, else those of its terminal.
/// any_width if there is none.
[[nodiscard]] std::size_t text_width(int file);

/// Whether stderr is a terminal on which a line can be replaced.
[[nodiscard]] bool can_show_progress();

/// Replaces the line of progress on stderr, cut to the terminal's width; an empty text removes it.
/// Anything else that is written removes it first. Thread-safe.
void show_progress(std::string_view line) noexcept;

/// Ends the process silently with SIGPIPE, as other tools do on a broken pipe. Returns if the
/// parent ignores that signal.
void end_quietly() noexcept;

/// A log that prints each warning as one line on stderr at once and keeps it for warnings(). Errors
/// aren't printed: they reach the user as the command's answer. Thread-safe.
[[nodiscard]] Log warning_log();

/// Every warning so far, in order, for --json. Thread-safe.
[[nodiscard]] std::vector<std::string> warnings();

/// From now on warning_log() collects what the software device finds wrong in kernels: everything
/// that it logs as an error.
void watch_findings();

/// The collected findings, one sentence each; nullopt unless watch_findings() was called.
/// Thread-safe.
[[nodiscard]] std::optional<std::vector<std::string>> findings();

}  // namespace lode::tool
