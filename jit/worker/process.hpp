// One worker process.
#pragma once

#include "base/os/child.hpp"
#include "jit/request/compile_control.hpp"
#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace LODE_NAMESPACE::worker {

/// What a failed run() means for a later attempt.
enum class Failure : std::uint8_t {
    none,
    refused,  ///< A limit, an answer that can't be read, or the caller gave up.
    crashed,  ///< The compiler crashed.
    killed    ///< Something else ended the worker: another attempt may succeed.
};

/// For one thread at a time, except resident_bytes(). The destructor ends the process (os::Child).
class Process {
public:
    /// Starts the program, in a jail if there is an argument for it (jail.hpp). Errors: file_failed
    /// if it can't be started, or if there is no descriptor to measure its memory with.
    [[nodiscard]] static Result<std::unique_ptr<Process>> start(
        const std::filesystem::path& program, std::string jail = {});

    /// Sends a request and waits for the answer. After an error the process is dead, and failure()
    /// says why. Errors: timed_out; out_of_memory for the limit; cancelled within 20 ms after
    /// CompileControl asks for it; compiler_failed if the process ends, or answers what isn't an
    /// answer. The limits are the request's.
    [[nodiscard]] Result<Answer> run(Request request, const CompileControl& control);

    [[nodiscard]] Failure failure() const noexcept { return failure_; }
    /// The resident memory, in bytes; nullopt if the system doesn't say it.
    [[nodiscard]] std::optional<std::uint64_t> resident_bytes() const {
        return child_.resident_bytes();
    }
    [[nodiscard]] os::ProcessId pid() const noexcept { return child_.id(); }

private:
    Process() noexcept = default;
    [[nodiscard]] Result<Answer> converse(const Request& request, const CompileControl& control);
    /// Ends the process; another attempt would fail too.
    tl::unexpected<Error> refuse(Errc code, std::string message);

    os::Child child_;
    Failure failure_ = Failure::none;
};

}  // namespace LODE_NAMESPACE::worker
