#include "tools/lode/progress.hpp"

#include "tools/lode/output.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::chrono::milliseconds refresh{200};

std::string_view describe(CompilePhase phase) {
    switch (phase) {
        case CompilePhase::waiting_for_process:
            return "waiting for another process";
        case CompilePhase::waiting_for_worker:
            return "waiting for a worker";
        case CompilePhase::compiling:
            return "compiling";
        case CompilePhase::storing:
            return "storing";
    }
    return {};
}

}  // namespace

void ProgressState::note(const CompileEvent& event, Clock::time_point now) {
    switch (event.kind) {
        case CompileEvent::Kind::queued:
        case CompileEvent::Kind::refused:
            break;
        case CompileEvent::Kind::started:
            running_[event.request] = {
                fmt::format("{} for {}", event.source, event.arch.to_string()), "starting", now};
            break;
        case CompileEvent::Kind::phase:
            if (const auto found = running_.find(event.request); found != running_.end())
                found->second.doing = describe(event.phase);
            break;
        case CompileEvent::Kind::hit:
        case CompileEvent::Kind::done:
        case CompileEvent::Kind::failed:
            running_.erase(event.request);
            ++ended_;
            break;
    }
}

std::string ProgressState::line(Clock::time_point now) const {
    if (running_.empty() && ended_ == 0) return {};
    const std::size_t all = std::max(expected_, ended_ + running_.size());
    std::string text = fmt::format("[{}/{}]", ended_, all);
    if (running_.empty()) return text;
    // The compilation that takes longest.
    const auto oldest = std::ranges::min_element(
        running_, {}, [](const auto& entry) { return entry.second.since; });
    const Running& shown = oldest->second;
    text += fmt::format(" {}: {}, {:.1f} s", shown.what, shown.doing,
                        std::chrono::duration<double>(now - shown.since).count());
    if (running_.size() > 1) text += fmt::format(" (and {} more)", running_.size() - 1);
    return text;
}

ProgressLine::ProgressLine() : is_shown_(can_show_progress()) {
    if (is_shown_) thread_ = std::thread([this] { repeat(); });
}

ProgressLine::~ProgressLine() {
    if (!is_shown_) return;
    {
        const std::lock_guard guard(mutex_);
        is_ending_ = true;
    }
    ending_.notify_all();
    thread_.join();
    show_progress({});
}

void ProgressLine::expect(std::size_t requests) {
    const std::lock_guard guard(mutex_);
    state_.expect(requests);
}

CompileEventHook ProgressLine::hook() {
    if (!is_shown_) return {};
    return [this](const CompileEvent& event) {
        const auto now = ProgressState::Clock::now();
        const std::lock_guard guard(mutex_);
        state_.note(event, now);
        show_progress(state_.line(now));
    };
}

void ProgressLine::repeat() {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, refresh, [this] { return is_ending_; }))
        show_progress(state_.line(ProgressState::Clock::now()));
}

}  // namespace lode::tool
