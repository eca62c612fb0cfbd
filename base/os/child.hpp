// Child: another program, in a process of its own.
#pragma once

#include "base/os/descriptor.hpp"
#include "base/os/process.hpp"

#include <lode/base/api.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::os {

/// How a process ended.
struct ProcessEnd {
    enum class Kind : std::uint8_t {
        unknown,
        exited,
        faulted,  ///< By a signal for what it did itself.
        killed    ///< By another signal.
    };
    Kind kind = Kind::unknown;
    int number = 0;  ///< The exit code or the signal.
};

/// "SIGKILL", or "signal 77" if it has no name.
[[nodiscard]] std::string signal_name(int number);

/// For one thread at a time, except resident_bytes(). The destructor ends the process; in a forked
/// child of the host, it leaves the host's process alone.
class Child {
public:
    /// The descriptor of the socket in the child.
    static constexpr int socket_in_child = 3;

    Child() noexcept = default;
    ~Child() { (void)end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Starts a program, once. It has one end of a socket, the host's standard error, nothing else
    /// that is open in the host, a process group of its own and no blocked or handled signals.
    /// Returns 0 or an errno value; also fails if there is no descriptor to measure memory with.
    [[nodiscard]] int start(const std::filesystem::path& program,
                            std::vector<std::string> arguments,
                            std::vector<std::string> environment);

    /// Kills the process and its group, and waits for the process: not longer than 5 s, which is
    /// enough unless the system holds it.
    ProcessEnd end() noexcept;

    [[nodiscard]] ProcessId id() const noexcept { return id_; }
    /// The host's end of the socket, which never waits.
    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    /// The resident memory; nullopt if the system doesn't say it.
    [[nodiscard]] std::optional<std::uint64_t> resident_bytes() const;

private:
    ProcessId id_ = 0;
    Descriptor socket_;
    /// Open as long as the process lives: a limit holds even if descriptors run out. None if the
    /// system doesn't say it.
    Descriptor memory_;
    ProcessId host_ = process_id();
};

}  // namespace LODE_NAMESPACE::os
