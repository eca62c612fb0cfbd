// Loading without blocking, in batches, from memory, and again after a change.
#include "tests/gpu/support.hpp"
#include "tests/support/scratch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

namespace {

/// Counts what a runtime of its own compiles.
struct Counted {
    explicit Counted(CacheOptions options = {}) {
        options.mode = CacheMode::off;
        runtime.emplace(require(Runtime::open({.cache = options})));
    }
    [[nodiscard]] std::uint64_t compilations() const {
        return runtime->compiler().counters().compilations;
    }
    std::optional<Runtime> runtime;
};

/// What a kernel void(int*) writes.
int result_of(const Device& device, const UntypedKernel& untyped) {
    const auto kernel = require(Kernel<void(int*)>::from_untyped(untyped));
    const auto stream = require(device.create_stream());
    const auto out = require(device.upload({-1}));
    require(kernel.launch(stream, {}, out));
    require(stream.sync());
    return require(out.to_vector()).front();
}

constexpr const char* five = R"(
__device__ int counter = 10;
__global__ void a(int* x) { *x = counter += 1; }
__global__ void b(int* x) { *x = counter += 2; }
extern "C" __global__ void c(int* x) { *x = counter += 3; }
namespace ns { __global__ void d(int* x) { *x = counter += 4; } }
using Alias = int;
__global__ void e(Alias* x) { *x = counter += 5; }
template <int N> __global__ void made(int* x) { *x = N; }
)";

}  // namespace

TEST_CASE("load: the kernels of one source are one compilation and share its variables") {
    LODE_NEEDS_DEVICE(any, 0);
    const Counted counted;
    const Device device = require(counted.runtime->device());
    const Source source = Source::text(five);
    std::vector<UntypedKernel> kernels;
    for (const char* name : {"a", "b", "c", "ns::d", "e(int*)"})
        kernels.push_back(require(device.load(source, name)));
    CHECK(counted.compilations() == 1);
    std::vector<int> values;
    for (const auto& kernel : kernels)
        values.push_back(result_of(device, kernel));
    CHECK(values == std::vector<int>{11, 13, 16, 20, 25});
    // Again: from memory, as the same kernel.
    CHECK(require(device.load(source, "a")).native() == kernels[0].native());
    CHECK(counted.compilations() == 1);
    // An image that is loaded by hand has its own variables.
    const auto apart = require(device.load(require(device.compile(source))));
    CHECK(result_of(device, require(apart.kernel("a"))) == 11);
    CHECK(result_of(device, kernels[0]) == 26);
    // Nothing keeps it loaded when the kernels are gone.
    kernels.clear();
    CHECK(result_of(device, require(device.load(source, "a"))) == 11);
}

TEST_CASE(
    "load: a kernel that only the compiler can name is found, and a wrong name is explained") {
    LODE_NEEDS_DEVICE(any, 0);
    const Counted counted;
    const Device device = require(counted.runtime->device());
    const Source source = Source::text(std::string(five) + "namespace other = ns;\n");
    CHECK(result_of(device, require(device.load(source, "other::d"))) == 14);
    CHECK(counted.compilations() == 2);
    CHECK(result_of(device, require(device.load(source, "made<7>"))) == 7);
    const auto error = require_error(device.load(source, "missing"));
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message, "missing");
    CHECK_CONTAINS(error.message, "ns::d");
    CHECK(require_error(device.load_async(source, "missing").get()).message == error.message);
}

TEST_CASE("load: where compiling is forbidden, a wrong name still lists the kernels") {
    LODE_NEEDS_DEVICE(any, 0);
    const auto folder = make_scratch();
    CacheOptions options;
    options.folder = folder.path();
    const Source source = Source::text(five);
    {
        const auto runtime = require(Runtime::open({.cache = options}));
        (void)require(require(runtime.device()).load(source, "c"));
    }
    options.policy = JitPolicy::forbid;
    const auto runtime = require(Runtime::open({.cache = options}));
    const Device device = require(runtime.device());
    CHECK(result_of(device, require(device.load(source, "c"))) == 13);
    for (const auto& result : {device.load(source, "cc"), device.load_async(source, "cc").get()})
        CHECK_CONTAINS(require_error(result).message, "ns::d");
}

TEST_CASE("load: two names of one kernel agree on its dynamic shared memory") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().shared_bytes_per_block_optin >= 60 * 1024, "little memory");
    const Source source = Source::text(R"(
__global__ void k(int* x) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = 3;
    *x = shared[threadIdx.x];
})");
    const auto one = require(device.load<void(int*)>(source, "k"));
    const auto other = require(device.load<void(int*)>(source, "k(int*)"));
    const auto stream = require(device.create_stream());
    const auto out = require(device.upload({0}));
    require(one.launch(stream, {.dynamic_shared_bytes = 60 * 1024}, out));
    require(other.launch(stream, {.dynamic_shared_bytes = 50 * 1024}, out));
    require(one.launch(stream, {.dynamic_shared_bytes = 60 * 1024}, out));
    require(stream.sync());
    CHECK(require(out.to_vector()).front() == 3);
}

TEST_CASE("load_async: kernels and errors are those of load()") {
    LODE_NEEDS_DEVICE(any, 0);
    std::set<std::string> kinds;
    std::mutex mutex;
    CacheOptions options;
    options.events = [&](const CompileEvent& event) {
        const std::lock_guard guard(mutex);
        kinds.emplace(to_string(event.kind));
    };
    const Counted counted(options);
    const Device device = require(counted.runtime->device());
    const Source source = Source::text(five);
    const auto plain = device.load_async(source, "c");
    const auto made = device.load_async<void(int*)>(source, "made<5>");
    const auto follows = plain.then([&](const UntypedKernel& kernel) { return kernel.name(); });
    CHECK(result_of(device, require(plain.get())) == 13);
    CHECK(result_of(device, require(made.get()).untyped()) == 5);
    CHECK(require(follows.get()) == "c");
    const auto wrong_signature = device.load_async<void(float)>(source, "c");
    CHECK(require_error(wrong_signature.get()).code == Errc::signature_mismatch);
    const Source broken = Source::text("__global__ void k() { nonsense }", "broken.cu");
    CHECK(require_error(device.load_async(broken, "k").get()).message ==
          require_error(device.load(broken, "k")).message);
    const auto missing = device.load_async(Source::file("/nowhere/x.cu"), "k").get();
    CHECK(require_error(missing).code == Errc::not_found);
    CHECK(kinds.contains("queued"));
    CHECK(kinds.contains("started"));
    CHECK(kinds.contains("done"));
    CHECK(kinds.contains("failed"));
}

TEST_CASE("load_async: a Pending keeps its device, and dropping everything cancels") {
    LODE_NEEDS_DEVICE(any, 0);
    const auto start = [](const std::string& code) {
        const Runtime runtime = require(Runtime::open({.cache = CacheOptions{}}));
        return require(runtime.device()).load_async(Source::text(code), "k");
    };
    const auto kernel = start("__global__ void k(int* x) { *x = 4; }").get();
    CHECK(require(kernel).name() == "k");
    // A load that another thread is just finishing ends by itself.
    const auto ends = std::make_shared<std::atomic<int>>(0);
    const auto wrong = std::make_shared<std::atomic<int>>(0);
    for (int i = 0; i < 8; ++i) {
        start(fmt::format("__global__ void k(int* x) {{ *x = {}; }}", i))
            .on_done([ends, wrong](const Result<UntypedKernel>& result) {
                if (!result && result.error().code != Errc::cancelled) ++*wrong;
                ++*ends;
            });
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (*ends < 8 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(ends->load() == 8);
    CHECK(wrong->load() == 0);
}

TEST_CASE("batch: every request has its own answer, and one source is compiled once") {
    LODE_NEEDS_DEVICE(any, 0);
    const Counted counted;
    const Device device = require(counted.runtime->device());
    const Source source = Source::text(five);
    Batch batch;
    std::vector<Pending<UntypedKernel>> all;
    for (const char* name : {"made<1>", "made<2>", "made<3>", "a", "c"})
        all.push_back(batch.add(device, source, name));
    CHECK(batch.size() == 5);
    CHECK_FALSE(all[0].ready());
    batch.start();
    std::set<std::size_t> seen;
    while (const auto index = batch.next()) {
        CHECK(batch.result(*index).ready());
        CHECK(seen.insert(*index).second);
    }
    CHECK(seen.size() == 5);
    CHECK(batch.done() == 5);
    CHECK(counted.compilations() == 1);
    CHECK(result_of(device, require(all[1].get())) == 2);
    require(batch.wait());

    // A wrong name spoils nothing else.
    Batch mixed;
    const auto good = mixed.add<void(int*)>(device, source, "made<9>");
    const auto bad = mixed.add(device, source, "made<nonsense>");
    const auto other =
        mixed.add(device, Source::text("__global__ void k(int* x) { *x = 8; }"), "k");
    const auto error = require_error(mixed.wait());
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message, "nonsense");
    CHECK(result_of(device, require(good.get()).untyped()) == 9);
    CHECK_FALSE(bad.get().has_value());
    CHECK(result_of(device, require(other.get())) == 8);
    CHECK_FALSE(bool(mixed.result(3)));
}

TEST_CASE("batch: two devices of one kind share the compilation") {
    LODE_NEEDS_DEVICE(any, 0);
    const Counted counted;
    LODE_NEEDS(counted.runtime->device_count() >= 2, "one device");
    const Device first = require(counted.runtime->device(0));
    const Device second = require(counted.runtime->device(1));
    LODE_NEEDS(first.cc() == second.cc(), "different devices");
    Batch batch;
    const Source source = Source::text(five);
    const auto here = batch.add(first, source, "c");
    const auto there = batch.add(second, source, "c");
    require(batch.wait());
    CHECK(counted.compilations() == 1);
    CHECK(result_of(first, require(here.get())) == 13);
    CHECK(result_of(second, require(there.get())) == 13);
}

TEST_CASE("batch: cancel() ends what hasn't ended") {
    LODE_NEEDS_DEVICE(device, 0);
    Batch batch;
    for (int i = 0; i < 12; ++i) {
        (void)batch.add(device, Source::text(fmt::format("__global__ void cancelled{}() {{}}", i)),
                        fmt::format("cancelled{}", i));
    }
    batch.cancel();
    CHECK(batch.done() == 12);
    batch.start();
    int cancelled = 0;
    while (const auto index = batch.next())
        cancelled += require_error(batch.result(*index).get()).code == Errc::cancelled ? 1 : 0;
    CHECK(cancelled == 12);
}

TEST_CASE("batch: a request that is cancelled before start() doesn't hide another one's end") {
    LODE_NEEDS_DEVICE(device, 0);
    Batch batch;
    const Source source = Source::text("template <int N> __global__ void late(int* x) { *x = N; }");
    (void)batch.add(device, source, "late<1>");
    (void)batch.add(device, source, "late<2>");
    batch.start();
    batch.add(device, source, "late<3>").cancel();
    std::set<std::size_t> seen;
    while (const auto index = batch.next())
        seen.insert(*index);
    CHECK(seen == std::set<std::size_t>{0, 1, 2});
}

TEST_CASE("batch: one that is never started cancels its requests") {
    LODE_NEEDS_DEVICE(device, 0);
    std::optional<Batch> batch(std::in_place);
    const auto untyped = batch->add(device, Source::text("__global__ void k() {}"), "k");
    const auto typed = batch->add<void()>(device, Source::text("__global__ void k() {}"), "k");
    batch.reset();
    REQUIRE(untyped.ready());
    REQUIRE(typed.ready());
    CHECK(require_error(untyped.get()).code == Errc::cancelled);
    CHECK_CONTAINS(require_error(typed.get()).message, "before it was started");
}

TEST_CASE("watcher: a reload that nobody waits for doesn't keep the device") {
    LODE_NEEDS_DEVICE(any, 0);
    const auto folder = make_scratch();
    const fs::path source = folder.path() / "k.cu";
    put(source, "__global__ void k(int* x) { *x = 1; }\n");
    std::vector<std::function<void()>> later;
    bool is_late = false;
    CacheOptions options;
    options.executor = [&](std::function<void()> task) {
        if (is_late)
            later.push_back(std::move(task));
        else
            task();
    };
    std::vector<std::string> ends;
    {
        const Runtime runtime = require(Runtime::open({.cache = options}));
        const Watcher watcher =
            require(Watcher::create(require(runtime.device()), Source::file(source), "k"));
        is_late = true;
        put(source, "__global__ void k(int* x) { *x = 2; }\n");
        watcher.reload_async().on_done([&](const Result<bool>& result) {
            ends.emplace_back(result ? "done" : to_string(result.error().code));
        });
    }
    while (!later.empty()) {
        const auto task = std::exchange(later.back(), nullptr);
        later.pop_back();
        task();
    }
    CHECK(ends == std::vector<std::string>{"cancelled"});
}

TEST_CASE("load: code in memory is written to files only where the user asks for its lines") {
    LODE_NEEDS_DEVICE(any, 0);
    const auto folder = make_scratch();
    CacheOptions cache;
    cache.folder = folder.path();
    const auto runtime = require(Runtime::open({.cache = cache}));
    const auto device = require(runtime.device(0));
    const fs::path sources = folder.path() / "v6/sources";
    const Source source = Source::text("__global__ void k(int* x) { *x = 1; }\n", "lines.cu");
    (void)require(device.load(source, "k"));
    CHECK_FALSE(fs::exists(sources));
    KernelOptions options;
    options.compile.line_info = true;
    options.compile.source_files = false;
    (void)require(device.load(source, "k", options));
    CHECK_FALSE(fs::exists(sources));
    options.compile.source_files = true;
    CHECK(result_of(device, require(device.load(source, "k", options))) == 1);
    REQUIRE(fs::exists(sources));
    const auto only = *fs::directory_iterator(sources);
    CHECK(fs::exists(only.path() / "lines.cu"));
}

TEST_CASE("watcher: a kernel follows its files, and old kernels stay") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto folder = make_scratch();
    const fs::path source = folder.path() / "k.cu";
    const fs::path header = folder.path() / "value.h";
    put(header, "#define VALUE 1\n");
    put(source, "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE; }\n");
    const Watcher watcher = require(Watcher::create(device, Source::file(source), "k"));
    CHECK(watcher.files() == std::vector<fs::path>{source, header});
    CHECK_FALSE(watcher.is_stale());
    CHECK_FALSE(require(watcher.reload()));
    const UntypedKernel old = watcher.kernel();
    CHECK(result_of(device, old) == 1);

    put(header, "#define VALUE 2\n");
    CHECK(watcher.is_stale());
    CHECK(require(watcher.reload()));
    CHECK_FALSE(watcher.is_stale());
    CHECK(result_of(device, watcher.kernel()) == 2);
    CHECK(result_of(device, old) == 1);

    put(header, "#define VALUE 1\n");  // Undone.
    CHECK(watcher.is_stale());
    CHECK(require(watcher.reload_async().get()));
    CHECK(result_of(device, watcher.kernel()) == 1);
    put(header, "#define VALUE (\n");
    CHECK(watcher.is_stale());
    CHECK(require_error(watcher.reload()).code == Errc::compile_failed);
    CHECK(require_error(watcher.reload_async().get()).code == Errc::compile_failed);
    CHECK(result_of(device, watcher.kernel()) == 1);
    fs::remove(header);
    CHECK(watcher.is_stale());
    put(header, "#define VALUE 1\n");
    CHECK_FALSE(watcher.is_stale());
    // A header that a search now finds earlier.
    CHECK(require_error(Watcher::create(device, Source::ptx(".version 7.0"), "k")).code ==
          Errc::not_supported);
    const Source timed = Source::text("__global__ void k(int* x) { *x = sizeof(__TIME__); }");
    CHECK(require_error(Watcher::create(device, timed, "k")).code == Errc::not_supported);
}

TEST_CASE("watcher: reloads and launches from many threads") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto folder = make_scratch();
    const fs::path source = folder.path() / "k.cu";
    const auto code = [](int value) {
        return fmt::format("__global__ void k(int* x) {{ *x = {}; }}\n", value);
    };
    put(source, code(0));
    const Watcher watcher = require(Watcher::create(device, Source::file(source), "k"));
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!done) {
                const int value = result_of(device, watcher.kernel());
                CHECK(value >= 0);
                CHECK(value <= 4);
                (void)watcher.reload();
            }
        });
    }
    for (int value = 1; value <= 4; ++value) {
        const fs::path next = folder.path() / "next";
        put(next, code(value));
        fs::rename(next, source);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (watcher.is_stale() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK_FALSE(watcher.is_stale());
    }
    done = true;
    for (auto& thread : threads)
        thread.join();
    CHECK(result_of(device, watcher.kernel()) == 4);
}
