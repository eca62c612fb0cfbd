// LineSource: where line information comes from for code that is loaded without.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace lode::emulator {

/// The host that loads code may be able to make the same code with line information. That costs a
/// compilation, so it is asked for only when a place has to be named. Thread-safe.
class LineSource {
public:
    /// Receives one PTX text, which is valid during the call.
    using Take = std::function<void(std::string_view ptx)>;
    /// Gives any number of texts. Runs on the thread that has to name a place, for seconds if need
    /// be, and must not call the driver.
    using Hook = std::function<void(const Take& take)>;

    /// Replaces the hook; an empty one removes it. Waits until the earlier one isn't running.
    void set(Hook hook) {
        const std::lock_guard lock(mutex_);
        hook_ = std::move(hook);
    }
    /// Calls the hook if there is one.
    void ask(const Take& take) {
        const std::lock_guard lock(mutex_);
        if (hook_) hook_(take);
    }

private:
    std::mutex mutex_;  ///< Held while the hook runs.
    Hook hook_;
};

}  // namespace lode::emulator
