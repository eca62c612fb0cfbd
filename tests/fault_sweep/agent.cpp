// A driver library for the samples: the software device, which it depends on, with one call that
// fails. It reports the calls made and the handles left.
//
// LODE_SWEEP_REPORT  the report's file, which must not exist yet; only the first process writes it
// LODE_SWEEP_FAIL    "cuMemAlloc 3" fails the third call of cuMemAlloc; nothing fails without it
#include "emulator/driver/control.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

class SweepAgent {
public:
    SweepAgent() {
        const char* const path = std::getenv("LODE_SWEEP_REPORT");
        if (path == nullptr) return;
        // A process that the swept one starts finds the file and stays as it is.
        report_ = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (report_ < 0) return;
        if (const char* const order = std::getenv("LODE_SWEEP_FAIL")) {
            const std::string text = order;
            const auto blank = text.find(' ');
            entry_ = text.substr(0, blank);
            number_ = blank == std::string::npos ? 1 : std::strtoul(&text[blank], nullptr, 10);
        }
        lode_emulator_set_calls(
            [](void* user, const char* entry) {
                return static_cast<SweepAgent*>(user)->ask(entry);
            },
            this);
    }
    ~SweepAgent() {
        if (report_ < 0 || ::getpid() != process_) return;
        wait_for_threads();
        lode_emulator_set_calls(nullptr, nullptr);
        for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
            if (const long count = lode_emulator_live(kind); count != 0)
                ::dprintf(report_, "live %ld %s\n", count, lode_emulator_kind_name(kind));
        }
        for (const auto& entry : order_)
            ::dprintf(report_, "called %lu %s\n", counts_[entry], entry.c_str());
        ::dprintf(report_, "struck %d\nend\n", struck_ ? 1 : 0);
    }
    SweepAgent(const SweepAgent&) = delete;
    SweepAgent& operator=(const SweepAgent&) = delete;

private:
    static bool is_anything_left() {
        for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
            if (lode_emulator_live(kind) != 0) return true;
        }
        return false;
    }
    /// A thread that has handed over its result may be about to release what it used: main()
    /// doesn't wait for that.
    static void wait_for_threads() {
        for (int waited = 0; waited < 2000 && is_anything_left(); ++waited)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    int ask(const char* entry) {
        const std::lock_guard guard(mutex_);
        const auto [at, is_new] = counts_.try_emplace(entry, 0UL);
        if (is_new) order_.push_back(at->first);
        if (++at->second != number_ || at->first != entry_) return CUDA_SUCCESS;
        struck_ = true;
        return CUDA_ERROR_OPERATING_SYSTEM;
    }

    const pid_t process_ = ::getpid();
    int report_ = -1;
    std::string entry_;
    unsigned long number_ = 0;
    std::mutex mutex_;  ///< Guards the following.
    bool struck_ = false;
    std::map<std::string, unsigned long> counts_;
    std::vector<std::string> order_;  ///< By the first call.
};

SweepAgent the_agent;

}  // namespace
