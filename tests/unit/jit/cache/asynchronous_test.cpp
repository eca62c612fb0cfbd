// CachedCompiler::compile_async: requests that don't block.
#include "tests/support/result.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;
using namespace std::chrono_literals;

namespace {

constexpr auto long_enough = std::chrono::seconds(30);

CompileRequest asks(const std::string& text, const char* arch = "sm_90") {
    return {Source::text(text, "k.cu"), *Arch::parse(arch), {}, {}, {}};
}

/// Blocks every compilation until it is opened, and counts those that arrive.
class Gate {
public:
    explicit Gate(FakeCompiler& compiler) {
        compiler.on_compile = [this] {
            std::unique_lock lock(mutex_);
            ++arrived_;
            changed_.notify_all();
            changed_.wait(lock, [&] { return open_; });
        };
    }
    void open() {
        const std::lock_guard guard(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void wait_for(int compilations) {
        std::unique_lock lock(mutex_);
        REQUIRE(changed_.wait_for(lock, long_enough, [&] { return arrived_ >= compilations; }));
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0;
    bool open_ = false;
};

CacheOptions options_in(const Scratch& scratch) {
    CacheOptions options;
    options.folder = scratch / "cache";
    options.workers.max_processes = 2;
    return options;
}

}  // namespace

TEST_CASE("asynchronous: a request returns at once and its result is compile()'s") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    Gate gate(*process.fake);
    const auto pending = process.cached->compile_async(asks("int a;"));
    gate.wait_for(1);
    CHECK_FALSE(pending.ready());
    gate.open();
    const auto made = require(pending.get());
    CHECK(made.report.tier == "");
    const auto again = require(process.cached->compile(asks("int a;")));
    CHECK(again.report.tier == "memory");
    CHECK(again.image == made.image);
    CHECK(process.fake->compilations == 1);
    const auto wrong = process.cached->compile_async(asks("error"));
    CHECK(require_error(wrong.get()).code == Errc::compile_failed);
}

TEST_CASE("asynchronous: a hit doesn't wait for compilations") {
    const Scratch scratch;
    const FakeProcess process(options_in(scratch));
    process.compile(asks("int known;").source, {}, "sm_90");
    Gate gate(*process.fake);
    std::vector<Pending<CachedImage>> slow;
    for (int i = 0; i < 20; ++i)
        slow.push_back(process.cached->compile_async(asks(fmt::format("int slow{};", i))));
    gate.wait_for(2);
    const auto hit = process.cached->compile_async(asks("int known;"));
    REQUIRE(hit.wait_for(long_enough));
    CHECK(require(hit.get()).report.tier == "memory");
    for (const auto& pending : slow)
        CHECK_FALSE(pending.ready());
    gate.open();
    for (const auto& pending : slow)
        CHECK(pending.get().has_value());
    CHECK(process.fake->compilations == 21);
}

TEST_CASE("asynchronous: equal requests are one compilation, whichever of them is given up") {
    const Scratch scratch;
    auto options = options_in(scratch);
    options.workers.max_processes = 6;
    const FakeProcess process(options);
    process.fake->takes = 200ms;
    std::vector<Pending<CachedImage>> same;
    for (int i = 0; i < 6; ++i)
        same.push_back(process.cached->compile_async(asks("int same;")));
    while (process.fake->compilations == 0)
        std::this_thread::sleep_for(1ms);
    for (std::size_t i = 0; i < 5; ++i)
        same[i].cancel();
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(require_error(same[i].get()).code == Errc::cancelled);
    CHECK(same[5].get().has_value());
}

TEST_CASE("asynchronous: equal requests that are all given up end their compilation") {
    const Scratch scratch;
    auto options = options_in(scratch);
    options.workers.max_processes = 6;
    const FakeProcess process(options);
    process.fake->takes = std::chrono::hours(1);
    std::vector<Pending<CachedImage>> same;
    for (int i = 0; i < 6; ++i)
        same.push_back(process.cached->compile_async(asks("int same;")));
    while (process.fake->compilations == 0)
        std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);  // The others wait for it by now.
    for (const auto& pending : same)
        pending.cancel();
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (process.cached->counters().failures == 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(1ms);
    CHECK(process.cached->counters().failures == 1);
    CHECK(process.fake->compilations == 1);
}

TEST_CASE("asynchronous: equal requests take one thread, and others go on") {
    const Scratch scratch;
    const FakeProcess process(options_in(scratch));  // Two threads.
    Gate gate(*process.fake);
    std::vector<Pending<CachedImage>> same;
    for (int i = 0; i < 10; ++i)
        same.push_back(process.cached->compile_async(asks("int same;")));
    gate.wait_for(1);
    const auto other = process.cached->compile_async(asks("int other;"));
    gate.wait_for(2);
    same[0].cancel();  // The one that compiles, in all likelihood.
    gate.open();
    CHECK(other.get().has_value());
    for (std::size_t i = 1; i < same.size(); ++i)
        CHECK(same[i].get().has_value());
    CHECK(process.fake->compilations == 2);
    const auto wrong = process.cached->compile_async(asks("error"));
    const auto wrong_too = process.cached->compile_async(asks("error"));
    CHECK(require_error(wrong.get()).message == require_error(wrong_too.get()).message);
}

TEST_CASE("asynchronous: a request that equals a blocking one takes no thread") {
    const Scratch scratch;
    auto options = options_in(scratch);
    std::vector<std::function<void()>> tasks;
    options.executor = [&](std::function<void()> task) { tasks.push_back(std::move(task)); };
    const FakeProcess process(options);
    Gate gate(*process.fake);
    std::thread blocking([&] { CHECK(process.cached->compile(asks("int same;")).has_value()); });
    gate.wait_for(1);
    const auto same = process.cached->compile_async(asks("int same;"));
    REQUIRE(tasks.size() == 1);
    std::exchange(tasks, {})[0]();  // The quick task: it posts no slow one.
    CHECK(tasks.empty());
    CHECK_FALSE(same.ready());
    gate.open();
    blocking.join();  // Posts the end of the request that waits.
    REQUIRE(tasks.size() == 1);
    std::exchange(tasks, {})[0]();
    CHECK(require(same.get()).report.shared);
    CHECK(process.fake->compilations == 1);
}

TEST_CASE("asynchronous: an executor that destroys a task leaves no equal request waiting") {
    const Scratch scratch;
    auto options = options_in(scratch);
    std::vector<std::function<void()>> tasks;
    options.executor = [&](std::function<void()> task) { tasks.push_back(std::move(task)); };
    const FakeProcess process(options);
    const auto first = process.cached->compile_async(asks("int a;"));
    const auto second = process.cached->compile_async(asks("int a;"));
    const auto run_next = [&] {
        auto task = std::move(tasks.front());
        tasks.erase(tasks.begin());
        task();
    };
    run_next();  // The quick tasks: the first posts the slow one, the second follows it.
    run_next();
    REQUIRE(tasks.size() == 1);
    auto slow = std::move(tasks);
    tasks.clear();
    slow.clear();  // Destroyed; the second is posted in its place.
    CHECK(require_error(first.get()).code == Errc::cancelled);
    REQUIRE(tasks.size() == 1);
    run_next();
    CHECK(second.get().has_value());
}

TEST_CASE("asynchronous: cancel() ends a compilation, and the next request starts afresh") {
    const Scratch scratch;
    const FakeProcess process(options_in(scratch));
    process.fake->takes = std::chrono::hours(1);
    const auto pending = process.cached->compile_async(asks("int a;"));
    while (process.fake->compilations == 0)
        std::this_thread::sleep_for(1ms);
    pending.cancel();
    CHECK(require_error(pending.get()).code == Errc::cancelled);
    while (process.cached->counters().failures == 0)
        std::this_thread::sleep_for(1ms);
    // One that is queued isn't compiled at all.
    Pending<CachedImage> queued[3];
    for (int i = 0; i < 3; ++i)
        queued[i] = process.cached->compile_async(asks(fmt::format("int b{};", i)));
    for (const auto& one : queued)
        one.cancel();
    process.fake->takes = 0ms;
    CHECK(process.cached->compile_async(asks("int a;")).get().has_value());
}

TEST_CASE("asynchronous: the last copy of the compiler ends what is under way") {
    const Scratch scratch;
    auto process = std::make_unique<FakeProcess>(options_in(scratch));
    process->fake->takes = std::chrono::hours(1);
    std::vector<std::string> ends;
    std::mutex mutex;
    for (int i = 0; i < 8; ++i) {
        const auto pending = process->cached->compile_async(asks(fmt::format("int a{};", i)));
        // Without keeping it: a Pending keeps the compiler.
        pending.on_done([&](const Result<CachedImage>& result) {
            const std::lock_guard guard(mutex);
            ends.emplace_back(result ? "done" : to_string(result.error().code));
        });
    }
    while (process->fake->compilations == 0)
        std::this_thread::sleep_for(1ms);
    process->state = nullptr;
    process->cached = nullptr;
    CHECK(ends == std::vector<std::string>(8, "cancelled"));
}

TEST_CASE("asynchronous: a Pending keeps the compiler, and its function may be the last to") {
    const Scratch scratch;
    auto process = std::make_unique<FakeProcess>(options_in(scratch));
    process->fake->takes = 20ms;
    auto pending = process->cached->compile_async(asks("int a;"));
    process->state = nullptr;
    process->cached = nullptr;
    CHECK(pending.get().has_value());

    process = std::make_unique<FakeProcess>(options_in(scratch));
    process->fake->takes = 20ms;
    std::promise<void> ran;
    auto last = std::make_shared<CachedCompiler>(*process->cached);
    last->compile_async(asks("int b;")).on_done([&ran, last](const auto& /*result*/) mutable {
        last = nullptr;
        ran.set_value();
    });
    last = nullptr;
    process->state = nullptr;
    process->cached = nullptr;
    CHECK(ran.get_future().wait_for(long_enough) == std::future_status::ready);
}

TEST_CASE("asynchronous: a host's executor runs the tasks, also at once or much later") {
    const Scratch scratch;
    auto options = options_in(scratch);
    int tasks = 0;
    options.executor = [&](std::function<void()> task) {
        ++tasks;
        task();
    };
    {
        const FakeProcess process(options);
        const auto pending = process.cached->compile_async(asks("int a;"));
        CHECK(pending.ready());
        CHECK(tasks == 2);
        CHECK(process.cached->compile_async(asks("int a;")).ready());
        CHECK(tasks == 3);
    }
    std::vector<std::function<void()>> later;
    options.executor = [&](std::function<void()> task) { later.push_back(std::move(task)); };
    std::vector<std::string> ends;
    {
        const FakeProcess process(options);
        process.cached->compile_async(asks("int b;")).on_done([&](const auto& result) {
            ends.emplace_back(result ? "done" : to_string(result.error().code));
        });
    }
    CHECK(ends.empty());
    REQUIRE(later.size() == 1);
    later[0]();
    CHECK(ends == std::vector<std::string>{"cancelled"});
}

TEST_CASE("asynchronous: a task that the executor drops ends its request") {
    const Scratch scratch;
    auto options = options_in(scratch);
    options.executor = [](const std::function<void()>& /*dropped*/) {};
    std::vector<std::string> steps;
    options.events = [&](const CompileEvent& event) { steps.emplace_back(to_string(event.kind)); };
    const FakeProcess process(options);
    const auto pending = process.cached->compile_async(asks("int a;"));
    REQUIRE(pending.ready());
    CHECK(require_error(pending.get()).code == Errc::cancelled);
    CHECK(steps == std::vector<std::string>{"queued"});
}

TEST_CASE("asynchronous: an exception of a host's function doesn't keep the compiler from ending") {
    const Scratch scratch;
    auto options = options_in(scratch);
    options.executor = [](const std::function<void()>& task) { task(); };
    {
        const FakeProcess process(options);
        const auto throws = [](CompileRequest&) -> Status { throw std::runtime_error("No."); };
        CHECK_THROWS_AS((void)process.cached->compile_async(asks("int a;"), throws),
                        std::runtime_error);
        CHECK(process.cached->compile_async(asks("int b;")).get().has_value());
    }
}

TEST_CASE("asynchronous: the request can be completed on the other thread") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    const auto here = std::this_thread::get_id();
    const auto done = process.cached->compile_async(asks("int a;"), [&](CompileRequest& request) {
        CHECK(std::this_thread::get_id() != here);
        request.arch = *Arch::parse("sm_80");
        return Status();
    });
    CHECK(require(done.get()).report.arch.to_string() == "sm_80");
    const auto failed = process.cached->compile_async(
        asks("int b;"), [](CompileRequest&) -> Status { return fail(Errc::not_found, "No."); });
    CHECK(require_error(failed.get()).message == "No.");
}

TEST_CASE("asynchronous: every request tells its steps in order, and one end") {
    const Scratch scratch;
    auto options = options_in(scratch);
    std::mutex mutex;
    std::map<std::uint64_t, std::vector<std::string>> steps;
    options.events = [&](const CompileEvent& event) {
        const std::lock_guard guard(mutex);
        steps[event.request].emplace_back(to_string(event.kind));
    };
    {
        const FakeProcess process(options);
        std::vector<Pending<CachedImage>> all;
        for (int i = 0; i < 40; ++i)
            all.push_back(process.cached->compile_async(
                asks(i % 5 == 4 ? fmt::format("error {}", i) : fmt::format("int a{};", i % 10))));
        all[1].cancel();
        for (const auto& pending : all)
            pending.wait();
    }
    CHECK(steps.size() == 40);
    const std::set<std::string> ends{"hit", "done", "failed"};
    for (const auto& [number, mine] : steps) {
        CAPTURE(number);
        CHECK(mine.front() == "queued");
        CHECK(ends.contains(mine.back()));
        for (std::size_t i = 1; i + 1 < mine.size(); ++i)
            CHECK((i == 1 ? mine[i] == "started" : mine[i] == "phase"));
    }
}

TEST_CASE("asynchronous: a forked child ends although its parent compiles") {
    const Scratch scratch;
    FakeProcess process(options_in(scratch));
    process.fake->takes = std::chrono::hours(1);
    const auto pending = process.cached->compile_async(asks("int a;"));
    while (process.fake->compilations == 0)
        std::this_thread::sleep_for(1ms);
    const pid_t child = ::fork();
    if (child == 0) {
        process.cached = nullptr;
        process.state = nullptr;
        ::_exit(7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    pending.cancel();
}

TEST_CASE("dependencies: the source and every header, as files") {
    const Scratch scratch;
    scratch.write("a/k.cu", "#include \"util.h\"\n#include \"b/deep.h\"\n");
    scratch.write("a/util.h", "int util;\n");
    scratch.write("a/b/deep.h", "#include \"deeper.h\"\n");
    scratch.write("a/b/deeper.h", "int deep;\n");
    settle();
    const FakeProcess process(scratch / "cache");
    const CompileRequest request{
        Source::file(scratch / "a/k.cu"), *Arch::parse("sm_90"), {}, {}, {}};
    auto files = require(process.cached->dependencies(request));
    std::sort(files.begin(), files.end());
    CHECK(files == std::vector<std::filesystem::path>{scratch / "a/b/deep.h",
                                                      scratch / "a/b/deeper.h", scratch / "a/k.cu",
                                                      scratch / "a/util.h"});
    CHECK(require(process.cached->dependencies(asks("int alone;"))).empty());
    // Another process knows it from the folder.
    const FakeProcess other(scratch / "cache");
    CHECK(require(other.cached->dependencies(request)).size() == 4);
    CHECK(other.fake->compilations == 0);
    process.fake->is_watched = false;
    const CompileRequest unseen{Source::text("#include \"util.h\"", "x.cu"),
                                *Arch::parse("sm_90"),
                                {.include_folders = {scratch / "a"}},
                                {},
                                {}};
    CHECK(require_error(process.cached->dependencies(unseen)).code == Errc::not_supported);
}

TEST_CASE("dependencies: relative folders give absolute files") {
    const Scratch scratch;
    scratch.write("a/k.cu", "#include \"util.h\"\n#include <far.h>\n");
    scratch.write("a/util.h", "int util;\n");
    scratch.write("b/far.h", "int far;\n");
    settle();
    const FakeProcess process(scratch / "cache");
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(scratch.path());
    const CompileRequest request{
        Source::file("a/k.cu"), *Arch::parse("sm_90"), {.include_folders = {"b"}}, {}, {}};
    const auto files = process.cached->dependencies(request);
    std::filesystem::current_path(here);
    CHECK(require(files).size() == 3);
    for (const auto& file : *files) {
        CAPTURE(file);
        CHECK(file.is_absolute());
    }
}

TEST_CASE("is_current: what no cache keeps is current until a file changes") {
    const Scratch scratch;
    scratch.write("k.cu", "#include \"util.h\"\n");
    scratch.write("util.h", "int util;\n");
    settle();
    CacheOptions options;
    options.mode = CacheMode::off;
    options.memory_bytes = 0;
    const FakeProcess process(options);
    const CompileRequest request{Source::file(scratch / "k.cu"), *Arch::parse("sm_90"), {}, {}, {}};
    const auto made = require(process.cached->compile(request));
    CHECK(process.cached->is_current(request, made.report.key));
    CHECK(process.cached->counters().hits() == 0);
    scratch.write("util.h", "int changed;\n");
    CHECK_FALSE(process.cached->is_current(request, made.report.key));
}
