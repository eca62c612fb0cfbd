// OncePerKey: concurrent callers with the same key share one computation.
#pragma once

#include <lode/base/error.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace LODE_NAMESPACE {

/// Runs at most one computation per key at a time, outside every lock.
///
/// The first caller of run(key, f) computes; callers that arrive during the computation wait and
/// get a copy of the same result, value or error. Results aren't cached: a later caller computes
/// again. If f throws, or its result isn't acceptable to a waiter, the waiters compute for
/// themselves, one after the other; an exception propagates to the computing caller. f must not
/// run() the same key: it would deadlock. Thread-safe; destroy it only when no run() is in
/// progress.
template <class Key, class Value>
class OncePerKey {
public:
    template <class Compute>
    [[nodiscard]] Result<Value> run(const Key& key, Compute&& compute) {
        return run(
            key, [&](const auto& /*is_awaited*/) { return compute(); },
            [](const Result<Value>& /*result*/) { return true; });
    }

    /// The same with a computation that can ask whether other callers wait for it:
    /// `compute(is_awaited)`. A waiter takes a result for which `accepts(result)` is true. Unless
    /// it is empty, a waiter asks `gives_up` every 20 ms; an error ends its wait and is its result.
    template <class Compute, class Accepts>
    [[nodiscard]] Result<Value> run(const Key& key, Compute&& compute, Accepts&& accepts,
                                    const std::function<std::optional<Error>()>& gives_up = {}) {
        auto [flight, first] = board(key);
        while (!first) {
            if (auto error = wait_for(*flight, gives_up))
                return tl::unexpected<Error>(*std::move(error));
            // No writer is left; the copy may be large. Empty when the computation threw.
            if (auto shared = flight->result; shared && accepts(*shared)) return *std::move(shared);
            std::tie(flight, first) = board(key);
        }
        const Landing landing{*this, key, *flight};
        // By value: the computation may keep the function longer than this call.
        const auto is_awaited = [awaited = flight] { return awaited->waiters.load() > 0; };
        Result<Value> result = std::forward<Compute>(compute)(is_awaited);
        flight->result = result;  // No lock: waiters read it only after `landed`.
        return result;
    }

    /// Computations in progress.
    [[nodiscard]] std::size_t in_flight() const {
        const std::lock_guard guard(mutex_);
        return flights_.size();
    }

private:
    struct Flight {
        std::optional<Result<Value>> result;
        std::atomic<int> waiters = 0;
        bool landed = false;
    };

    /// The key's flight, and whether the caller started it.
    std::pair<std::shared_ptr<Flight>, bool> board(const Key& key) {
        auto flight = std::make_shared<Flight>();
        const std::lock_guard guard(mutex_);
        const auto [entry, first] = flights_.try_emplace(key, std::move(flight));
        if (!first) ++entry->second->waiters;
        return {entry->second, first};
    }

    /// Waits until the flight has landed; the error of a caller that gives up before.
    std::optional<Error> wait_for(Flight& flight,
                                  const std::function<std::optional<Error>()>& gives_up) {
        constexpr std::chrono::milliseconds interval{20};
        const auto has_landed = [&] { return flight.landed; };
        std::unique_lock lock(mutex_);
        if (!gives_up) landed_.wait(lock, has_landed);
        while (!landed_.wait_for(lock, interval, has_landed)) {
            lock.unlock();
            if (auto error = gives_up()) {
                --flight.waiters;
                return error;
            }
            lock.lock();
        }
        return std::nullopt;
    }

    /// Wakes the waiters however the computation ends.
    struct Landing {
        OncePerKey& owner;
        const Key& key;
        Flight& flight;
        ~Landing() {
            {
                const std::lock_guard guard(owner.mutex_);
                flight.landed = true;
                owner.flights_.erase(key);
            }
            owner.landed_.notify_all();
        }
    };

    mutable std::mutex mutex_;
    std::condition_variable landed_;
    std::map<Key, std::shared_ptr<Flight>> flights_;
};

}  // namespace LODE_NAMESPACE
