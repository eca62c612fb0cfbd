#include "emulator/driver/log.hpp"

#include "emulator/driver/gate.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::driver::log {
namespace {

constexpr std::size_t lines_kept = 256;

struct Registration {
    std::uintptr_t handle;  ///< Never reused.
    Callback callback;
    void* data;
};

struct Log {
    std::mutex mutex;
    lode_emulator_log_hook hook = nullptr;
    void* user = nullptr;
    std::list<Registration> callbacks;
    std::deque<std::string> lines;
    std::uint32_t dropped = 0;
    std::string report;
    std::optional<std::string> place = environment_word("LODE_EMULATOR_LOG").value_or(std::nullopt);
    bool to_stderr = place == "stderr";
};

thread_local bool in_callback = false;

struct CallbackScope {
    CallbackScope() noexcept { in_callback = true; }
    ~CallbackScope() { in_callback = false; }
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;

    const gate::HostFunction function;
};

// Never destroyed: worker threads may still write during process exit.
Log& the_log() {
    static Log& instance = *new Log;
    return instance;
}

/// Retains a line for the driver's log, and passes it to the log's callbacks.
void notify_callbacks(Level level, std::string_view line) noexcept {
    try {
        Log& log = the_log();
        std::string text(line);
        std::vector<Registration> callbacks;
        {
            const std::lock_guard lock(log.mutex);
            callbacks.assign(log.callbacks.begin(), log.callbacks.end());
            log.lines.push_back(text);
            if (log.lines.size() > lines_kept) {
                log.lines.pop_front();
                ++log.dropped;
            }
        }
        if (in_callback) return;  // A call that a callback makes has failed.
        const CallbackScope scope;
        for (const Registration& one : callbacks)
            one.callback(one.data, static_cast<int>(level), text.data(), text.size());
    } catch (...) {  // Out of memory: the line is lost.
    }
}

void print(std::string_view line) noexcept {
    std::fprintf(stderr, "lode software device: %.*s\n", static_cast<int>(line.size()),
                 line.data());
}

/// The headlines of findings, whose facts are indented lines, and where the facts are.
std::string headlines(std::string_view text, std::string_view place) {
    std::string lines;
    bool has_facts = false;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.starts_with("  ")) {
            has_facts = true;
        } else {
            lines += (lines.empty() ? "" : "\n") + std::string(line);
        }
    }
    return has_facts ? lines + "\n  facts: " + std::string(place) : lines;
}

}  // namespace

void write(Level level, std::string_view line) noexcept {
    show(level, line);
    if (level != Level::information) notify_callbacks(level, line);
}

void show(Level level, std::string_view line) noexcept {
    try {
        Log& log = the_log();
        const std::string text(line);
        lode_emulator_log_hook hook = nullptr;
        void* user = nullptr;
        {
            const std::lock_guard lock(log.mutex);
            hook = log.hook;
            user = log.user;
            if (log.to_stderr) print(text);
        }
        if (hook != nullptr) hook(user, static_cast<int>(level), text.c_str());
    } catch (...) {  // Out of memory: the line is lost.
    }
}

void show_last(std::string_view line) noexcept {
    try {
        if (the_log().to_stderr) print(line);
    } catch (...) {  // Out of memory: the line is lost.
    }
}

void note(std::string_view line) noexcept {
    notify_callbacks(Level::error, line);
}

void keep_findings(std::string_view text) noexcept {
    try {
        Log& log = the_log();
        const std::lock_guard lock(log.mutex);
        if (log.to_stderr) {
            log.report = headlines(text, "in the software device's log above");
        } else if (log.place == "summary") {
            log.report = headlines(text, "in the summary of lode emulate, at the end");
        } else {
            log.report = text;
        }
    } catch (...) {  // Out of memory: the report is lost.
    }
}

void report(std::string_view text) noexcept {
    try {
        const std::lock_guard lock(the_log().mutex);
        the_log().report = text;
    } catch (...) {  // Out of memory: the report is lost.
    }
    write(Level::error, text);
}

std::string take_report() {
    const std::lock_guard lock(the_log().mutex);
    return std::exchange(the_log().report, {});
}

void set_hook(lode_emulator_log_hook hook, void* user) {
    const std::lock_guard lock(the_log().mutex);
    the_log().hook = hook;
    the_log().user = user;
}

void* add_callback(Callback callback, void* data) {
    const std::lock_guard lock(the_log().mutex);
    static std::uintptr_t last = 0;  // Guarded by the mutex.
    the_log().callbacks.push_back(Registration{++last, std::move(callback), data});
    return reinterpret_cast<void*>(last);
}

bool remove_callback(const void* handle) {
    const std::lock_guard lock(the_log().mutex);
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    return the_log().callbacks.remove_if(
               [&](const Registration& one) { return one.handle == number; }) > 0;
}

std::uint32_t next_line() {
    const std::lock_guard lock(the_log().mutex);
    return the_log().dropped + static_cast<std::uint32_t>(the_log().lines.size());
}

std::string lines_from(std::uint32_t first, std::uint32_t& next) {
    const std::lock_guard lock(the_log().mutex);
    const Log& log = the_log();
    next = log.dropped + static_cast<std::uint32_t>(log.lines.size());
    std::string text;
    const std::size_t skip = first > log.dropped ? first - log.dropped : 0;
    for (std::size_t i = skip; i < log.lines.size(); ++i)
        text.append(log.lines[i]).push_back('\n');
    return text;
}

void clear() {
    const std::lock_guard lock(the_log().mutex);
    Log& log = the_log();
    log.callbacks.clear();
    log.lines.clear();
    log.dropped = 0;
    log.report.clear();
}

}  // namespace lode::emulator::driver::log
