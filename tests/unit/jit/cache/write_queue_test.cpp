#include "jit/store/write_queue.hpp"

#include "tests/support/processes.hpp"
#include "tests/support/scratch.hpp"

#include <future>
#include <new>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using lode::cache::WriteQueue;

TEST_CASE("write queue: writes run in order on another thread, and all before its end") {
    std::vector<int> written;
    const auto here = std::this_thread::get_id();
    bool on_another = true;
    {
        WriteQueue queue(1000);
        for (int i = 0; i < 100; ++i) {
            queue.add(1, [&, i] {
                written.push_back(i);
                on_another = on_another && std::this_thread::get_id() != here;
            });
        }
    }
    REQUIRE(written.size() == 100);
    for (int i = 0; i < 100; ++i)
        CHECK(written[static_cast<std::size_t>(i)] == i);
    CHECK(on_another);
}

TEST_CASE("write queue: the caller doesn't wait, unless it asks to") {
    WriteQueue queue(1000);
    queue.wait();  // Nothing is queued.
    std::promise<void> go;
    bool done = false;
    queue.add(1, [&] {
        go.get_future().wait();
        done = true;
    });
    CHECK_FALSE(done);  // add() has returned, though the write can't have ended.
    go.set_value();
    queue.wait();
    CHECK(done);
}

TEST_CASE("write queue: a write larger than the queue runs at once, after those before it") {
    WriteQueue queue(10);
    std::vector<int> written;
    std::promise<void> go;
    queue.add(8, [&] {
        go.get_future().wait();
        written.push_back(1);
    });
    std::thread later([&] { go.set_value(); });
    std::thread::id ran_on;
    queue.add(11, [&] {
        written.push_back(2);
        ran_on = std::this_thread::get_id();
    });
    CHECK(written == std::vector<int>{1, 2});
    CHECK(ran_on == std::this_thread::get_id());
    later.join();
}

TEST_CASE("write queue: a write that finds the queue full comes after those before it") {
    WriteQueue queue(10);
    std::vector<int> written;
    std::promise<void> go;
    queue.add(8, [&] {
        go.get_future().wait();
        written.push_back(1);
    });
    // Whether the first write ends before the second is added or makes it wait is up to the
    // scheduler; the order isn't.
    std::thread later([&] { go.set_value(); });
    queue.add(3, [&] { written.push_back(2); });
    later.join();
    queue.wait();
    CHECK(written == std::vector<int>{1, 2});
}

TEST_CASE("write queue: quiesce() runs what is queued and ends the thread, which starts again") {
    const auto threads = lode::test::count_entries("/proc/self/task");
    WriteQueue queue(1000);
    queue.quiesce();  // There is no thread.
    int written = 0;
    for (int round = 1; round <= 3; ++round) {
        for (int i = 0; i < 10; ++i)
            queue.add(1, [&] { ++written; });
        queue.quiesce();
        CHECK(written == 10 * round);
        CHECK(lode::test::becomes(
            [&] { return lode::test::count_entries("/proc/self/task") == threads; }));
    }
}

TEST_CASE("write queue: a write that throws is dropped, and the next one runs") {
    WriteQueue queue(10);
    bool next = false;
    queue.add(1, [] { throw std::bad_alloc(); });
    queue.add(1, [&] { next = true; });
    queue.wait();
    CHECK(next);
}

TEST_CASE("write queue: a forked child writes at once, and ends without the parent's thread") {
    std::promise<void> go;  // Before the queue, whose end waits for the write that uses it.
    WriteQueue queue(10);
    queue.add(1, [&] { go.get_future().wait(); });
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool done = false;
        queue.add(1, [&] { done = true; });
        queue.wait();
        queue.~WriteQueue();
        ::_exit(done ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    go.set_value();
}
