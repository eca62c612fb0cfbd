#include "runtime/state/host_calls.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

void call_logged(const std::function<void()>& function, const Log& log,
                 std::string_view what) noexcept {
    try {
        function();
    } catch (const std::exception& thrown) {
        log.write(LogLevel::error, fmt::format("{} throws: {}", what, thrown.what()));
    } catch (...) {
        log.write(LogLevel::error, fmt::format("{} throws.", what));
    }
}

void CUDA_CB HostCall::run(void* argument) noexcept {
    auto* const call = static_cast<HostCall*>(argument);
    HostCalls& owner = call->owner;
    {
        const auto function = owner.take(*call);
        if (function) call_logged(function, owner.log_, "A host function on a stream");
    }
    owner.remove(call);
}

HostCall* HostCalls::add(std::function<void()> function) {
    auto call = std::make_unique<HostCall>(HostCall{std::move(function), *this});
    HostCall* const added = call.get();
    const std::lock_guard guard(mutex_);
    calls_.push_back(std::move(call));
    return added;
}

void HostCalls::remove(HostCall* call) noexcept {
    std::unique_ptr<HostCall> removed;  // Destroyed outside the lock: the function may be anything.
    const std::lock_guard guard(mutex_);
    const auto found = std::ranges::find(calls_, call, &std::unique_ptr<HostCall>::get);
    if (found == calls_.end()) return;
    removed = std::move(*found);
    calls_.erase(found);
}

void HostCalls::give_up() noexcept {
    while (true) {
        std::function<void()> function;  // Destroyed outside the lock.
        const std::lock_guard guard(mutex_);
        const auto waiting = std::ranges::find_if(
            calls_, [](const auto& call) { return static_cast<bool>(call->function); });
        if (waiting == calls_.end()) return;
        function = std::exchange((*waiting)->function, nullptr);
    }
}

bool HostCalls::empty() const noexcept {
    const std::lock_guard guard(mutex_);
    return calls_.empty();
}

std::function<void()> HostCalls::take(HostCall& call) noexcept {
    const std::lock_guard guard(mutex_);
    return std::exchange(call.function, nullptr);
}

}  // namespace LODE_NAMESPACE::detail
