/// \file
/// The log hook. lode writes to stderr only through Log::to_stderr(); otherwise it calls the hook
/// if the host sets one.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The severity of a log line.
enum class LogLevel : std::uint8_t {
    debug,    ///< For hosts; lode itself logs nothing at this level.
    info,     ///< What was opened, chosen or loaded.
    warning,  ///< Something went wrong, but lode continued.
    error     ///< A host function on a stream threw, or the software device found an error.
};

/// "debug", "info", "warning" or "error".
std::string_view to_string(LogLevel level) noexcept;

/// Receives one line without a newline. Called from any thread, possibly from several at once; must
/// not throw and must not call back into the object that logs.
using LogHook = std::function<void(LogLevel level, std::string_view line)>;

/// A shareable log hook; a default-constructed Log discards everything. Copies share the hook.
/// Thread-safe if the hook is.
class Log {
public:
    Log() noexcept = default;
    /// Shares `hook` among all copies; an empty one discards everything.
    explicit Log(LogHook hook);

    /// Writes lines of at least this severity to stderr, each after "lode: ".
    [[nodiscard]] static Log to_stderr(LogLevel least = LogLevel::warning);

    /// Whether there is a hook: if not, a caller can skip formatting the line.
    [[nodiscard]] bool enabled() const noexcept { return hook_ != nullptr; }

    /// Passes one line to the hook; does nothing without one. Exceptions from the hook are ignored.
    void write(LogLevel level, std::string_view line) const noexcept;

private:
    std::shared_ptr<const LogHook> hook_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
