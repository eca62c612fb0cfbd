#include "tools/worker/call_filter.hpp"

#include "tools/worker/lacks.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// Calls that are allowed whatever their arguments are.
constexpr int allowed_calls[] = {
    // Reading what Landlock lets it open; looking at names, which it lets everybody do.
    __NR_read, __NR_pread64, __NR_lseek, __NR_close, __NR_fstat, __NR_fstatfs, __NR_newfstatat,
    __NR_readlinkat, __NR_faccessat, __NR_faccessat2, __NR_getcwd,
    // Memory, limited by RLIMIT_DATA and RLIMIT_AS.
    __NR_brk, __NR_munmap, __NR_mremap,
    // Waiting for another thread, and its own name.
    __NR_futex, __NR_sched_yield, __NR_getpid, __NR_gettid, __NR_getcpu,
    // Its own signals, time and end.
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,
    __NR_restart_syscall, __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep,
    __NR_nanosleep, __NR_gettimeofday, __NR_ppoll, __NR_exit, __NR_exit_group,
    // What it has used, and random numbers.
    __NR_getrusage, __NR_sysinfo, __NR_getrandom,
#ifdef __NR_stat  // AArch64 has their successors alone.
    __NR_stat, __NR_lstat, __NR_readlink, __NR_access, __NR_time, __NR_poll
#endif
};

/// Further ones for new threads.
constexpr int calls_for_threads[] = {__NR_set_robust_list, __NR_rseq, __NR_sched_get_priority_max,
                                     __NR_sched_get_priority_min};

#ifdef __x86_64__
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#endif

/// Whether an argument has, of the bits of a mask, those of a value.
struct Condition {
    unsigned argument;
    std::uint64_t mask;
    std::uint64_t value;
};

Condition is(unsigned argument, std::uint64_t value) {
    return {argument, ~std::uint64_t{0}, value};
}
/// Whether an argument has no other bits than those of a value.
Condition has_only(unsigned argument, std::uint64_t bits) {
    return {argument, ~bits, 0};
}

/// A program of the kernel's classic BPF: a list of rules, of which the first that fits decides.
class Filter {
public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, machine});
        end(SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
    }

    /// Allows a call if all conditions hold; a second rule is another alternative.
    void allow(int call, std::initializer_list<Condition> conditions = {}) {
        rule(SECCOMP_RET_ALLOW, call, conditions);
    }
    void deny(int error, int call) {
        rule(SECCOMP_RET_ERRNO | static_cast<unsigned>(error), call, {});
    }

    /// Returns an error number, 0 if the filter is in force.
    [[nodiscard]] int load() {
        end(SECCOMP_RET_ERRNO | EPERM);
        const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        const long result =
            ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
        // Above zero: a thread with a filter of its own.
        return result == 0 ? 0 : result > 0 ? ESRCH : errno;
    }

private:
    void rule(std::uint32_t action, int call, std::initializer_list<Condition> conditions) {
        // Each half of an argument takes three instructions.
        const std::size_t length = 2 + 6 * conditions.size();
        const std::size_t end_of_rule = code_.size() + length;
        go_unless_equal(static_cast<std::uint32_t>(call), end_of_rule);
        for (const auto& [argument, mask, value] : conditions) {
            for (const std::size_t half : {0, 1}) {
                load(offsetof(seccomp_data, args) + 8 * std::size_t{argument} + 4 * half);
                add(BPF_ALU | BPF_AND | BPF_K, static_cast<std::uint32_t>(mask >> (32 * half)));
                go_unless_equal(static_cast<std::uint32_t>(value >> (32 * half)), end_of_rule);
            }
        }
        end(action);
        if (conditions.size() > 0) load(offsetof(seccomp_data, nr));
    }

    void add(unsigned operation, std::uint32_t operand, std::size_t jump_if_false = 0) {
        code_.push_back({static_cast<std::uint16_t>(operation), 0,
                         static_cast<std::uint8_t>(jump_if_false), operand});
    }
    void load(std::size_t offset) {
        add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    }
    void go_unless_equal(std::uint32_t value, std::size_t target) {
        add(BPF_JMP | BPF_JEQ | BPF_K, value, target - code_.size() - 1);
    }
    void end(std::uint32_t action) { add(BPF_RET | BPF_K, action); }

    std::vector<sock_filter> code_;
};

void allow_files(Filter& filter, int socket) {
    const auto host = static_cast<std::uint64_t>(socket);
    constexpr std::uint64_t reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
#ifdef __NR_open
    filter.allow(__NR_open, {has_only(1, reading)});
#endif
    filter.allow(__NR_openat, {has_only(2, reading)});
    // The standard streams are /dev/null.
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        filter.allow(__NR_write, {is(0, static_cast<std::uint64_t>(stream))});
        filter.allow(__NR_writev, {is(0, static_cast<std::uint64_t>(stream))});
    }
    // Bytes alone, no descriptors and no addresses.
    filter.allow(__NR_sendto, {is(0, host), is(4, 0)});
    filter.allow(__NR_recvfrom, {is(0, host), is(4, 0)});
}

void allow_memory(Filter& filter) {
    // Only memory that the limits count, and none that is executed: the compiler is loaded.
    constexpr std::uint64_t type = 15;  // MAP_TYPE, which has no name everywhere.
    filter.allow(__NR_mmap,
                 {has_only(2, PROT_READ | PROT_WRITE),
                  Condition{3, type | MAP_GROWSDOWN | MAP_LOCKED | MAP_HUGETLB, MAP_PRIVATE}});
    filter.allow(__NR_mprotect, {has_only(2, PROT_READ | PROT_WRITE)});
    for (const int advice : {MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE})
        filter.allow(__NR_madvise, {is(2, static_cast<std::uint64_t>(advice))});
    filter.allow(__NR_prlimit64, {is(0, 0), is(2, 0)});
}

void allow_threads(Filter& filter) {
    for (const int call : calls_for_threads)
        filter.allow(call);
    // As the C library makes them; no processes.
    constexpr std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                     CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    filter.allow(__NR_clone, {is(0, thread)});
    // Its flags are in memory, where a filter doesn't see them. The C library then takes clone.
    filter.deny(ENOSYS, __NR_clone3);
    filter.allow(__NR_sched_getaffinity, {is(0, 0)});
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
    filter.allow(__NR_tgkill, {is(0, static_cast<std::uint64_t>(::getpid()))});
    if (const int problem = filter.load(); problem != 0)
        return lacks("filter for system calls", problem);
    return {};
}

}  // namespace LODE_NAMESPACE::worker
