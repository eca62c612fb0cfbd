#include "tests/fault_sweep/worker_scenario.hpp"

#include "tests/support/endless_code.hpp"
#include "tests/support/result.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

namespace lode::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds time_limit{400};
constexpr std::uint64_t memory_limit = std::uint64_t{160} << 20;
/// Limits of compilations that should need less.
constexpr CompileLimits enough{.time = std::chrono::seconds(20),
                               .memory_bytes = std::uint64_t{1} << 30};
/// For the start of a worker, its end and the noise of a busy machine.
constexpr std::chrono::seconds margin{10};

constexpr const char* plain_code = "__global__ void k(int* x) { *x = 1; }";

struct Outcome {
    Result<std::string> result = fail(Errc::cancelled, "Not run.");
    Clock::duration time{};
};

struct Outcomes {
    Outcome plain, large, endless, after;
};

FaultRun run(const SystemFault& fault, const std::function<Compile()>& make, Outcomes& outcomes) {
    return run_with(fault, [&](const std::function<void(bool)>& set_faults) {
        const Compile compile = make();
        const auto run_one = [&](const std::string& code, CompileLimits limits, bool has_faults) {
            Outcome outcome;
            const auto start = Clock::now();
            set_faults(has_faults);
            try {
                outcome.result = compile(code, limits);
            } catch (const std::bad_alloc&) {
                set_faults(false);
                outcome.result = fail(Errc::out_of_memory, "The host's memory is exhausted.");
            }
            set_faults(false);
            outcome.time = Clock::now() - start;
            return outcome;
        };
        outcomes.plain = run_one(plain_code, enough, true);
        outcomes.large =
            run_one(large_code(), {.time = enough.time, .memory_bytes = memory_limit}, true);
        outcomes.endless = run_one(endless_code(), {.time = time_limit}, true);
        outcomes.after = run_one(plain_code, enough, false);
    });
}

std::size_t open_files() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Whether a process that this one started still has to be waited for.
bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Checks an error, which may be that of the fault.
void check_error(const Outcome& outcome, Clock::duration limit) {
    REQUIRE_FALSE(outcome.result.has_value());
    CAPTURE(outcome.result.error().message);
    CHECK(outcome.result.error().message.size() > 10);
    CHECK(outcome.time < limit + margin);
}

}  // namespace

WorkerOptions scenario_workers() {
    return {.policy = WorkerPolicy::always, .max_processes = 1, .program = LODE_WORKER_PROGRAM};
}

std::uint64_t check_scenario(const SystemFault& fault, const std::function<Compile()>& make) {
    INFO(std::string(fault.kind), " fails with ", std::string(std::strerror(fault.error)),
         " from call ", fault.first, " on, ", fault.count, " times");
    const auto files = open_files();
    Outcomes outcomes;
    const FaultRun done = run(fault, make, outcomes);
    if (!done.is_possible) {
        MESSAGE("skipped: the system doesn't let a process intercept its own calls");
        return 0;
    }
    CAPTURE(done.failed);
    const auto after = require(outcomes.after.result);
    if (outcomes.plain.result)
        CHECK(*outcomes.plain.result == after);
    else
        check_error(outcomes.plain, enough.time);
    check_error(outcomes.large, enough.time);
    // Its memory ends it, unless it never gets the request.
    if (fault.kind != "send" && fault.kind != "recv")
        CHECK(outcomes.large.result.error().code != Errc::timed_out);
    check_error(outcomes.endless, time_limit);
    if (done.failed == 0) {
        CHECK(outcomes.large.result.error().code == Errc::out_of_memory);
        CHECK_CONTAINS(outcomes.large.result.error().message,
                       fmt::format("{} bytes", memory_limit));
        CHECK(outcomes.endless.result.error().code == Errc::timed_out);
    }
    CHECK_FALSE(has_children());
    CHECK(open_files() == files);
    return done.calls;
}

void sweep(std::string_view kind, int error, const std::function<Compile()>& make) {
    const char* const chosen = std::getenv("LODE_SWEEP_STEP");
    const std::uint64_t step = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
    for (const std::uint64_t count : {std::uint64_t{1}, always}) {
        std::uint64_t first = 1;
        while (check_scenario({kind, error, first, count}, make) >= first)
            first += step;
        MESSAGE(std::string(kind), ": ", std::string(std::strerror(error)), ", ",
                std::string(count == 1 ? "one call" : "all calls from one on"), ": ",
                first / step + 1, " runs");
    }
}

}  // namespace lode::test
