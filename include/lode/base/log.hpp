/// \file
/// The log hook. lode writes nothing to stdout or stderr; it calls the hook if the host sets one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace lode {

/// How much a log line matters.
enum class LogLevel : std::uint8_t {
    debug,    ///< For hosts; lode itself writes no line of this level.
    info,     ///< What was opened, chosen or loaded.
    warning,  ///< Something went wrong that lode could work around.
    error     ///< A host function on a stream threw, or the software device found an error.
};

/// "debug", "info", "warning" or "error".
std::string_view to_string(LogLevel level) noexcept;

/// Receives one line without a newline. Called from any thread, possibly from several at once; must
/// not throw and must not call back into the object that logs.
using LogHook = std::function<void(LogLevel level, std::string_view line)>;

/// A shareable log hook; a default-constructed Log drops everything. Copies share the hook.
/// Thread-safe if the hook is.
class Log {
public:
    Log() noexcept = default;
    /// Shares `hook` among all copies; an empty one drops everything.
    explicit Log(LogHook hook);

    /// Whether there is a hook: false lets a caller skip making the line.
    [[nodiscard]] bool enabled() const noexcept { return hook_ != nullptr; }

    /// Hands one line to the hook; does nothing without one. An exception from the hook is dropped.
    void write(LogLevel level, std::string_view line) const noexcept;

private:
    std::shared_ptr<const LogHook> hook_;
};

}  // namespace lode
