#include "runtime/load_kernel.hpp"

#include <lode/runtime/batch.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

struct Batch::State {
    struct KernelRequest {
        Device device;
        Source source;
        std::string name;
        KernelOptions options;
        std::shared_ptr<detail::PendingState<UntypedKernel>> made;
        bool is_started = false;

        [[nodiscard]] bool is_together_with(const KernelRequest& other) const {
            return device.state() == other.device.state() && source == other.source &&
                   options == other.options;
        }
    };

    std::mutex mutex;
    std::condition_variable ended;
    std::vector<KernelRequest> requests;
    std::deque<std::size_t> to_return;  ///< Ended, and not yet returned by next().
    std::size_t done = 0;
    std::size_t started = 0;
    std::size_t returned = 0;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    /// Nothing can start the rest any more.
    ~State() {
        for (const auto& request : requests) {
            if (request.is_started) continue;
            request.made->complete(fail(
                Errc::cancelled, fmt::format("Loading '{}' was cancelled: its Batch was destroyed "
                                             "before it was started.",
                                             request.source.name())));
        }
    }

    void note_end(std::size_t index) {
        {
            const std::lock_guard guard(mutex);
            // One that was cancelled before counts as started, since next() returns it.
            if (!std::exchange(requests[index].is_started, true)) ++started;
            to_return.push_back(index);
            ++done;
        }
        ended.notify_all();
    }
};

Batch::Batch() : state_(std::make_shared<State>()) {}

Pending<UntypedKernel> Batch::add(const Device& device, Source source, std::string name,
                                  KernelOptions options) {
    auto made = std::make_shared<detail::PendingState<UntypedKernel>>();
    std::size_t index = 0;
    {
        const std::lock_guard guard(state_->mutex);
        index = state_->requests.size();
        state_->requests.push_back(
            {device, std::move(source), std::move(name), std::move(options), made});
    }
    made->on_done([index, weak = std::weak_ptr(state_)](const auto& /*result*/) {
        if (const auto state = weak.lock()) state->note_end(index);
    });
    return Pending<UntypedKernel>(std::move(made), device.state());
}

std::size_t Batch::size() const {
    const std::lock_guard guard(state_->mutex);
    return state_->requests.size();
}

std::size_t Batch::done() const {
    const std::lock_guard guard(state_->mutex);
    return state_->done;
}

void Batch::start() {
    struct Group {
        State::KernelRequest first;
        std::vector<std::string> names;
        std::vector<std::shared_ptr<detail::PendingState<UntypedKernel>>> made;
    };
    std::vector<Group> groups;
    {
        const std::lock_guard guard(state_->mutex);
        for (auto& request : state_->requests) {
            if (std::exchange(request.is_started, true)) continue;
            ++state_->started;
            if (request.made->is_done()) continue;  // It is being cancelled.
            auto group = groups.begin();
            while (group != groups.end() && !group->first.is_together_with(request))
                ++group;
            if (group == groups.end()) group = groups.insert(group, Group{request, {}, {}});
            group->names.push_back(request.name);
            group->made.push_back(request.made);
        }
    }
    for (auto& group : groups) {
        const auto loads =
            detail::load_kernels_async(group.first.device.state(), group.first.source,
                                       std::move(group.names), group.first.options);
        for (std::size_t i = 0; i < loads.size(); ++i) {
            group.made[i]->on_cancel(loads[i].canceller());
            loads[i].on_done([made = group.made[i]](const Result<UntypedKernel>& result) {
                made->complete(result);
            });
        }
    }
}

std::optional<std::size_t> Batch::next() {
    std::unique_lock lock(state_->mutex);
    state_->ended.wait(
        lock, [&] { return !state_->to_return.empty() || state_->returned >= state_->started; });
    if (state_->to_return.empty()) return std::nullopt;
    const std::size_t index = state_->to_return.front();
    state_->to_return.pop_front();
    ++state_->returned;
    if (state_->returned >= state_->started) state_->ended.notify_all();
    return index;
}

Pending<UntypedKernel> Batch::result(std::size_t index) const {
    const std::lock_guard guard(state_->mutex);
    if (index >= state_->requests.size()) return {};
    const auto& request = state_->requests[index];
    return Pending<UntypedKernel>(request.made, request.device.state());
}

Status Batch::wait() {
    start();
    Status first = success();
    for (std::size_t index = 0; index < size(); ++index) {
        auto kernel = result(index).get();
        if (!kernel && first) first = tl::unexpected<Error>(std::move(kernel).error());
    }
    return first;
}

void Batch::cancel() {
    std::vector<std::shared_ptr<detail::PendingState<UntypedKernel>>> all;
    {
        const std::lock_guard guard(state_->mutex);
        for (const auto& request : state_->requests)
            all.push_back(request.made);
    }
    for (const auto& made : all)
        made->cancel();
}

}  // namespace LODE_NAMESPACE
