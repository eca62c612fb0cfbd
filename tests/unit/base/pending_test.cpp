// Pending: results that another thread makes.
#include "tests/support/result.hpp"

#include <lode/base/pending.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;
using namespace std::chrono_literals;

namespace {

using State = detail::PendingState<int>;

/// A Pending and the end that completes it.
struct Pair {
    std::shared_ptr<State> state = std::make_shared<State>();
    Pending<int> pending{state};
};

Error broken() {
    return {Errc::file_failed, "It is broken."};
}

}  // namespace

TEST_CASE("pending: an empty one is ready and says why there is nothing") {
    const Pending<int> empty;
    CHECK_FALSE(bool(empty));
    CHECK(empty.ready());
    empty.wait();
    empty.cancel();
    CHECK(empty.wait_for(0ms));
    CHECK(require_error(empty.get()).code == Errc::invalid_argument);
    CHECK(require_error(empty.then([](int) { return 1; }).get()).code == Errc::invalid_argument);
    int calls = 0;
    empty.on_done([&](const Result<int>& result) { calls += result ? 0 : 1; });
    CHECK(calls == 1);
}

TEST_CASE("pending: a result arrives once, for every copy, and stays") {
    const Pair made;
    const Pending<int> copy = made.pending;
    CHECK_FALSE(copy.ready());
    CHECK_FALSE(copy.wait_for(1ms));
    std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        made.state->complete(7);
        made.state->complete(8);
    });
    CHECK(require(copy.get()) == 7);
    other.join();
    CHECK(require(made.pending.get()) == 7);
    CHECK(copy.ready());
    CHECK(copy.wait_for(0ms));
}

TEST_CASE("pending: then() passes values on and skips errors") {
    const Pair made;
    const auto doubled = made.pending.then([](int value) { return 2 * value; });
    const auto text =
        doubled.then([](int value) -> Result<std::string> { return std::to_string(value) + "!"; });
    const auto failed =
        doubled.then([](int) -> Result<int> { return tl::unexpected<Error>(broken()); });
    int calls = 0;
    const auto skipped = failed.then([&](int) { return ++calls; });
    std::atomic<bool> ran = false;
    const Pending<void> nothing = made.pending.then([&](int) { ran = true; });
    const Pending<int> after_nothing = nothing.then([] { return 3; });
    CHECK_FALSE(text.ready());
    made.state->complete(21);
    CHECK(require(text.get()) == "42!");
    CHECK(require_error(skipped.get()).message == "It is broken.");
    CHECK(calls == 0);
    CHECK(ran);
    CHECK(require(after_nothing.get()) == 3);
    // At once, because the result is there.
    CHECK(require(made.pending.then([](int value) { return value + 1; }).get()) == 22);
}

TEST_CASE("pending: then() takes functions that can't be copied, and waits for a Pending") {
    const Pair outer;
    const Pair inner;
    auto owned = std::make_unique<int>(5);
    const Pending<int> chained =
        outer.pending.then([owned = std::move(owned), next = inner.pending](int value) mutable {
            *owned += value;
            return next.then([sum = *owned](int more) { return sum + more; });
        });
    outer.state->complete(10);
    CHECK_FALSE(chained.ready());
    inner.state->complete(100);
    CHECK(require(chained.get()) == 115);
}

TEST_CASE("pending: cancel() ends the wait, asks the work to stop, and passes through then()") {
    const Pair outer;
    const Pair inner;
    int calls = 0;
    const auto chained = outer.pending.then([&](int) { return ++calls; });
    chained.cancel();
    CHECK(require_error(chained.get()).code == Errc::cancelled);
    CHECK(require_error(outer.pending.get()).code == Errc::cancelled);
    CHECK(outer.state->is_cancelled());
    outer.state->complete(1);  // Too late.
    CHECK(calls == 0);
    CHECK(require_error(outer.pending.get()).code == Errc::cancelled);

    const Pair first;
    const auto waiting = first.pending.then([&](int) { return inner.pending; });
    first.state->complete(1);
    waiting.cancel();
    CHECK(inner.state->is_cancelled());
    CHECK(require_error(waiting.get()).code == Errc::cancelled);

    const Pending<int> there(Result<int>(4));
    there.cancel();
    CHECK(require(there.get()) == 4);
}

TEST_CASE("pending: it keeps alive what its work needs, also for what follows") {
    auto kept = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = kept;
    const auto state = std::make_shared<State>();
    Pending<int> pending(state, std::move(kept));
    auto next = pending.then([](int value) { return value; });
    pending = {};
    CHECK_FALSE(watch.expired());
    next = {};
    CHECK(watch.expired());
}

TEST_CASE("pending: completion, continuations and cancel() from many threads") {
    for (int round = 0; round < 200; ++round) {
        const Pair made;
        std::atomic<int> calls = 0;
        std::vector<std::thread> threads;
        threads.emplace_back([&] { made.state->complete(1); });
        threads.emplace_back([&] { made.pending.cancel(); });
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&] { made.pending.on_done([&](const auto&) { ++calls; }); });
            threads.emplace_back([&] {
                const auto result = made.pending.then([](int value) { return value; }).get();
                CHECK((result ? *result == 1 : result.error().code == Errc::cancelled));
            });
        }
        for (auto& thread : threads)
            thread.join();
        CHECK(calls == 2);
    }
}

TEST_CASE("pending: what then() makes isn't kept by a result that never comes") {
    const auto kept = std::make_shared<int>(1);
    const std::weak_ptr<State> watch = [&] {
        const auto state = std::make_shared<State>();
        (void)Pending<int>(state).then([kept](int value) { return value + *kept; });
        return state;
    }();
    CHECK(watch.expired());
    CHECK(kept.use_count() == 1);
}

TEST_CASE("pending: a continuation may assign to the object whose cancel() calls it") {
    Pending<int> pending(std::make_shared<State>());
    int calls = 0;
    pending.on_done([&](const auto& /*result*/) { pending = {}; });
    pending.on_done([&](const Result<int>& result) {
        CHECK(require_error(result).message == "The request was cancelled.");
        ++calls;
    });
    pending.cancel();
    CHECK(calls == 1);
    CHECK_FALSE(bool(pending));
}

TEST_CASE("pending: work that is registered during cancel() is cancelled too") {
    const Pair made;
    int calls = 0;
    made.state->on_cancel([&] { made.state->on_cancel([&] { ++calls; }); });
    made.pending.cancel();
    CHECK(calls == 1);
}

TEST_CASE("pending: what a canceller owns may use the Pending when it is destroyed") {
    const Pair made;
    std::promise<bool> destroyed;
    std::shared_ptr<const void> owned(
        nullptr, [&](const void* /*nothing*/) { destroyed.set_value(made.pending.ready()); });
    made.state->on_cancel([owned] {});
    owned = nullptr;
    std::thread completes([&] { made.state->complete(1); });
    const bool ended =
        destroyed.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    REQUIRE(ended);
    completes.join();
}

TEST_CASE("pending: any duration can be waited for") {
    const Pair made;
    CHECK_FALSE(made.pending.wait_for(std::chrono::duration<double>(0.001)));
    CHECK_FALSE(made.pending.wait_for(std::chrono::hours::min()));
    std::thread completes([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        made.state->complete(1);
    });
    CHECK(made.pending.wait_for(std::chrono::hours::max()));
    completes.join();
}
