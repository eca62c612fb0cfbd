// Loaded into a program by LD_PRELOAD: ends it LODE_END_AFTER microseconds after its start, on a
// thread of its own. LODE_END_BY is exit, quick_exit or signal. A program may call exit() once
// only, so that a main() that returns then, or a second exit(), waits for the end.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

namespace {

using Main = int (*)(int, char**, char**);
using Exit = void (*)(int);

std::atomic<bool> is_ending = false;
Main original_main = nullptr;

/// Returns for the first caller, which ends the process; the others stay here.
void end_once() {
    if (!is_ending.exchange(true)) return;
    for (;;)
        ::pause();
}

int wrapped_main(int count, char** words, char** environment) {
    const int result = original_main(count, words, environment);
    end_once();
    return result;
}

/// Children of the program end with it, so they aren't ended by themselves.
[[gnu::constructor]] void begin() {
    const char* after = std::getenv("LODE_END_AFTER");
    const char* by = std::getenv("LODE_END_BY");
    if (after == nullptr || by == nullptr) return;
    const std::chrono::microseconds moment(std::atol(after));
    ::unsetenv("LODE_END_AFTER");
    ::unsetenv("LD_PRELOAD");
    std::thread([moment, how = std::string_view(by)] {
        std::this_thread::sleep_for(moment);
        if (how == "exit") std::exit(0);
        end_once();
        if (how == "quick_exit") std::quick_exit(0);
        ::kill(::getpid(), SIGTERM);
    }).detach();
}

}  // namespace

extern "C" {

[[noreturn]] void exit(int code) noexcept {
    end_once();
    reinterpret_cast<Exit>(::dlsym(RTLD_NEXT, "exit"))(code);
    __builtin_unreachable();
}

int __libc_start_main(Main main, int count, char** words, void (*init)(), void (*fini)(),
                      void (*loader)(), void* stack_end) {
    original_main = main;
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    return reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"))(
        &wrapped_main, count, words, init, fini, loader, stack_end);
}

}  // extern "C"
