#include "tools/worker/call_filter.hpp"

#include "tools/worker/lacks.hpp"

#ifndef LODE_HAS_SECCOMP

#include <cerrno>

namespace LODE_NAMESPACE::worker {

Status restrict_calls(int /*socket*/, bool /*with_threads*/) {
    return fail(Errc::not_supported,
                "Untrusted source can't be compiled here: lode-worker was built without "
                "libseccomp, which filters its system calls.");
}

}  // namespace LODE_NAMESPACE::worker

#else

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// Calls that are allowed whatever their arguments are. Those that a machine doesn't have are left
/// out there.
constexpr int allowed_calls[] = {
    // Reading what Landlock lets it open; looking at names, which it lets everybody do.
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat),
    SCMP_SYS(fstatfs), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(getcwd),
    // Memory, limited by RLIMIT_DATA and RLIMIT_AS.
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
    // Waiting for another thread, and its own name.
    SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getcpu),
    // Its own signals, time and end.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(exit), SCMP_SYS(exit_group),
    // What it has used, and random numbers.
    SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(getrandom)};

/// Further ones for new threads.
constexpr int calls_for_threads[] = {SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
                                     SCMP_SYS(sched_get_priority_max),
                                     SCMP_SYS(sched_get_priority_min)};

class Filter {
public:
    Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), &seccomp_release) {
        if (context_ == nullptr) {
            problem_ = ENOMEM;
            return;
        }
        // In order: a foreign machine's calls end the process; confine() has set no_new_privs; a
        // tree of comparisons, not a list.
        set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        set(SCMP_FLTATR_CTL_NNP, 0);
        set(SCMP_FLTATR_CTL_OPTIMIZE, 2);
        set(SCMP_FLTATR_CTL_TSYNC, 1);
    }

    /// Allows a call if all conditions hold; a second rule is another alternative.
    void allow(int call, std::initializer_list<scmp_arg_cmp> conditions = {}) {
        rule(SCMP_ACT_ALLOW, call, conditions);
    }
    void deny(int error, int call) { rule(SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, {}); }

    /// Returns an error number, 0 if the filter is in force.
    [[nodiscard]] int load() {
        if (problem_ == 0) note(seccomp_load(context_.get()));
        return problem_;
    }

private:
    void set(scmp_filter_attr attribute, std::uint32_t value) {
        note(seccomp_attr_set(context_.get(), attribute, value));
    }
    void rule(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> conditions) {
        if (problem_ != 0) return;
        note(seccomp_rule_add_array(context_.get(), action, call,
                                    static_cast<unsigned>(conditions.size()), conditions.begin()));
    }
    void note(int result) {
        if (result < 0 && problem_ == 0) problem_ = -result;
    }

    std::unique_ptr<void, decltype(&seccomp_release)> context_;
    int problem_ = 0;  ///< The first error number.
};

scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
    return {argument, SCMP_CMP_EQ, value, 0};
}
/// Whether an argument has, of the bits of a mask, those of a value.
scmp_arg_cmp has(unsigned argument, std::uint64_t mask, std::uint64_t value) {
    return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}
/// Whether an argument has no other bits than those of a value.
scmp_arg_cmp has_only(unsigned argument, std::uint64_t bits) {
    return has(argument, ~bits, 0);
}

void allow_files(Filter& filter, int socket) {
    const auto host = static_cast<std::uint64_t>(socket);
    constexpr std::uint64_t reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    filter.allow(SCMP_SYS(open), {has_only(1, reading)});
    filter.allow(SCMP_SYS(openat), {has_only(2, reading)});
    // The standard streams are /dev/null.
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        filter.allow(SCMP_SYS(write), {is(0, static_cast<std::uint64_t>(stream))});
        filter.allow(SCMP_SYS(writev), {is(0, static_cast<std::uint64_t>(stream))});
    }
    // Bytes alone, no descriptors and no addresses.
    filter.allow(SCMP_SYS(sendto), {is(0, host), is(4, 0)});
    filter.allow(SCMP_SYS(recvfrom), {is(0, host), is(4, 0)});
}

void allow_memory(Filter& filter) {
    // Only memory that the limits count, and none that is executed: the compiler is loaded.
    constexpr std::uint64_t type = 15;  // MAP_TYPE, which has no name everywhere.
    filter.allow(SCMP_SYS(mmap),
                 {has_only(2, PROT_READ | PROT_WRITE),
                  has(3, type | MAP_GROWSDOWN | MAP_LOCKED | MAP_HUGETLB, MAP_PRIVATE)});
    filter.allow(SCMP_SYS(mprotect), {has_only(2, PROT_READ | PROT_WRITE)});
    for (const int advice : {MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE})
        filter.allow(SCMP_SYS(madvise), {is(2, static_cast<std::uint64_t>(advice))});
    filter.allow(SCMP_SYS(prlimit64), {is(0, 0), is(2, 0)});
}

void allow_threads(Filter& filter) {
    for (const int call : calls_for_threads)
        filter.allow(call);
    // As the C library makes them; no processes.
    constexpr std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                     CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    filter.allow(SCMP_SYS(clone), {is(0, thread)});
    // Its flags are in memory, where a filter doesn't see them. The C library then takes clone.
    filter.deny(ENOSYS, SCMP_SYS(clone3));
    filter.allow(SCMP_SYS(sched_getaffinity), {is(0, 0)});
}

}  // namespace

Status restrict_calls(int socket, bool with_threads) {
    Filter filter;
    for (const int call : allowed_calls)
        filter.allow(call);
    allow_files(filter, socket);
    allow_memory(filter);
    if (with_threads) allow_threads(filter);
    // For abort(), which ends the process as a crash.
    filter.allow(SCMP_SYS(tgkill), {is(0, static_cast<std::uint64_t>(::getpid()))});
    if (const int problem = filter.load(); problem != 0)
        return lacks("filter for system calls", problem);
    return {};
}

}  // namespace LODE_NAMESPACE::worker

#endif
