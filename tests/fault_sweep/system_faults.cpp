// The kernel hands the thread's calls to this process (SECCOMP_RET_USER_NOTIF), where a second
// thread answers them: with an error, or by letting them go on. Processes that the thread starts
// have the same filter, and their calls always go on.
#include "tests/fault_sweep/system_faults.hpp"

#include "base/os/descriptor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::test {
namespace {

constexpr long none = -1;

struct Kind {
    std::string_view name;
    std::array<long, 3> calls;
};

#if defined(__x86_64__)
constexpr long old_open = SYS_open;
constexpr long old_poll = SYS_poll;
constexpr long old_fork = SYS_vfork;
constexpr long old_dup = SYS_dup2;
#else
constexpr long old_open = none;
constexpr long old_poll = none;
constexpr long old_fork = none;
constexpr long old_dup = none;
#endif

constexpr Kind kinds[] = {
    {"open", {SYS_openat, old_open, none}},       {"map", {SYS_mmap, SYS_brk, none}},
    {"fork", {SYS_clone, SYS_clone3, old_fork}},  {"poll", {SYS_ppoll, old_poll, none}},
    {"socketpair", {SYS_socketpair, none, none}}, {"pipe", {SYS_pipe2, none, none}},
    {"dup", {SYS_dup, SYS_dup3, old_dup}},        {"fcntl", {SYS_fcntl, none, none}},
    {"read", {SYS_read, SYS_pread64, none}},      {"recv", {SYS_recvfrom, none, none}},
    {"send", {SYS_sendto, none, none}},           {"kill", {SYS_kill, none, none}},
};

/// Counts calls and decides which fail. One thread makes the calls; another one may decide.
class Counter {
public:
    explicit Counter(const SystemFault& fault) noexcept : fault_(fault) {}
    [[nodiscard]] bool strikes() noexcept {
        if (!is_on_) return false;
        const auto call = ++calls_;
        const bool fails = call >= fault_.first && call - fault_.first < fault_.count;
        failed_ += fails ? 1 : 0;
        return fails;
    }
    void set(bool is_on) noexcept { is_on_ = is_on; }
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }

private:
    const SystemFault& fault_;
    std::atomic<std::uint64_t> calls_ = 0;
    std::atomic<std::uint64_t> failed_ = 0;
    std::atomic<bool> is_on_ = false;
};

/// Counts the allocations of this thread; nullptr in other threads.
constinit thread_local Counter* allocations = nullptr;

/// Hands over the calls of this thread; returns the descriptor that they come through, or -1.
int intercept(const Kind& kind) {
    std::vector<sock_filter> filter = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offsetof(seccomp_data, nr))}};
    for (const long call : kind.calls) {
        if (call == none) continue;
        filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(call)});
        filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF});
    }
    filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

/// Answers one call, if there is one within 10 ms. Allocates nothing: the thread that waits for the
/// answer may be in an allocation.
void answer_next(int listener, pid_t thread, int error, Counter& counter) {
    constexpr int wait_ms = 10;
    pollfd watched{listener, POLLIN, 0};
    if (::poll(&watched, 1, wait_ms) != 1) return;
    seccomp_notif call{};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
    seccomp_notif_resp answer{};
    answer.id = call.id;
    if (static_cast<pid_t>(call.pid) == thread && counter.strikes())
        answer.error = -error;
    else
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

}  // namespace

FaultRun run_with(const SystemFault& fault,
                  const std::function<void(const std::function<void(bool)>&)>& work) {
    Counter counter(fault);
    const auto set_faults = [&](bool is_on) { counter.set(is_on); };
    if (fault.kind == "malloc") {
        std::thread([&] {
            allocations = &counter;
            work(set_faults);
            allocations = nullptr;
        }).join();
        return {true, counter.calls(), counter.failed()};
    }
    const auto* const kind = std::ranges::find(kinds, fault.kind, &Kind::name);
    if (kind == std::end(kinds)) std::abort();
    std::atomic<pid_t> number = 0;
    std::atomic<int> listener = 0;  // 0 until there is one.
    std::atomic<bool> is_over = false;
    std::thread thread([&] {
        number = ::gettid();
        listener = intercept(*kind);
        if (listener > 0) work(set_faults);
        is_over = true;
    });
    while (!is_over) {
        if (listener > 0)
            answer_next(listener, number, fault.error, counter);
        else
            std::this_thread::yield();
    }
    thread.join();
    const Descriptor closed(listener);
    return {listener > 0, counter.calls(), counter.failed()};
}

/// Whether an allocation of this thread shall fail.
bool fails_allocation() noexcept {
    if (allocations == nullptr || !allocations->strikes()) return false;
    errno = ENOMEM;
    return true;
}

}  // namespace lode::test

// A sanitizer's own functions are needed.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);

void* malloc(std::size_t size) noexcept {
    return lode::test::fails_allocation() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
    return lode::test::fails_allocation() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
    return size != 0 && lode::test::fails_allocation() ? nullptr : __libc_realloc(memory, size);
}
}

#endif
