#include "base/process_end.hpp"

#include "base/os/process.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include <openssl/crypto.h>

namespace LODE_NAMESPACE {
namespace {

constinit std::atomic<int> uses = 0;
constinit std::atomic<bool> is_ending = false;
constinit thread_local int own_uses = 0;

void end_uses() noexcept {
    is_ending = true;
    for (int now = uses; now > own_uses; now = uses)
        uses.wait(now);
}

/// Held while a library registers handlers.
constinit std::recursive_mutex registering;

/// exit() destroys the objects of its thread before it runs the first handler.
struct WaitBeforeExit {
    bool is_used = false;
    ~WaitBeforeExit() { const std::lock_guard guard(registering); }
};
thread_local WaitBeforeExit wait_before_exit;

/// The other threads of the parent, and so their operations, don't exist in a forked child.
void begin_in_child() noexcept {
    new (&registering) std::recursive_mutex;
    uses = own_uses;
    is_ending = false;
}

/// OpenSSL registers its handler at its first use.
void prepare() noexcept {
    ::OPENSSL_init_crypto(0, nullptr);
    os::after_fork(&begin_in_child);
    std::atexit(&end_uses);
}

/// The first call registers the handler, others wait for it. This isn't a static object, because a
/// child that is forked meanwhile would wait forever for a thread of its parent.
void be_prepared() noexcept {
    constexpr os::ProcessId done = -1;
    constinit static std::atomic<os::ProcessId> preparing = 0;
    os::ProcessId now = preparing.load(std::memory_order_acquire);
    while (now != done) {
        const os::ProcessId own = os::process_id();
        if (now == own) {
            std::this_thread::yield();
            now = preparing.load(std::memory_order_acquire);
        } else if (preparing.compare_exchange_strong(now, own)) {
            prepare();
            preparing.store(done, std::memory_order_release);
            return;
        }
    }
}

}  // namespace

bool is_process_ending() noexcept {
    return is_ending.load(std::memory_order_relaxed);
}

ExitHandlerScope::ExitHandlerScope() noexcept {
    be_prepared();
    registering.lock();
}

ExitHandlerScope::~ExitHandlerScope() {
    std::atexit(&end_uses);
    registering.unlock();
}

Status refuse_after_exit() {
    using namespace std::chrono_literals;
    for (int i = 0; i < 10 && !is_process_ending(); ++i)
        std::this_thread::sleep_for(100us);
    if (is_process_ending()) return fail_at_process_end();
    return {};
}

ProcessUse::ProcessUse() noexcept {
    be_prepared();
    wait_before_exit.is_used = true;
    ++uses;  // Before the question, so that end_uses() waits for every use that is told no end has
             // begun.
    ++own_uses;
    is_held_ = !is_ending;
    if (is_held_) return;
    --own_uses;
    --uses;
    uses.notify_all();
}

ProcessUse::~ProcessUse() {
    if (!is_held_) return;
    --own_uses;
    --uses;
    if (is_ending) uses.notify_all();
}

tl::unexpected<Error> fail_at_process_end() {
    return fail(Errc::cancelled,
                "The process is ending, so nothing is compiled or linked any more.");
}

}  // namespace LODE_NAMESPACE
