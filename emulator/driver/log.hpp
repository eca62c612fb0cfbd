// The emulator's log: lines for the test interface, the driver's log entry points (cuLogs…) and,
// with LODE_EMULATOR_LOG=stderr, the terminal.
#pragma once

#include "emulator/driver/control.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lode::emulator::driver::log {

enum class Level : int { error = 0, warning = 1, information = 2 };

/// Adds a line, which may contain newlines. Never throws; thread-safe, as the following are.
void write(Level level, std::string_view line) noexcept;

/// Prints a line at the end of the process, when no callback can receive it any more.
void show_last(std::string_view line) noexcept;
/// Adds a line only for the hook and the terminal, or an error only for the driver's log.
void show(Level level, std::string_view line) noexcept;
void note(std::string_view line) noexcept;

/// Logs an error and stores it as the report of the last failure.
void report(std::string_view text) noexcept;
/// Stores the report of findings that have been logged: only their headlines where the terminal has
/// the facts, or `lode emulate` prints them.
void keep_findings(std::string_view text) noexcept;

/// Returns and clears the report of the last failure; empty if there is none.
std::string take_report();

void set_hook(lode_emulator_log_hook hook, void* user);

/// A callback of cuLogsRegisterCallback. It doesn't receive lines of level `information`.
using Callback = std::function<void(void* data, int level, char* message, std::size_t length)>;
void* add_callback(Callback callback, void* data);
/// False if `handle` isn't registered.
bool remove_callback(const void* handle);

/// The number of the next line.
std::uint32_t next_line();
/// The retained lines from number `first` on; sets `next` to the number after the last.
std::string lines_from(std::uint32_t first, std::uint32_t& next);

/// Clears lines, report and callbacks, but not the hook.
void clear();

}  // namespace lode::emulator::driver::log
