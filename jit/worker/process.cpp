#include "jit/worker/process.hpp"

#include "base/file.hpp"
#include "base/os/socket.hpp"
#include "jit/worker/channel.hpp"
#include "jit/worker/jail.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds memory_interval{5};
constexpr std::chrono::milliseconds stop_interval{20};

std::string describe_end(const os::ProcessEnd& end) {
    using Kind = os::ProcessEnd::Kind;
    if (end.kind == Kind::unknown) return "ended";
    if (end.kind == Kind::exited) return fmt::format("ended with code {}", end.number);
    return fmt::format("was ended by {}", os::signal_name(end.number));
}

/// Whether a process ended by a fault of its own, or because something else ended it.
Failure failure_of(const os::ProcessEnd& end) noexcept {
    using Kind = os::ProcessEnd::Kind;
    return end.kind == Kind::exited || end.kind == Kind::faulted ? Failure::crashed
                                                                 : Failure::killed;
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                std::string jail) {
    auto variables = worker_environment(!jail.empty());
    std::vector<std::string> arguments;
    if (!jail.empty()) arguments.push_back(std::move(jail));
    std::unique_ptr<Process> process(new Process);
    const int failed = process->child_.start(program, std::move(arguments), std::move(variables));
    if (failed != 0) return fail_from_errno("Starting a worker", program, failed);
    return process;
}

tl::unexpected<Error> Process::refuse(Errc code, std::string message) {
    (void)child_.end();
    return fail(code, std::move(message));
}

Result<Answer> Process::run(Request request, const CompileControl& control) {
    failure_ = Failure::refused;  // Unless the conversation says something else; it may throw.
    request.is_measured = resident_bytes().has_value();
    auto answer = converse(request, control);
    if (!answer) return answer;
    if (!answer->image && answer->image.error().code == Errc::out_of_memory) {
        (void)child_.end();  // The worker ends too, or has little left.
    } else {
        failure_ = Failure::none;
    }
    return answer;
}

Result<Answer> Process::converse(const Request& request, const CompileControl& control) {
    const auto what = [&] { return fmt::format("'{}'", request.compilation.source.name()); };
    const CompileLimits& limits = request.compilation.limits;
    const auto start = Clock::now();
    // Sums with extreme durations overflow.
    const auto time =
        std::min<std::chrono::milliseconds>(limits.time, std::chrono::hours(24 * 365));
    Sender sender(format_request(request));
    Receiver receiver;
    bool is_sent = false;
    for (;;) {
        if (!is_sent) {
            const auto sent = sender.step(child_.socket());
            is_sent = sent != Transfer::waiting;
            // The worker's end shows when receiving; a worker that lives shall not wait for more.
            if (sent == Transfer::closed) os::shut_down_sending(child_.socket());
        }
        const auto received = receiver.step(child_.socket());
        if (received == Transfer::complete) break;
        if (received == Transfer::closed) {
            const os::ProcessEnd end = child_.end();
            failure_ = failure_of(end);
            return fail(Errc::compiler_failed,
                        fmt::format("The compiler's process {} while it compiled {}.",
                                    describe_end(end), what()));
        }
        if (received == Transfer::damaged) {
            return refuse(
                Errc::compiler_failed,
                fmt::format("The compiler's process for {} sent what isn't an answer.", what()));
        }
        if (control.is_stopped()) {
            (void)child_.end();
            return fail_cancelled(request.compilation.source.name());
        }
        if (limits.memory_bytes != 0 && resident_bytes().value_or(0) > limits.memory_bytes) {
            (void)child_.end();
            return fail_memory_limit(request);
        }
        auto wait = stop_interval;
        if (limits.time.count() > 0) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(start + time - Clock::now());
            if (left.count() <= 0) {
                return refuse(Errc::timed_out, fmt::format("Compiling {} took longer than {} ms.",
                                                           what(), limits.time.count()));
            }
            wait = std::min(wait, left);
        }
        if (limits.memory_bytes != 0) wait = std::min(wait, memory_interval);
        const auto traffic = is_sent ? os::Traffic::incoming : os::Traffic::both;
        if (os::wait_for(child_.socket(), traffic, wait) < 0)
            std::this_thread::sleep_for(memory_interval);  // The system has no memory for it.
    }
    auto answer = parse_answer(receiver.message());
    if (!answer) return refuse(Errc::compiler_failed, std::move(answer).error().message);
    return answer;
}

}  // namespace LODE_NAMESPACE::worker
