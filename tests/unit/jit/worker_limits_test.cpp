// Limits on systems that don't help to enforce them.
#include "tests/support/child.hpp"
#include "tests/support/endless_code.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

/// What a child of this process reports.
enum Report : int { fine, not_possible, wrong_result, wrong_error, wrong_message, left_over };

/// Hides /proc from this process and those that it starts.
bool hide_proc() {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", "/proc", "tmpfs", MS_RDONLY, nullptr) == 0 &&
           ::access("/proc/self", F_OK) != 0;
}

/// From now on this process and those that it starts change no limits.
bool keep_limits() {
    std::array<sock_filter, 4> filter = {{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_prlimit64},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog program{filter.size(), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

CacheOptions options_of(bool in_jail) {
    CacheOptions options;
    options.mode = CacheMode::off;
    options.workers.program = LODE_WORKER_PROGRAM;
    options.workers.max_processes = 1;
    if (in_jail) options.workers.jail = Jail{};
    return options;
}

Result<CachedImage> compile(const CachedCompiler& compiler, const std::string& code,
                            CompileLimits limits) {
    return compiler.compile({Source::text(code, "limited.cu"), sm(80), {}, {}, limits});
}

constexpr CompileLimits small{.time = std::chrono::seconds(60),
                              .memory_bytes = std::uint64_t{160} << 20};
constexpr CompileLimits large{.time = std::chrono::seconds(60),
                              .memory_bytes = std::uint64_t{1} << 30};

/// Compiles what needs little and what needs too much.
Report compile_both(bool in_jail) {
    const CachedCompiler compiler({}, options_of(in_jail));
    const auto plain = compile(compiler, "__global__ void k() {}", large);
    if (in_jail && !plain && plain.error().code == Errc::not_supported) return not_possible;
    if (!plain) return wrong_result;
    const auto limited = compile(compiler, large_code(), small);
    if (limited) return wrong_result;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They end the process.
    if (limited.error().code != Errc::out_of_memory) return wrong_error;
    if (limited.error().message.find("167772160 bytes") == std::string::npos) return wrong_message;
#endif
    return compile(compiler, "__global__ void other() {}", large) ? fine : wrong_result;
}

/// Whether a test on this system says something.
bool is_possible(int report) {
    if (report == not_possible)
        MESSAGE(
            "skipped: the system doesn't let /proc be hidden, or "
            "can't confine a process");
    return report != not_possible;
}

}  // namespace

TEST_CASE("worker limits: memory is limited where /proc can't be read") {
    for (const bool in_jail : {false, true}) {
        CAPTURE(in_jail);
        const int report =
            in_child([&] { return hide_proc() ? compile_both(in_jail) : not_possible; });
        if (is_possible(report)) CHECK(report == fine);
    }
}

TEST_CASE("worker limits: memory is limited where the kernel sets no limits") {
    LODE_SKIP_IF_SANITIZED()
    CHECK(in_child([] { return keep_limits() ? compile_both(false) : not_possible; }) == fine);
}

TEST_CASE("worker limits: a request is refused where nothing can enforce its limit of memory") {
    LODE_SKIP_IF_SANITIZED()
    const int report = in_child([] {
        if (!hide_proc() || !keep_limits()) return not_possible;
        const CachedCompiler compiler({}, options_of(false));
        const auto refused = compile(compiler, "__global__ void k() {}", large);
        if (refused) return wrong_result;
        if (refused.error().code != Errc::not_supported) return wrong_error;
        if (refused.error().message.find("'limited.cu' can't be limited here") == std::string::npos)
            return wrong_message;
        // A limit of time needs neither.
        return compile(compiler, "__global__ void k() {}", {.time = large.time}) ? fine
                                                                                 : wrong_result;
    });
    if (is_possible(report)) CHECK(report == fine);
}

TEST_CASE("worker limits: they hold in a host that doesn't wait for its children") {
    CHECK(in_child([] {
              std::signal(SIGCHLD, SIG_IGN);
              if (const Report report = compile_both(false); report != fine) return report;
              const CachedCompiler compiler({}, options_of(false));
              const auto late =
                  compile(compiler, endless_code(), {.time = std::chrono::milliseconds(300)});
              if (late || late.error().code != Errc::timed_out) return wrong_error;
              return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? fine : left_over;
          }) == fine);
}
