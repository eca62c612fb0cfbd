// BorrowedLines: source lines for functions whose PTX has none. Private to the decoder and the
// executor.
#pragma once

#include "emulator/decode/line_source.hpp"
#include "emulator/decode/ptx/ast.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lode::emulator {

/// A module's lines from PTX that is the same code with line information. The source is asked once,
/// when the first place has to be named. Thread-safe.
class BorrowedLines {
public:
    using Clock = std::chrono::steady_clock;

    /// A function and the module that has the names of its files.
    struct Twin {
        const ptx::Module* module = nullptr;
        const ptx::Function* function = nullptr;
    };

    /// Null for no source. Call it before the first use.
    void set_source(std::shared_ptr<LineSource> source) noexcept { source_ = std::move(source); }

    /// The function that has the same instructions as `function`, one for one, and a line for them;
    /// nullptr if the source has none, or several with different lines. `own` has `function`.
    [[nodiscard]] const Twin* twin_of(const ptx::Module& own, const ptx::Function& function) const;

    /// A clock that stands still while the source is asked: that isn't a kernel's time.
    [[nodiscard]] Clock::time_point now() const noexcept;

private:
    struct Unit {
        std::string text;  ///< The module's views point into it.
        ptx::Module module;
    };

    void ask(const ptx::Module& own) const;

    std::shared_ptr<LineSource> source_;
    mutable std::once_flag asked_;
    mutable std::deque<Unit> units_;
    mutable std::unordered_map<const ptx::Function*, Twin> twins_;  ///< By the module's own ones.
    mutable std::atomic<Clock::rep> asking_since_{0};               ///< 0 while it isn't asked.
    mutable std::atomic<Clock::rep> asked_for_{0};                  ///< How long it was asked.
};

}  // namespace lode::emulator
