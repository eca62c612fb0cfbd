// TaskQueue: two lanes of tasks.
#include "base/task_queue.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using Lane = TaskQueue::Lane;

TEST_CASE("task queue: quick tasks don't wait for slow ones, whose number is bounded") {
    std::promise<void> open;
    const auto gate = open.get_future().share();
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::atomic<int> done = 0;
    {
        TaskQueue queue(3);
        for (int i = 0; i < 10; ++i) {
            queue.post(Lane::slow, [&] {
                const int now = ++running;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
                gate.wait();
                --running;
                ++done;
            });
        }
        std::promise<void> quick;
        queue.post(Lane::quick, [&] { quick.set_value(); });
        CHECK(quick.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
        CHECK(done == 0);
        open.set_value();
    }
    CHECK(done == 10);
    CHECK(most <= 3);
    CHECK(most >= 1);
}

TEST_CASE("task queue: a quick task that takes long doesn't delay the next one") {
    std::promise<void> open;
    std::promise<void> quick;
    const auto gate = open.get_future().share();
    TaskQueue queue(1);
    for (std::size_t i = 1; i < TaskQueue::quick_threads; ++i)
        queue.post(Lane::quick, [gate] { gate.wait(); });
    queue.post(Lane::quick, [&] { quick.set_value(); });
    CHECK(quick.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    open.set_value();
}

TEST_CASE("task queue: slow tasks start in the order of their numbers") {
    std::promise<void> open;
    std::string order;
    {
        TaskQueue queue(1);
        queue.post(Lane::slow, [gate = open.get_future().share()] { gate.wait(); });
        for (const char name : {'d', 'b', 'a', 'c'})
            queue.post(
                Lane::slow, [&order, name] { order += name; }, std::uint64_t(name));
        open.set_value();
    }
    CHECK(order == "abcd");
}

TEST_CASE("task queue: its own task may destroy it") {
    auto queue = std::make_shared<TaskQueue>(1);
    std::promise<void> destroyed;
    auto& borrowed = *queue;
    borrowed.post(Lane::slow, [owned = std::move(queue), &destroyed]() mutable {
        owned = nullptr;
        destroyed.set_value();
    });
    CHECK(destroyed.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
}

TEST_CASE("task queue: a forked child doesn't wait for threads that it hasn't") {
    auto queue = std::make_unique<TaskQueue>(1);
    std::promise<void> ran;
    queue->post(Lane::slow, [&] { ran.set_value(); });
    ran.get_future().wait();
    const pid_t child = ::fork();
    if (child == 0) {
        queue.reset();
        ::_exit(7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("task queue: without threads, the caller runs its tasks") {
    pthread_attr_t usual;
    REQUIRE(::pthread_getattr_default_np(&usual) == 0);
    pthread_attr_t huge;
    REQUIRE(::pthread_getattr_default_np(&huge) == 0);
    REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 60) == 0);
    REQUIRE(::pthread_setattr_default_np(&huge) == 0);
    int ran = 0;
    {
        TaskQueue queue(2);
        queue.post(Lane::quick, [&] { ++ran; });
        queue.post(Lane::slow, [&] { ++ran; });
        CHECK(ran == 2);
        REQUIRE(::pthread_setattr_default_np(&usual) == 0);
        std::promise<std::thread::id> where;
        queue.post(Lane::slow, [&] { where.set_value(std::this_thread::get_id()); });
        CHECK(where.get_future().get() != std::this_thread::get_id());
    }
    ::pthread_attr_destroy(&usual);
    ::pthread_attr_destroy(&huge);
}
