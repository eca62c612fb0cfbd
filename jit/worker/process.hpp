// One worker process.
#pragma once

#include "jit/compile_control.hpp"
#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>
#include <unistd.h>

namespace lode::worker {

/// What a failed run() means for a later attempt.
enum class Failure : std::uint8_t {
    none,
    refused,  ///< A limit, an answer that can't be read, or the caller gave up.
    crashed,  ///< The compiler crashed.
    killed    ///< Something else ended the worker: another attempt may succeed.
};

/// For one thread at a time. The destructor ends the process and waits for it; in a forked child of
/// the host, it leaves the host's worker alone.
class Process {
public:
    /// Errors: file_failed if the program can't be started.
    [[nodiscard]] static Result<std::unique_ptr<Process>> start(
        const std::filesystem::path& program);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Sends a request and waits for the answer. After an error the process is dead, and failure()
    /// says why. Errors: timed_out; out_of_memory for the limit; cancelled within 20 ms after
    /// CompileControl asks for it; compiler_failed if the process ends, or answers what isn't an
    /// answer.
    [[nodiscard]] Result<Answer> run(const Request& request, const CompileControl& control);

    [[nodiscard]] Failure failure() const noexcept { return failure_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    Process(pid_t pid, int socket) noexcept : pid_(pid), socket_(socket), host_(::getpid()) {}
    /// Kills the process unless it has ended, waits for it, and gives its end as a clause.
    std::string end();
    /// Ends the process; another attempt would fail too.
    tl::unexpected<Error> refuse(Errc code, std::string message);

    pid_t pid_;
    int socket_;
    pid_t host_;
    Failure failure_ = Failure::none;
};

/// The resident memory of a process, in bytes; 0 if it isn't known.
[[nodiscard]] std::uint64_t resident_bytes(pid_t pid);

}  // namespace lode::worker
