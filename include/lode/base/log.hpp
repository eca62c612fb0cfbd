// The log hook: lode writes nothing to stdout or stderr; it calls this, if the host sets one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace lode {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// "debug", "info", "warning" or "error".
std::string_view to_string(LogLevel level) noexcept;

/// Receives one line without a newline. Called from any thread, possibly at the same time from
/// several; must not throw and must not call back into the object that logs.
using LogHook = std::function<void(LogLevel level, std::string_view line)>;

/// A shareable log hook; a default-constructed Log drops everything. Thread-safe.
class Log {
public:
    Log() noexcept = default;
    explicit Log(LogHook hook);

    [[nodiscard]] bool enabled() const noexcept { return hook_ != nullptr; }

    /// Hands one line to the hook; does nothing without one. Swallows what the hook throws.
    void write(LogLevel level, std::string_view line) const noexcept;

private:
    std::shared_ptr<const LogHook> hook_;
};

}  // namespace lode
