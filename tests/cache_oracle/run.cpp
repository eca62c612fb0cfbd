// The oracle's program:
//   lode_cache_oracle [--steps N] [--seed S] [--jobs J]
//                     [--compiler fake|nvrtc|workers|precompiled] [--folder F] [--only A,B,…]
//                     [--least-hits PERCENT] [--least-uses N] [--verbose]
// Runs N steps in J processes with the seeds S, S+1, …, and prints a summary. Exits with 1 if an
// answer was wrong, too few requests hit, or precompiled headers were used too few times where they
// work. A failure names its seed and step; the same command line reproduces it as far as the file
// system's clock allows.
#include "base/file.hpp"
#include "tests/cache_oracle/oracle.hpp"
#include "tests/support/can_precompile.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lode::oracle;
namespace fs = std::filesystem;

struct Arguments {
    Plan plan;
    std::uint64_t jobs = 1;
    double least_hits = 99;
    std::uint64_t least_uses = 0;  ///< The least uses of precompiled headers, in each process.
    int replays = 60;
    std::set<std::uint64_t> only;  ///< Steps to run; empty for all.
};

std::set<std::uint64_t> numbers_in(const char* text) {
    std::set<std::uint64_t> numbers;
    for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        numbers.insert(std::strtoull(text, &end, 10));
        if (end == text) break;
    }
    return numbers;
}

bool is_compiler(std::string_view name) {
    return name == "fake" || name == "nvrtc" || name == "workers" || name == "precompiled";
}

const char* compiler_of(const Plan& plan) {
    if (!plan.nvrtc) return "fake";
    if (plan.precompiles) return "precompiled";
    return plan.workers.policy == lode::WorkerPolicy::always ? "workers" : "nvrtc";
}

bool parse(int count, char** values, Arguments& arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string_view name = values[i];
        if (name == "--verbose") {
            arguments.plan.verbose = true;
            continue;
        }
        if (i + 1 == count) return false;
        const char* const value = values[++i];
        if (name == "--steps") {
            arguments.plan.steps = std::strtoull(value, nullptr, 10);
        } else if (name == "--seed") {
            arguments.plan.seed = std::strtoull(value, nullptr, 10);
        } else if (name == "--jobs") {
            arguments.jobs = std::max<std::uint64_t>(std::strtoull(value, nullptr, 10), 1);
        } else if (name == "--folder") {
            arguments.plan.folder = value;
        } else if (name == "--only") {
            arguments.only = numbers_in(value);
        } else if (name == "--least-hits") {
            arguments.least_hits = std::strtod(value, nullptr);
        } else if (name == "--least-uses") {
            arguments.least_uses = std::strtoull(value, nullptr, 10);
        } else if (name == "--replays") {
            arguments.replays = std::atoi(value);
        } else if (name == "--compiler" && is_compiler(value)) {
            const std::string_view compiler = value;
            arguments.plan.nvrtc = compiler != "fake";
            arguments.plan.precompiles = compiler == "precompiled";
            arguments.plan.workers.policy = compiler == "workers" || arguments.plan.precompiles
                                                ? lode::WorkerPolicy::always
                                                : lode::WorkerPolicy::never;
            arguments.plan.workers.max_processes = 1;
        } else {
            return false;
        }
    }
    for (std::uint64_t step = 1; !arguments.only.empty() && step <= arguments.plan.steps; ++step) {
        if (!arguments.only.contains(step)) arguments.plan.left_out.insert(step);
    }
    return true;
}

/// Runs one process's share of the steps.
int run_one(const Arguments& arguments) {
    const auto [outcome, plan] = run_and_shrink(arguments.plan, arguments.replays);
    std::string text = fmt::format("seed {}, {} steps: {}\n", arguments.plan.seed,
                                   arguments.plan.steps, outcome.to_string());
    int status = 0;
    if (!outcome.failure.empty()) {
        status = 1;
        text += fmt::format("step {} is wrong: {}\nThe last steps:\n  {}\n", outcome.failed_step,
                            outcome.failure, fmt::join(outcome.last_notes, "\n  "));
        std::set<std::uint64_t> needed;
        for (std::uint64_t step = 1; step <= plan.steps; ++step) {
            if (!plan.left_out.contains(step)) needed.insert(step);
        }
        text += fmt::format("To repeat: --compiler {} --seed {} --steps {} --only {}\n",
                            compiler_of(plan), plan.seed, plan.steps, fmt::join(needed, ","));
    } else if (outcome.hit_percentage() < arguments.least_hits) {
        status = 1;
        text += fmt::format("fewer than {} % hit\n", arguments.least_hits);
    } else if (outcome.pch_uses < arguments.least_uses && lode::test::can_precompile()) {
        status = 1;
        text +=
            fmt::format("precompiled headers were used less than {} times\n", arguments.least_uses);
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    return status;
}

int run_all(const Arguments& arguments) {
    std::vector<pid_t> children;
    for (std::uint64_t job = 0; job < arguments.jobs; ++job) {
        Arguments part = arguments;
        part.plan.seed += job;
        part.plan.steps = (arguments.plan.steps + arguments.jobs - 1) / arguments.jobs;
        part.plan.folder /= fmt::format("seed{}", part.plan.seed);
        if (arguments.jobs == 1) return run_one(part);
        const pid_t child = ::fork();
        if (child == 0) {
            const int status = run_one(part);
            std::_Exit(status);
        }
        if (child < 0) return 2;
        children.push_back(child);
    }
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    fmt::print("{} steps in {} processes: {}\n", arguments.plan.steps, arguments.jobs,
               worst == 0 ? "nothing is wrong" : "something is wrong");
    return worst;
}

}  // namespace

int main(int count, char** values) {
    Arguments arguments;
    if (!parse(count, values, arguments)) {
        std::fputs(
            "usage: lode_cache_oracle [--steps N] [--seed S] [--jobs J] [--compiler "
            "fake|nvrtc|workers|precompiled] [--folder F] [--only A,B] [--least-hits PERCENT] "
            "[--least-uses N] [--replays N] [--verbose]\n",
            stderr);
        return 2;
    }
    if (!arguments.plan.folder.empty()) {
        fs::create_directories(arguments.plan.folder);
        arguments.plan.folder = fs::canonical(arguments.plan.folder);
        return run_all(arguments);
    }
    const auto scratch = lode::ScratchFolder::create("lode-cache-oracle");
    if (!scratch) return 2;
    arguments.plan.folder = scratch->path();
    return run_all(arguments);
}
