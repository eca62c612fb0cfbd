// CachedCompiler::quiesce(): what it waits for, what waits for resume(), and what is closed.
#include "tests/support/processes.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 30s;
/// Enough for what doesn't wait to be done.
constexpr auto short_time = 50ms;

CompileRequest ask_for(const std::string& text) {
    return {Source::text(text, "k.cu"), *Arch::parse("sm_90"), {}, {}, {}};
}

CacheOptions folder_options(const Scratch& scratch) {
    CacheOptions options;
    options.folder = scratch / "cache";
    options.workers.max_processes = 2;
    return options;
}

bool holds_a_file_of(const std::filesystem::path& folder) {
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed;
        if (std::filesystem::read_symlink(file, closed).string().starts_with(folder.string()))
            return true;
    }
    return false;
}

}  // namespace

TEST_CASE("quiesce: requests wait until resume(), asynchronous ones too") {
    const Scratch scratch;
    const FakeProcess process(folder_options(scratch));
    REQUIRE(process.cached->quiesce());
    auto blocking =
        std::async(std::launch::async, [&] { return process.cached->compile(ask_for("int a;")); });
    auto asynchronous = std::async(
        std::launch::async, [&] { return process.cached->compile_async(ask_for("int b;")).get(); });
    CHECK(blocking.wait_for(short_time) == std::future_status::timeout);
    CHECK(asynchronous.wait_for(short_time) == std::future_status::timeout);
    CHECK(process.fake->compilations == 0);
    CHECK_FALSE(std::filesystem::exists(scratch / "cache"));
    process.cached->resume();
    CHECK(blocking.get().has_value());
    CHECK(asynchronous.get().has_value());
    process.cached->resume();  // Nothing is quiesced any more.
    CHECK(process.tier(ask_for("int a;").source, {}, "sm_90") == "memory");
}

TEST_CASE("quiesce: it waits for the requests under way and for those that they make") {
    const Scratch scratch;
    const FakeProcess process(folder_options(scratch));
    process.fake->takes = 20ms;
    std::atomic<int> inner = 0;
    std::vector<Pending<CachedImage>> outer;
    for (int i = 0; i < 8; ++i) {
        outer.push_back(process.cached->compile_async(ask_for(fmt::format("int outer{};", i))));
        outer.back().on_done([&, i](const auto& /*result*/) {
            const auto next = ask_for(fmt::format("int inner{};", i));
            if (i % 2 == 0) {
                if (process.cached->compile(next)) ++inner;
            } else {
                process.cached->compile_async(next).on_done([&](const auto& made) {
                    if (made) ++inner;
                });
            }
        });
    }
    REQUIRE(process.cached->quiesce());
    CHECK(inner == 8);
    for (const auto& pending : outer)
        CHECK(pending.ready());
    process.cached->resume();
}

TEST_CASE("quiesce: a function of a request can't wait for itself") {
    const Scratch scratch;
    auto options = folder_options(scratch);
    const CachedCompiler* cached = nullptr;
    std::vector<Errc> refusals;
    options.events = [&](const CompileEvent& event) {
        if (event.kind != CompileEvent::Kind::done) return;
        refusals.push_back(require_error(cached->quiesce()).code);
    };
    const FakeProcess process(options);
    cached = process.cached.get();
    CHECK(process.cached->compile(ask_for("int a;")).has_value());
    CHECK(process.cached->compile_async(ask_for("int b;")).get().has_value());
    CHECK(refusals == std::vector(2, Errc::invalid_argument));
}

TEST_CASE("quiesce: threads end, and the folder is closed and opened again") {
    const Scratch scratch;
    const auto threads = count_entries("/proc/self/task");
    const FakeProcess process(folder_options(scratch));
    for (int round = 0; round < 3; ++round) {
        const std::string text = fmt::format("int a{};", round);
        CHECK(process.cached->compile_async(ask_for(text)).get().has_value());
        CHECK(count_entries("/proc/self/task") > threads);
        CHECK(holds_a_file_of(scratch / "cache"));
        REQUIRE(process.cached->quiesce());
        CHECK(becomes([&] { return count_entries("/proc/self/task") == threads; }));
        CHECK_FALSE(holds_a_file_of(scratch / "cache"));
        // The machine of the restored process may have an empty folder, or none.
        if (round == 1) std::filesystem::remove_all(scratch / "cache");
        process.cached->resume();
        CHECK(process.tier(ask_for(text).source, {}, "sm_90") == "memory");
    }
    const FakeProcess next(scratch / "cache");
    CHECK(next.tier(ask_for("int a2;").source, {}, "sm_90") == "disk");
    CHECK(next.tier(ask_for("int a1;").source, {}, "sm_90").empty());
    CHECK(process.cached->counters().faults == 0);
}

TEST_CASE(
    "quiesce: a folder that can't be used after resume() costs a fault, not the compilation") {
    const Scratch scratch;
    const FakeProcess process(folder_options(scratch));
    CHECK(process.cached->compile(ask_for("int a;")).has_value());
    REQUIRE(process.cached->quiesce());
    std::filesystem::remove_all(scratch / "cache");
    scratch.write("cache", "a file");
    process.cached->resume();
    CHECK(process.tier(ask_for("int b;").source, {}, "sm_90").empty());
    CHECK(process.cached->counters().faults == 1);
}

TEST_CASE("quiesce: tasks of an executor wait for resume(), and end with the compiler") {
    const Scratch scratch;
    auto options = folder_options(scratch);
    std::vector<std::function<void()>> tasks;
    options.executor = [&](std::function<void()> task) { tasks.push_back(std::move(task)); };
    auto process = std::make_unique<FakeProcess>(options);
    auto pending = process->cached->compile_async(ask_for("int a;"));
    REQUIRE(tasks.size() == 1);
    REQUIRE(process->cached->quiesce());  // It doesn't wait for a task that nobody runs.
    auto running = std::async(std::launch::async, [task = std::exchange(tasks, {})] { task[0](); });
    CHECK(running.wait_for(short_time) == std::future_status::timeout);
    process->cached->resume();
    running.get();
    REQUIRE(tasks.size() == 1);
    REQUIRE(process->cached->quiesce());
    running = std::async(std::launch::async, [task = std::exchange(tasks, {})] { task[0](); });
    CHECK(running.wait_for(short_time) == std::future_status::timeout);
    std::string end;
    pending.on_done([&](const auto& result) { end = result ? "done" : "failed"; });
    pending = {};
    process->state = nullptr;
    process = nullptr;
    CHECK(running.wait_for(patience) == std::future_status::ready);
    CHECK(end == "failed");
}

TEST_CASE("quiesce: rounds of it while threads make requests lose none") {
    const Scratch scratch;
    const FakeProcess process(folder_options(scratch));
    const auto threads = count_entries("/proc/self/task");
    std::atomic<bool> is_over = false;
    std::atomic<int> answered = 0;
    constexpr int makers = 4;
    std::vector<std::future<void>> all;
    for (int maker = 0; maker < makers; ++maker) {
        all.push_back(std::async(std::launch::async, [&, maker] {
            for (int i = 0; !is_over; ++i) {
                const auto request = ask_for(fmt::format("int a{}_{};", maker, i % 50));
                if (i % 2 == 0) {
                    if (process.cached->compile(request)) ++answered;
                } else if (process.cached->compile_async(request).get()) {
                    ++answered;
                }
            }
        }));
    }
    for (int round = 0; round < 50; ++round) {
        REQUIRE(process.cached->quiesce());
        CHECK(becomes([&] { return count_entries("/proc/self/task") == threads + makers; }));
        const int before = answered;
        CHECK_FALSE(holds_a_file_of(scratch / "cache"));
        process.cached->resume();
        CHECK(becomes([&] { return answered > before; }));
    }
    is_over = true;
    for (auto& one : all)
        one.get();
    CHECK(process.cached->counters().faults == 0);
    CHECK(process.cached->counters().failures == 0);
}
