// Loaded into a program by LD_PRELOAD: ends it LODE_END_AFTER microseconds after its start, on a
// thread of its own. LODE_END_BY is exit, quick_exit or signal.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace {

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
        if (how == "quick_exit") std::quick_exit(0);
        ::kill(::getpid(), SIGTERM);
    }).detach();
}

}  // namespace
