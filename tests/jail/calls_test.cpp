// Which system calls a jail lets through, by trying all of them in one.
#include "tests/jail/hostile_nvrtc.hpp"
#include "tests/jail/jail.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

using namespace lode;
using namespace lode::test;

namespace {

std::string name_of(int number) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
    return name ? name.get() : fmt::format("call {}", number);
}

using Calls = std::map<std::string, std::string>;

/// A committed list: each call, with "always" or "sometimes". With threads, also those in the
/// list's second half.
Calls committed(bool with_threads) {
    Calls calls;
    std::ifstream file(LODE_SOURCE_DIR "/tests/jail/allowed_calls.txt");
    for (std::string line; std::getline(file, line);) {
        if (line == "# Threads" && !with_threads) break;
        if (line.empty() || line.starts_with('#')) continue;
        std::istringstream words(line);
        std::string name;
        words >> name;
        words >> calls[name];
        // Calls that this machine doesn't have.
        if (seccomp_syscall_resolve_name(name.c_str()) < 0) calls.erase(name);
    }
    return calls;
}

/// Compares what a jail lets through with the list.
void check_calls(const CompileOptions& options, bool with_threads) {
    Calls calls;
    std::istringstream sweep(HostileJail().obey("sweep", options));
    int number = 0;
    for (std::string how; sweep >> number >> how;)
        calls[name_of(number)] = how;
    const Calls expected = committed(with_threads);
    REQUIRE(expected.size() > 40);
    for (const auto& call : calls) {
        const auto known = expected.find(call.first);
        const std::string says = known == expected.end() ? "never" : known->second;
        INFO(call.first, " is allowed ", call.second,
             ", and tests/jail/allowed_calls.txt says: ", says);
        CHECK(says == call.second);
    }
    for (const auto& call : expected) {
        INFO(call.first, " isn't allowed, and tests/jail/allowed_calls.txt says: ", call.second);
        CHECK(calls.contains(call.first));
    }
}

/// Flags that need threads.
CompileOptions with_threads() {
    CompileOptions options;
    options.extra_flags = {"--split-compile=2"};
    return options;
}

struct Case {
    long number;
    std::string arguments;  ///< "self" is the process.
    bool is_allowed;
};

void check_arguments(const std::vector<Case>& cases, const CompileOptions& options) {
    std::string commands;
    for (const auto& [number, arguments, is_allowed] : cases)
        commands += fmt::format("//: call {} {}\n", number, arguments);
    const auto log = HostileJail().answer(commands, options).log;
    for (const auto& one : cases) {
        INFO(name_of(static_cast<int>(one.number)), " with ", one.arguments, " in ", log);
        CHECK(contains(log, fmt::format("call {} {} = {}\n", one.number, one.arguments,
                                        one.is_allowed ? "allowed" : "EPERM")));
    }
}

}  // namespace

TEST_CASE("jail: of all system calls, those of allowed_calls.txt are let through") {
    NEEDS_JAIL();
    check_calls({}, false);
    check_calls(with_threads(), true);
}

TEST_CASE("jail: system calls are let through with the arguments that a compiler needs alone") {
    NEEDS_JAIL();
    constexpr std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                     CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    constexpr int host = 3;
    constexpr std::uint64_t own = MAP_PRIVATE | MAP_ANONYMOUS;
    const auto args = [](auto... values) {
        return fmt::format("{}", fmt::join({static_cast<std::uint64_t>(values)...}, " "));
    };
    const std::vector<Case> cases = {
        // No processes, and no threads.
        {SYS_clone, args(thread), false},
        {SYS_clone, args(SIGCHLD), false},
        // Reading alone.
        {SYS_openat, args(0, 0, O_RDONLY | O_CLOEXEC), true},
        {SYS_openat, args(0, 0, O_WRONLY), false},
        {SYS_openat, args(0, 0, O_RDWR), false},
        {SYS_openat, args(0, 0, O_CREAT), false},
        {SYS_openat, args(0, 0, O_TRUNC), false},
        {SYS_openat, args(0, 0, O_PATH), false},
        {SYS_openat, args(0, 0, O_DIRECTORY), false},
        {SYS_openat, args(0, 0, O_TMPFILE), false},
        // To the host, and nothing but bytes.
        {SYS_sendto, args(host, 1, 1, MSG_NOSIGNAL, 0), true},
        {SYS_sendto, args(host, 1, 1, MSG_NOSIGNAL, 1), false},
        {SYS_sendto, args(host + 1, 1, 1, MSG_NOSIGNAL, 0), false},
        {SYS_recvfrom, args(host, 1, 1, 0, 0), true},
        {SYS_recvfrom, args(host + 1, 1, 1, 0, 0), false},
        {SYS_write, args(2, 1, 1), true},
        {SYS_write, args(host, 1, 1), false},
        // Memory that the limits count, and none that is executed.
        {SYS_mmap, args(0, 4096, PROT_READ | PROT_WRITE, own), true},
        {SYS_mmap, args(0, 4096, PROT_NONE, own | MAP_NORESERVE | MAP_STACK), true},
        {SYS_mmap, args(0, 4096, PROT_READ | PROT_EXEC, own), false},
        {SYS_mmap, args(0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS), false},
        {SYS_mmap, args(0, 4096, PROT_READ, MAP_SHARED_VALIDATE | MAP_ANONYMOUS), false},
        {SYS_mmap, args(0, 4096, PROT_READ | PROT_WRITE, own | MAP_GROWSDOWN), false},
        {SYS_mmap, args(0, 4096, PROT_READ | PROT_WRITE, own | MAP_LOCKED), false},
        {SYS_mprotect, args(0, 4096, PROT_READ | PROT_WRITE), true},
        {SYS_mprotect, args(0, 4096, PROT_READ | PROT_EXEC), false},
        {SYS_madvise, args(0, 4096, MADV_DONTNEED), true},
        {SYS_madvise, args(0, 4096, MADV_MERGEABLE), false},
        // Looking at its own limits.
        {SYS_prlimit64, args(0, RLIMIT_DATA, 1, 0), false},
        {SYS_prlimit64, args(0, RLIMIT_STACK, 0, 1), true},
        {SYS_prlimit64, args(0, RLIMIT_STACK, 1, 0), false},
        {SYS_prlimit64, args(0, RLIMIT_NOFILE, 1, 0), false},
        {SYS_prlimit64, args(1, RLIMIT_DATA, 1, 0), false},
        {SYS_prlimit64, args(1, RLIMIT_DATA, 0, 1), false},
        // Signals to itself.
        {SYS_tgkill, "self 1 6", true},
        {SYS_tgkill, args(1, 1, 6), false},
        {SYS_prctl, args(PR_SET_PDEATHSIG, SIGKILL), false},
        {SYS_prctl, args(PR_SET_PDEATHSIG, 0), false},
        {SYS_prctl, args(PR_SET_DUMPABLE, 1), false},
        {SYS_prctl, args(PR_SET_SECCOMP, 0), false},
        {SYS_sched_getaffinity, args(0, 8, 1), false},
        {SYS_sched_getaffinity, args(1, 8, 1), false},
        {SYS_fcntl, args(host, F_GETFL), false},
        {SYS_ioctl, args(0, 0x5401), false},
    };
    check_arguments(cases, {});
    // With them, no processes, and no threads that differ from the C library's.
    check_arguments({{SYS_clone, args(thread), true},
                     {SYS_clone, args(SIGCHLD), false},
                     {SYS_clone, args(thread & ~std::uint64_t{CLONE_THREAD}), false},
                     {SYS_clone, args(thread | CLONE_NEWUSER), false},
                     {SYS_clone, args(thread | CLONE_PARENT), false},
                     {SYS_clone, args(thread & ~std::uint64_t{CLONE_FILES}), false},
                     {SYS_sched_getaffinity, args(0, 8, 1), true},
                     {SYS_sched_getaffinity, args(1, 8, 1), false}},
                    with_threads());
}
