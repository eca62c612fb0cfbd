// The emulator's log: one stream of lines for the test instrument, the driver's own log entry
// points (cuLogs…) and, when LODE_EMULATOR_LOG=stderr asks for it, the terminal.
#pragma once

#include "emulator/driver/control.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lode::emulator::driver::log {

enum class Level : int { error = 0, warning = 1, information = 2 };

/// Adds a line, which may hold newlines. Never throws; thread-safe.
void write(Level level, std::string_view line) noexcept;

/// Adds an error and keeps it as the report of the last failure.
void report(std::string_view text) noexcept;
/// Keeps a report whose lines the log has already.
void keep_report(std::string_view text) noexcept;

/// The report of the last failure, forgotten by this call; empty when there is none.
std::string take_report();

void set_hook(lode_emulator_log_hook hook, void* user);

/// A callback of cuLogsRegisterCallback. Lines of level information aren't handed out.
using Callback = std::function<void(void* data, int level, char* message, std::size_t length)>;
void* add_callback(Callback callback, void* data);
/// false when `handle` isn't registered.
bool remove_callback(const void* handle);

/// The number of the next line.
std::uint32_t next_line();
/// The kept lines from number `first` on, and the number after the last.
std::string lines_from(std::uint32_t first, std::uint32_t& next);

/// Forgets lines, report and callbacks; the hook stays.
void clear();

}  // namespace lode::emulator::driver::log
