// One worker process.
#pragma once

#include "base/descriptor.hpp"
#include "jit/compile_control.hpp"
#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {

/// What a failed run() means for a later attempt.
enum class Failure : std::uint8_t {
    none,
    refused,  ///< A limit, an answer that can't be read, or the caller gave up.
    crashed,  ///< The compiler crashed.
    killed    ///< Something else ended the worker: another attempt may succeed.
};

/// For one thread at a time, except resident_bytes(). The destructor ends the process and waits for
/// it; in a forked child of the host, it leaves the host's worker alone.
class Process {
public:
    /// Starts the program, in a jail if there is an argument for it (jail.hpp). Errors: file_failed
    /// if it can't be started, or if there is no descriptor to measure its memory with.
    [[nodiscard]] static Result<std::unique_ptr<Process>> start(
        const std::filesystem::path& program, std::string jail = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Sends a request and waits for the answer. After an error the process is dead, and failure()
    /// says why. Errors: timed_out; out_of_memory for the limit; cancelled within 20 ms after
    /// CompileControl asks for it; compiler_failed if the process ends, or answers what isn't an
    /// answer. The limits are the request's.
    [[nodiscard]] Result<Answer> run(Request request, const CompileControl& control);

    [[nodiscard]] Failure failure() const noexcept { return failure_; }
    /// The resident memory, in bytes; nullopt if the system doesn't say it.
    [[nodiscard]] std::optional<std::uint64_t> resident_bytes() const;
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    Process(pid_t pid, Descriptor socket) noexcept
        : pid_(pid), socket_(std::move(socket)), host_(::getpid()) {}
    [[nodiscard]] Result<Answer> converse(const Request& request, const CompileControl& control);
    /// Kills the process and its group, and waits for the process: not longer than 5 s, which is
    /// enough unless the system holds it. Gives what the system says of its end; zeros for nothing.
    siginfo_t end() noexcept;
    /// Ends the process; another attempt would fail too.
    tl::unexpected<Error> refuse(Errc code, std::string message);

    pid_t pid_;
    Descriptor socket_;
    /// /proc/PID/statm, open as long as the process lives: a limit holds even if descriptors run
    /// out. None if the system has no such file.
    Descriptor memory_;
    pid_t host_;
    Failure failure_ = Failure::none;
};

}  // namespace LODE_NAMESPACE::worker
