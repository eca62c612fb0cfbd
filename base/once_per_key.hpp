// OncePerKey: concurrent callers with the same key share one computation.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/pending.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {

/// Runs at most one computation per key at a time, outside every lock.
///
/// The first caller of run(key, f) computes; callers that arrive during the computation wait and
/// get a copy of the same result, value or error. Results aren't cached: a later caller computes
/// again. If f throws or is cancelled, the waiters compute for themselves, one after the other; an
/// exception propagates to the computing caller. f must not run() the same key: it would deadlock.
/// Thread-safe; destroy it only when no run() is in progress and no announcement is left.
template <class Key, class Value>
class OncePerKey {
public:
    using Waiter = std::shared_ptr<detail::PendingState<Value>>;
    /// A promise to run() a key soon. The waiters are told if it is dropped before.
    using Announcement = std::shared_ptr<const void>;

    /// Whether a waiter was given a result; otherwise it has to ask again.
    [[nodiscard]] static bool is_shared(const Result<Value>& result) {
        return result || result.error().code != Errc::cancelled;
    }

    template <class Compute>
    [[nodiscard]] Result<Value> run(const Key& key, Compute&& compute) {
        return run(
            key, [&](const auto& /*is_awaited*/) { return compute(); },
            [] { return std::optional<Error>(); });
    }

    /// The same with a computation that can ask whether other callers wait for it:
    /// `compute(is_awaited)`. A waiter asks `gives_up` every 20 ms; an error ends its wait and is
    /// its result.
    template <class Compute, class GivesUp>
    [[nodiscard]] Result<Value> run(const Key& key, Compute&& compute, GivesUp&& gives_up) {
        constexpr std::chrono::milliseconds interval{20};
        auto flight = std::make_shared<Flight>();
        while (const Waiter waiter = board(key, flight, true)) {
            while (!waiter->wait_until(std::chrono::steady_clock::now() + interval)) {
                if (std::optional<Error> error = gives_up()) {
                    waiter->cancel();
                    return tl::unexpected<Error>(*std::move(error));
                }
            }
            if (const auto& result = waiter->get(); is_shared(result)) return result;
        }
        const Landing landing{*this, key, *flight};
        // By value: the computation may keep the function longer than this call.
        const auto is_awaited = [flight] { return flight->is_awaited(); };
        Result<Value> result = std::forward<Compute>(compute)(is_awaited);
        flight->result = result;
        return result;
    }

    /// Waits for the key's computation without a thread, or announces one if there is none: one of
    /// both is null.
    [[nodiscard]] std::pair<Waiter, Announcement> wait_or_announce(const Key& key) {
        auto flight = std::make_shared<Flight>();
        if (auto waiter = board(key, flight, false)) return {std::move(waiter), nullptr};
        const auto drop = [this, key, flight](const void* /*unused*/) {
            {
                const std::lock_guard guard(mutex_);
                if (std::exchange(flight->has_begun, true)) return;
            }
            land(key, *flight);
        };
        return {nullptr, Announcement(flight.get(), drop)};
    }

    /// Computations that are announced or in progress.
    [[nodiscard]] std::size_t in_flight() const {
        const std::lock_guard guard(mutex_);
        return flights_.size();
    }

private:
    struct Flight {
        bool has_begun = false;  ///< Guarded by the owner's mutex.
        std::optional<Result<Value>> result;
        std::mutex mutex;  ///< Taken after the owner's.
        std::vector<Waiter> waiters;

        bool is_awaited() {
            const std::lock_guard guard(mutex);
            return std::ranges::any_of(waiters, [](const auto& one) { return !one->is_done(); });
        }
    };

    /// Makes `flight` the key's, unless there is another one: then that takes its place if it
    /// hasn't begun and the caller begins it, or the caller waits for it.
    Waiter board(const Key& key, std::shared_ptr<Flight>& flight, bool begins) {
        const std::lock_guard guard(mutex_);
        const auto& known = flights_.try_emplace(key, flight).first->second;
        if (known == flight || (begins && !known->has_begun)) {
            flight = known;
            flight->has_begun = begins;
            return nullptr;
        }
        const std::lock_guard lock(known->mutex);
        return known->waiters.emplace_back(std::make_shared<detail::PendingState<Value>>());
    }

    void land(const Key& key, Flight& flight) {
        std::vector<Waiter> waiters;
        {
            const std::scoped_lock guard(mutex_, flight.mutex);
            flights_.erase(key);
            waiters.swap(flight.waiters);
        }
        for (const auto& waiter : waiters)
            waiter->complete(flight.result.value_or(fail(Errc::cancelled, "There is no result.")));
    }

    /// Lands a flight however its computation ends.
    struct Landing {
        OncePerKey& owner;
        const Key& key;
        Flight& flight;
        ~Landing() { owner.land(key, flight); }
    };

    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<Flight>> flights_;
};

}  // namespace LODE_NAMESPACE
