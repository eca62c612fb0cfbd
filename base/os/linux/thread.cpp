#include "base/os/thread.hpp"

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstddef>
#include <exception>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace LODE_NAMESPACE::os {
namespace {

/// The memory of a thread's stack, which is never unmapped.
struct Stack {
    void* memory;
    Stack* next;
};
constinit std::atomic<Stack*> unused = nullptr;

void put_back(Stack* first, Stack* last) noexcept {
    last->next = unused;
    while (!unused.compare_exchange_weak(last->next, first)) {
    }
}

Stack* make_stack() {
    void* const memory = ::mmap(nullptr, own_stack_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    ::mprotect(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);
    return new Stack{memory, nullptr};
}

/// Takes all unused stacks, so that no lock is held in a fork, and puts back all but one.
Stack* take_stack() {
    Stack* const stack = unused.exchange(nullptr);
    if (stack == nullptr) return make_stack();
    if (Stack* const rest = std::exchange(stack->next, nullptr)) {
        Stack* last = rest;
        while (last->next != nullptr)
            last = last->next;
        put_back(rest, last);
    }
    return stack;
}

/// A stack for one thread.
class StackUse {
public:
    StackUse() : stack_(take_stack()) {}
    ~StackUse() {
        if (stack_ == nullptr) return;
        constexpr std::size_t kept = std::size_t{512} << 10;  // More than most compilations need.
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        ::madvise(static_cast<char*>(stack_->memory) + page, own_stack_bytes - kept - page,
                  MADV_DONTNEED);
        put_back(stack_, stack_);
    }
    StackUse(const StackUse&) = delete;
    StackUse& operator=(const StackUse&) = delete;

    [[nodiscard]] void* memory() const noexcept {
        return stack_ == nullptr ? nullptr : stack_->memory;
    }

private:
    Stack* stack_;
};

struct Task {
    const char* name;
    const std::function<void()>& body;
    std::exception_ptr exception;
};

void use_plain_locale() noexcept {
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    ::uselocale(plain);
}

void* run(void* argument) {
    Task& task = *static_cast<Task*>(argument);
    std::fesetenv(FE_DFL_ENV);  // A thread begins with that of its creator.
    use_plain_locale();
    ::pthread_setname_np(::pthread_self(), task.name);
    try {
        task.body();
    } catch (...) {
        task.exception = std::current_exception();
    }
    return nullptr;
}

/// The caller waits for its thread, which uses the caller's stack, to the end.
class UncancelledThread {
public:
    UncancelledThread() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~UncancelledThread() { ::pthread_setcancelstate(before_, nullptr); }
    UncancelledThread(const UncancelledThread&) = delete;
    UncancelledThread& operator=(const UncancelledThread&) = delete;

private:
    int before_ = 0;
};

/// Blocks the signals that the process gets, for a thread that begins now. Those of a thread's own
/// faults go to the host's handlers.
class BlockedSignals {
public:
    BlockedSignals() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        for (const int fault : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP, SIGPROF})
            ::sigdelset(&all, fault);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

int run_on_own_thread(const char* name, const std::function<void()>& body) {
    const UncancelledThread uncancelled;
    const StackUse stack;
    if (stack.memory() == nullptr) return ENOMEM;
    Task task{name, body, nullptr};
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstack(&attributes, stack.memory(), own_stack_bytes);
    pthread_t thread{};
    const int problem = [&] {
        const BlockedSignals blocked;
        return ::pthread_create(&thread, &attributes, &run, &task);
    }();
    ::pthread_attr_destroy(&attributes);
    if (problem != 0) return problem;
    ::pthread_join(thread, nullptr);
    if (task.exception) std::rethrow_exception(task.exception);
    return 0;
}

LocaleScope::LocaleScope() noexcept : before_(::uselocale(nullptr)) {}

LocaleScope::~LocaleScope() {
    ::uselocale(static_cast<locale_t>(before_));
}

PlainLocale::PlainLocale() noexcept {
    use_plain_locale();
}

}  // namespace LODE_NAMESPACE::os
