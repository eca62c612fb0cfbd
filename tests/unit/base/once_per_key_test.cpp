#include "base/once_per_key.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using lode::Errc;
using lode::OncePerKey;
using lode::Result;
using namespace std::chrono_literals;

namespace {

constexpr int crowd = 8;

/// Calls run(key) from `crowd` threads at once. The computation starts when all threads have been
/// started, and sleeps long enough for all of them to reach run().
template <class Compute>
std::vector<Result<int>> ask_together(OncePerKey<std::string, int>& once, const std::string& key,
                                      Compute&& compute) {
    std::atomic<int> asking{0};
    std::vector<Result<int>> results(crowd, Result<int>(0));
    std::vector<std::thread> threads;
    for (int i = 0; i < crowd; ++i) {
        threads.emplace_back([&, i] {
            ++asking;
            results[static_cast<std::size_t>(i)] = once.run(key, [&] {
                while (asking < crowd)
                    std::this_thread::yield();
                std::this_thread::sleep_for(50ms);
                return compute();
            });
        });
    }
    for (auto& thread : threads)
        thread.join();
    return results;
}

}  // namespace

TEST_CASE("once per key: callers that meet share one computation") {
    OncePerKey<std::string, int> once;
    std::atomic<int> computed{0};
    const auto results = ask_together(once, "k", [&]() -> Result<int> { return ++computed; });
    CHECK(computed == 1);
    for (const auto& result : results)
        CHECK(result.value() == 1);
    CHECK(once.in_flight() == 0);
}

TEST_CASE("once per key: an error is shared like a value") {
    OncePerKey<std::string, int> once;
    std::atomic<int> computed{0};
    const auto results = ask_together(once, "k", [&]() -> Result<int> {
        ++computed;
        return lode::fail(Errc::compile_failed, "It doesn't compile.");
    });
    CHECK(computed == 1);
    for (const auto& result : results) {
        REQUIRE_FALSE(result);
        CHECK(result.error().code == Errc::compile_failed);
    }
}

TEST_CASE("once per key: results aren't remembered") {
    OncePerKey<int, int> once;
    int computed = 0;
    const auto compute = [&]() -> Result<int> { return ++computed; };
    CHECK(once.run(1, compute).value() == 1);
    CHECK(once.run(1, compute).value() == 2);
}

TEST_CASE("once per key: different keys run side by side") {
    OncePerKey<int, int> once;
    std::atomic<int> running{0};
    const auto meet_the_other = [&]() -> Result<int> {
        ++running;
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        while (running < 2 && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
        return running.load();
    };
    Result<int> other(0);
    std::thread thread([&] { other = once.run(1, meet_the_other); });
    const auto mine = once.run(2, meet_the_other);
    thread.join();
    CHECK(mine.value() == 2);
    CHECK(other.value() == 2);
}

TEST_CASE("once per key: a computation may ask for another key") {
    OncePerKey<int, int> once;
    const auto result = once.run(1, [&] {
        return once.run(2, [&]() -> Result<int> { return static_cast<int>(once.in_flight()); });
    });
    CHECK(result.value() == 2);
}

TEST_CASE("once per key: an exception reaches only the caller that computed, others compute") {
    OncePerKey<std::string, int> once;
    std::atomic<int> asking{0};
    std::atomic<int> computed{0};
    std::atomic<int> thrown{0};
    std::atomic<int> served{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < crowd; ++i) {
        threads.emplace_back([&] {
            ++asking;
            try {
                const auto result = once.run("k", [&]() -> Result<int> {
                    while (asking < crowd)
                        std::this_thread::yield();
                    std::this_thread::sleep_for(20ms);
                    if (++computed == 1) throw std::runtime_error("the first one fails");
                    return 5;
                });
                if (result && *result == 5) ++served;
            } catch (const std::runtime_error&) {
                ++thrown;
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    CHECK(thrown == 1);
    CHECK(served == crowd - 1);
    CHECK(computed >= 2);
    CHECK(once.in_flight() == 0);
}

TEST_CASE("once per key: a waiter that gives up doesn't count as waiting") {
    OncePerKey<int, int> once;
    std::atomic<bool> has_begun = false;
    std::atomic<bool> was_awaited = false;
    std::thread computes([&] {
        const auto compute = [&](const auto& is_awaited) -> Result<int> {
            has_begun = true;
            while (!is_awaited())
                std::this_thread::yield();
            was_awaited = true;
            const auto end = std::chrono::steady_clock::now() + 20s;
            while (is_awaited() && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
            return is_awaited() ? 1 : 2;
        };
        CHECK(once.run(1, compute, [] { return std::optional<lode::Error>(); }).value() == 2);
    });
    while (!has_begun)
        std::this_thread::yield();
    const auto given_up = once.run(
        1, [](const auto& /*is_awaited*/) -> Result<int> { return 3; },
        [&]() -> std::optional<lode::Error> {
            if (!was_awaited) return std::nullopt;
            return lode::Error{Errc::cancelled, "Enough."};
        });
    computes.join();
    REQUIRE_FALSE(given_up);
    CHECK(given_up.error().message == "Enough.");
}

TEST_CASE("once per key: whoever runs an announced computation gives the waiters its result") {
    OncePerKey<int, int> once;
    auto [nobody, announced] = once.wait_or_announce(1);
    REQUIRE(announced);
    CHECK_FALSE(nobody);
    const auto [waiter, second] = once.wait_or_announce(1);
    REQUIRE(waiter);
    CHECK_FALSE(second);
    const auto is_awaited = [](const auto& asks) -> Result<int> { return asks() ? 1 : 2; };
    const auto never = [] { return std::optional<lode::Error>(); };
    CHECK(once.run(1, is_awaited, never).value() == 1);
    CHECK(waiter->get().value() == 1);
    announced.reset();  // Too late to matter.
    CHECK(once.in_flight() == 0);

    announced = once.wait_or_announce(1).second;
    const auto left = once.wait_or_announce(1).first;
    const auto gives_up = once.wait_or_announce(1).first;
    gives_up->cancel();
    announced.reset();  // Nobody ran it: the waiters have to ask again.
    CHECK_FALSE(once.is_shared(left->get()));
    CHECK(once.in_flight() == 0);
    announced = once.wait_or_announce(1).second;
    once.wait_or_announce(1).first->cancel();
    CHECK(once.run(1, is_awaited, never).value() == 2);
}
