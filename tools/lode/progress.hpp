// A line on stderr that shows how far compilations are, on a terminal only.
#pragma once

#include <lode/jit/compile_report.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace lode::tool {

/// What is under way; knows no terminal. Not thread-safe.
class ProgressState {
public:
    using Clock = std::chrono::steady_clock;

    /// How many requests there will be in all; until it is set, those seen so far.
    void expect(std::size_t requests) { expected_ = requests; }
    void note(const CompileEvent& event, Clock::time_point now);
    /// "[3/20] reduce.cu for sm_90: compiling, 1.2 s (and 3 more)"; empty while nothing is known.
    [[nodiscard]] std::string line(Clock::time_point now) const;

private:
    struct Running {
        std::string what;
        std::string doing;
        Clock::time_point since;
    };
    std::size_t expected_ = 0;
    std::size_t ended_ = 0;
    std::map<std::uint64_t, Running> running_;  ///< By CompileEvent::request.
};

/// Shows a ProgressState until it is destroyed. Thread-safe.
class ProgressLine {
public:
    /// Shows nothing if stderr isn't a terminal.
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// How many requests there will be in all.
    void expect(std::size_t requests);
    /// For CacheOptions::events; must outlive the compiler's requests. Empty without a terminal.
    [[nodiscard]] CompileEventHook hook();

private:
    void repeat();

    const bool is_shown_;
    std::mutex mutex_;
    std::condition_variable ending_;
    bool is_ending_ = false;
    ProgressState state_;
    std::thread thread_;
};

}  // namespace lode::tool
