#include "emulator/driver/gate.hpp"

#include "base/os/process.hpp"
#include "emulator/driver/code/symbols.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/launch/call_hook.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/unsupported.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <set>

#include <fmt/format.h>

namespace lode::emulator::driver::gate {
namespace {

struct Orders {
    std::atomic<unsigned long> calls{0};
    std::atomic<unsigned long> target{0};  ///< The call to fail; 0 if none.
    std::atomic<int> result{0};
    std::atomic<const char*> hit{nullptr};
    std::atomic<bool> forked{false};
};

Orders& orders() noexcept {
    static Orders instance;
    return instance;
}

thread_local unsigned long newest_call = 0;
thread_local const char* newest_entry = "";
thread_local unsigned host_functions = 0;  ///< Those that the thread is in.

/// All other calls answer NOT_PERMITTED in a host function, as CUDA's documentation demands. These
/// are permitted there by an H200's driver (docs/dev/emulator.md, "Forbidden contexts"); they read
/// constants or the log.
constexpr std::string_view harmless[] = {
    "cuDriverGetVersion", "cuGetErrorName",   "cuGetErrorString",   "cuGetProcAddress", "cuInit",
    "cuLogsCurrent",      "cuLogsDumpToFile", "cuLogsDumpToMemory",
};

bool is_first_refusal(const std::string& line) {
    static std::mutex mutex;
    static auto& refused = *new std::set<std::string>;
    const std::lock_guard lock(mutex);
    return refused.insert(line).second;
}

}  // namespace

CUresult count(const char* symbol) noexcept {
    Orders& now = orders();
    const unsigned long call = now.calls.fetch_add(1, std::memory_order_relaxed) + 1;
    newest_call = call;
    newest_entry = symbol;
    unsigned long target = now.target.load(std::memory_order_acquire);
    if (const int wanted = call_hook::ask(symbol); wanted != CUDA_SUCCESS) {
        now.hit = symbol;
        return static_cast<CUresult>(wanted);
    }
    if (target != call) [[likely]]
        return CUDA_SUCCESS;
    now.target.compare_exchange_strong(target, 0);
    now.hit = symbol;
    return static_cast<CUresult>(now.result.load());
}

void order(unsigned long n, CUresult result) noexcept {
    Orders& now = orders();
    now.hit = nullptr;
    now.result = result;
    now.target.store(n == 0 ? 0 : now.calls.load() + n, std::memory_order_release);
}

unsigned long calls() noexcept {
    return orders().calls;
}

const char* current_entry() noexcept {
    return newest_entry;
}

unsigned long current_call() noexcept {
    return newest_call;
}

std::string hit() {
    const char* symbol = orders().hit;
    return symbol == nullptr ? std::string() : std::string(symbols::unversioned(symbol));
}

void clear() noexcept {
    Orders& now = orders();
    now.target = 0;
    now.calls = 0;
    now.hit = nullptr;
}

CUresult initialised() noexcept {
    if (orders().forked.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
    return is_initialised() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

bool forked() noexcept {
    return orders().forked;
}

void watch_forks() {
    static std::once_flag once;
    std::call_once(once, [] { os::after_fork([] { orders().forked = true; }); });
}

CUresult failed(const char* symbol, CUresult result) noexcept {
    (void)guarded([&]() -> CUresult {  // Out of memory: the line is lost.
        const char* name = nullptr;
        if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown";
        log::note(fmt::format("Returning {} ({}) from {}", static_cast<int>(result), name,
                              symbols::unversioned(symbol)));
        return CUDA_SUCCESS;
    });
    return result;
}

CUresult unsupported(const char* symbol) noexcept {
    CUresult state = count(symbol);
    if (state == CUDA_SUCCESS) state = permitted(symbol);
    if (state != CUDA_SUCCESS) return answer(symbol, state);
    return answer(symbol, refuse(symbol));
}

HostFunction::HostFunction() noexcept {
    ++host_functions;
}

HostFunction::~HostFunction() {
    --host_functions;
}

CUresult permitted(const char* symbol) noexcept {
    if (host_functions == 0) [[likely]]
        return CUDA_SUCCESS;
    const bool is_harmless =
        std::ranges::find(harmless, symbols::unversioned(symbol)) != std::end(harmless);
    return is_harmless ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
}

CUresult allowed(const char* symbol) noexcept {
    if (const CUresult state = initialised(); state != CUDA_SUCCESS) return state;
    if (const CUresult state = permitted(symbol); state != CUDA_SUCCESS) return state;
    Captures& captures = driver().graph_tables.captures;
    if (!captures.any()) [[likely]]
        return CUDA_SUCCESS;
    return guarded([&] { return captures.check_call(symbols::unversioned(symbol)); });
}

CUresult refuse(const char* what) noexcept {
    return guarded([&]() -> CUresult {
        return refuse_once(fmt::format("The software device doesn't support {}; the call returns "
                                       "CUDA_ERROR_NOT_SUPPORTED.",
                                       what),
                           journal::Kind::refusal);
    });
}

CUresult refuse_once(const std::string& line, journal::Kind kind) {
    if (is_first_refusal(line)) {
        log::show(log::Level::warning, line);
        journal::add(kind, {}, line);
    }
    log::note(line);
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace lode::emulator::driver::gate

namespace lode::emulator::driver {

int answer_unsupported(const char* symbol) noexcept {
    return gate::unsupported(symbol);
}

}  // namespace lode::emulator::driver
