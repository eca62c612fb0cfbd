#include "jit/compiler_thread.hpp"

#include "base/file.hpp"

#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstddef>
#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <pthread.h>

namespace LODE_NAMESPACE {
namespace {

/// Compilers descend by recursion. Only what is used becomes memory.
constexpr std::size_t stack_bytes = std::size_t{64} << 20;

struct Task {
    const std::function<void()>& body;
    std::exception_ptr exception;
};

constinit thread_local bool is_compiler_thread = false;

void* run(void* argument) {
    is_compiler_thread = true;
    Task& task = *static_cast<Task*>(argument);
    std::fesetenv(FE_DFL_ENV);  // A thread begins with that of its creator.
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    ::uselocale(plain);
    ::pthread_setname_np(::pthread_self(), "lode compiler");
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

Status on_compiler_thread(const std::function<void()>& body) {
    if (is_compiler_thread) {
        body();
        return {};
    }
    const UncancelledThread uncancelled;
    Task task{body, nullptr};
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread{};
    const int problem = [&] {
        const BlockedSignals blocked;
        return ::pthread_create(&thread, &attributes, &run, &task);
    }();
    ::pthread_attr_destroy(&attributes);
    if (problem != 0) {
        return fail(Errc::out_of_memory,
                    fmt::format("A thread with a stack of {} bytes for the compiler can't be "
                                "started: {}.",
                                stack_bytes, std::generic_category().message(problem)),
                    native_from_errno(problem));
    }
    ::pthread_join(thread, nullptr);
    if (task.exception) std::rethrow_exception(task.exception);
    return {};
}

}  // namespace LODE_NAMESPACE
