// A jail whose compiler its source has taken over (hostile_nvrtc.hpp). Uses lode's public headers
// alone, so that the tests can be run against an older build too.
#pragma once

#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"

#include <lode/jit/cache.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::test {

class HostileJail {
public:
    explicit HostileJail(CompileLimits limits = {.time = std::chrono::seconds(60)},
                         bool is_jailed = true)
        : compiler_({.nvrtc = LODE_HOSTILE_NVRTC}, options(folder_.path(), limits, is_jailed)) {
        std::filesystem::create_directories(file().parent_path());
        put(file(), "int readable;\n");
    }

    /// A file that the jail may read.
    [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "open/readable.h"; }

    /// The outcome of a request.
    [[nodiscard]] Error answer(const std::string& commands,
                               const CompileOptions& options = {}) const {
        return require_error(compiler_.compile(Source::text(commands, "hostile.cu"),
                                               require(Arch::parse("sm_75")), options));
    }
    /// The place that gave the answer of a request without an error; empty for the compiler.
    [[nodiscard]] std::string tier(const std::string& commands) const {
        return require(compiler_.compile(Source::text(commands, "hostile.cu"),
                                         require(Arch::parse("compute_75"))))
            .report.tier;
    }
    /// What a compiler that runs commands ("//: " at the start of each line) says of the first one.
    [[nodiscard]] std::string obey(const std::string& command,
                                   const CompileOptions& options = {}) const {
        const auto error = answer("//: " + command + "\n", options);
        const auto& log = error.log;
        const auto end = log.rfind('\n');
        const auto start = log.find(" = ");
        CAPTURE(error.message);
        REQUIRE(start != std::string::npos);
        return log.substr(start + 3, end - start - 3);
    }

private:
    static CacheOptions options(const std::filesystem::path& folder, CompileLimits limits,
                                bool is_jailed) {
        CacheOptions options;
        options.folder = folder / "cache";
        options.workers.program = LODE_WORKER_PROGRAM;
        options.workers.max_processes = 1;
        options.workers.limits = limits;
        if (is_jailed) options.workers.jail = Jail{.readable_folders = {folder / "open"}};
        return options;
    }

    ScratchFolder folder_ = make_scratch();
    CachedCompiler compiler_;
};

/// Whether the kernel has what confines a process. Where it has, the tests don't skip.
inline bool has_jails() {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

#define NEEDS_JAIL()                                            \
    if (!has_jails()) {                                         \
        MESSAGE("skipped: the system can't confine a process"); \
        return;                                                 \
    }

}  // namespace lode::test
