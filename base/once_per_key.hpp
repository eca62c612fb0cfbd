// OncePerKey: concurrent callers that ask for one key share one computation.
#pragma once

#include <lode/base/error.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace lode {

/// Runs at most one computation per key at a time, outside every lock.
///
/// The first caller of run(key, f) computes; callers that arrive meanwhile wait and get a copy of
/// the same result, value or error. Nothing is remembered afterwards: the next caller computes
/// anew (a cache decides what to keep). If f throws, the exception goes to the computing caller and
/// the waiters compute for themselves. Thread-safe.
template <class Key, class Value>
class OncePerKey {
public:
    template <class Compute>
    Result<Value> run(const Key& key, Compute&& compute) {
        std::unique_lock lock(mutex_);
        for (;;) {
            auto found = flights_.find(key);
            if (found == flights_.end()) break;
            const std::shared_ptr<Flight> flight = found->second;
            landed_.wait(lock, [&] { return flight->landed; });
            if (flight->result) return *flight->result;
        }
        const auto flight = std::make_shared<Flight>();
        flights_.emplace(key, flight);
        lock.unlock();

        const Landing landing{*this, key, *flight};
        Result<Value> result = std::forward<Compute>(compute)();
        const std::lock_guard guard(mutex_);
        flight->result = result;
        return result;
    }

    /// Computations under way now.
    [[nodiscard]] std::size_t in_flight() const {
        const std::lock_guard guard(mutex_);
        return flights_.size();
    }

private:
    struct Flight {
        std::optional<Result<Value>> result;
        bool landed = false;
    };

    /// Wakes the waiters however the computation ended.
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

}  // namespace lode
