// Streams, events, copies and captures on a real device.
#include "tests/gpu/support.hpp"

#include <atomic>
#include <numeric>
#include <thread>

using namespace lode;
using namespace lode::test;

namespace {

/// Spins for a while, then sets *x = value.
constexpr const char* slow_store = R"(
extern "C" __global__ void k(int* x, int value, long long cycles) {
    for (const long long end = clock64() + cycles; clock64() < end;) { }
    *x = value;
})";
constexpr long long some_milliseconds = 20'000'000;  // In cycles, at a few GHz.

constexpr const char* add_one = "extern \"C\" __global__ void k(int* x) { atomicAdd(x, 1); }";

}  // namespace

TEST_CASE("stream: events measure device time") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*, int, long long)>(device, slow_store);
    require(kernel.untyped().preload());
    const auto stream = require(device.create_stream());
    const auto start = require(device.create_event());
    const auto stop = require(device.create_event());
    auto x = require(device.alloc<int>(1));
    require(start.record(stream));
    require(kernel.launch(stream, LaunchShape{}, x, 1, some_milliseconds));
    require(stop.record(stream));
    CHECK(require_error(stop.elapsed_ms_since(start)).code == Errc::not_ready);
    require(stop.sync());
    const float elapsed = require(stop.elapsed_ms_since(start));
    CHECK(elapsed > 1.0F);
    CHECK(elapsed < 1000.0F);
    CHECK(require(stop.is_done()));
}

TEST_CASE("stream: is_idle tells running work from finished work") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(volatile int*)>(
        device, "extern \"C\" __global__ void k(volatile int* go) { while (*go == 0) { } }");
    require(kernel.untyped().preload());
    const auto stream = require(device.create_stream());
    const auto go = require(device.alloc_pinned<int>(1));
    go[0] = 0;
    require(kernel.launch(stream, LaunchShape{}, go.data()));
    CHECK_FALSE(require(stream.ref().is_idle()));
    std::atomic_ref<int>(go[0]).store(1);
    require(stream.sync());
    CHECK(require(stream.ref().is_idle()));
}

TEST_CASE("stream: a waiting copy sees pending writes of a non-blocking stream") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*, int, long long)>(device, slow_store);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    for (int value = 1; value <= 5; ++value) {
        require(kernel.launch(stream, LaunchShape{}, x, value, some_milliseconds));
        CHECK(require(x.to_vector())[0] == value);
        require(kernel.launch(stream, LaunchShape{}, x, -value, some_milliseconds));
        require(x.fill(100 + value));  // Runs after the kernel.
        CHECK(require(x.to_vector())[0] == 100 + value);
    }
}

TEST_CASE("stream: a launch sees everything that a waiting copy from pageable memory wrote") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(const int*, int, unsigned long long*)>(device, R"(
extern "C" __global__ void k(const int* x, int n, unsigned long long* sum) {
    unsigned long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += x[i];
    atomicAdd(sum, own);
})");
    constexpr int n = 1 << 21;
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(n));
    auto sum = require(device.alloc<unsigned long long>(1));
    std::vector<int> host(n);
    for (int round = 1; round <= 20; ++round) {
        std::fill(host.begin(), host.end(), round);
        require(sum.zero());
        require(x.copy_from(host));
        require(kernel.launch(stream, {.grid = {64}, .block = {256}}, x, n, sum));
        CHECK(require(sum.to_vector())[0] == static_cast<unsigned long long>(round) * n);
    }
}

TEST_CASE("stream: asynchronous copies keep the stream's order") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*, int)>(device, R"(
extern "C" __global__ void k(int* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2 * x[i] + 1;
})");
    constexpr int n = 1 << 20;
    const auto from = require(device.alloc_pinned<int>(n));
    const auto to = require(device.alloc_pinned<int>(n));
    std::iota(from.begin(), from.end(), 0);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(n));
    auto y = require(device.alloc<int>(n));
    require(x.copy_from_async(stream, from.span()));
    require(kernel.launch(stream, cover(n), x, n));
    require(y.copy_from_async(stream, x));
    require(x.zero_async(stream));
    require(y.copy_to_async(stream, to.span()));
    require(stream.sync());
    std::size_t wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += to[i] == 2 * i + 1 ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(require(x.to_vector()) == std::vector<int>(n, 0));
}

TEST_CASE("stream: one stream waits for another's event") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*, int, long long)>(device, slow_store);
    const auto first = require(device.create_stream());
    const auto second = require(device.create_stream());
    const auto written = require(device.create_event({.timing = false}));
    auto x = require(device.alloc<int>(1));
    const auto seen = require(device.alloc_pinned<int>(1));
    require(x.zero());
    require(kernel.launch(first, LaunchShape{}, x, 42, some_milliseconds));
    require(written.record(first));
    require(second.ref().wait(written));
    require(x.copy_to_async(second, seen.span()));
    require(second.sync());
    CHECK(seen[0] == 42);
}

TEST_CASE("stream: a host function runs after the work before it") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*, int, long long)>(device, slow_store);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    const auto seen = require(device.alloc_pinned<int>(1));
    int in_callback = 0;
    require(kernel.launch(stream, LaunchShape{}, x, 5, some_milliseconds));
    require(x.copy_to_async(stream, seen.span()));
    require(stream.ref().call_on_host([&] { in_callback = seen[0]; }));
    require(stream.sync());
    CHECK(in_callback == 5);
}

TEST_CASE("stream: a stream that the host created can be adopted") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, add_one);
    const auto scope = require(ContextScope::enter(device));
    CUstream native = nullptr;
    REQUIRE(raw<PFN_cuStreamCreate_v2000>("cuStreamCreate")(&native, CU_STREAM_NON_BLOCKING) ==
            CUDA_SUCCESS);
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    const auto stream = require(device.adopt(native));
    require(kernel.launch(stream, LaunchShape{}, x));
    require(stream.sync());
    CHECK(require(x.to_vector())[0] == 1);
    CHECK(raw<PFN_cuStreamDestroy_v4000>("cuStreamDestroy_v2")(native) == CUDA_SUCCESS);
}

TEST_CASE("stream: the default stream of a thread takes launches, copies and captures") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, add_one);
    const auto stream = device.per_thread_default_stream();
    auto x = require(device.alloc<int>(1));
    require(x.zero_async(stream));
    require(kernel.launch(stream, LaunchShape{}, x));
    auto capture = require(Capture::begin(stream));
    require(kernel.launch(stream, LaunchShape{}, x));
    const auto exec = require(require(capture.finish()).instantiate());
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(require(x.to_vector())[0] == 2);
    std::thread([&] {
        CHECK(require(stream.is_idle()));
        require(kernel.launch(stream, LaunchShape{}, x));
        require(stream.sync());
    }).join();
    CHECK(require(x.to_vector())[0] == 3);
}

TEST_CASE("stream: launches are captured into a graph, and other calls don't disturb the capture") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, add_one);
    require(kernel.untyped().preload());
    const auto image = require(device.compile(Source::text(add_one), {.name_expressions = {"k"}}));
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(x.zero());

    const auto begin = raw<PFN_cuStreamBeginCapture_v10010>("cuStreamBeginCapture_v2");
    const auto end = raw<PFN_cuStreamEndCapture_v10000>("cuStreamEndCapture");
    const CUresult begun = begin(stream.native(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    LODE_NEEDS(begun != CUDA_ERROR_NOT_SUPPORTED, "the driver can't capture streams");
    REQUIRE(begun == CUDA_SUCCESS);
    CHECK(require(stream.ref().is_capturing()));
    require(kernel.launch(stream, LaunchShape{}, x));
    {
        // Meanwhile this thread allocates, frees, loads and unloads.
        const auto buffer = require(device.alloc<int>(1024));
        const auto library = require(device.load(image));
        (void)require(library.kernel("k"));
    }
    require(kernel.launch(stream, {.grid = {2}}, x));
    CHECK(require_error(stream.ref().call_on_host([] {})).code == Errc::capture_active);
    CUgraph graph = nullptr;
    REQUIRE(end(stream.native(), &graph) == CUDA_SUCCESS);
    CHECK_FALSE(require(stream.ref().is_capturing()));
    CHECK(require(x.to_vector())[0] == 0);  // Nothing has run yet.

    const auto scope = require(ContextScope::enter(device));
    CUgraphExec executable = nullptr;
    REQUIRE(raw<PFN_cuGraphInstantiateWithFlags_v11040>("cuGraphInstantiateWithFlags")(
                &executable, graph, 0) == CUDA_SUCCESS);
    const auto launch_graph = raw<PFN_cuGraphLaunch_v10000>("cuGraphLaunch");
    for (int i = 0; i < 3; ++i)
        CHECK(launch_graph(executable, stream.native()) == CUDA_SUCCESS);
    require(stream.sync());
    CHECK(require(x.to_vector())[0] == 9);
    CHECK(raw<PFN_cuGraphExecDestroy_v10000>("cuGraphExecDestroy")(executable) == CUDA_SUCCESS);
    CHECK(raw<PFN_cuGraphDestroy_v10000>("cuGraphDestroy")(graph) == CUDA_SUCCESS);
}

TEST_CASE("stream: a waiting call during a capture fails with capture_active") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    const auto begin = raw<PFN_cuStreamBeginCapture_v10010>("cuStreamBeginCapture_v2");
    const auto end = raw<PFN_cuStreamEndCapture_v10000>("cuStreamEndCapture");
    const CUresult begun = begin(stream.native(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    LODE_NEEDS(begun != CUDA_ERROR_NOT_SUPPORTED, "the driver can't capture streams");
    REQUIRE(begun == CUDA_SUCCESS);
    const auto error = require_error(stream.sync());
    CHECK(error.code == Errc::capture_active);
    CHECK_FALSE(device.is_lost());
    CUgraph graph = nullptr;
    (void)end(stream.native(), &graph);  // The capture is invalid: there may be no graph.
    if (graph != nullptr) raw<PFN_cuGraphDestroy_v10000>("cuGraphDestroy")(graph);
}

TEST_CASE("stream: an urgent kernel overtakes a long one of low priority") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(!machine()->driver().is_emulator(),
               "priorities have no effect on the software device, which has no multiprocessors to "
               "compete for");
    const auto range = require(stream_priorities(device));
    LODE_NEEDS(range.least != range.greatest, "the device has one priority");
    const auto kernel = load<void(int*, int, long long)>(device, slow_store);
    require(kernel.untyped().preload());
    const auto background = require(device.create_stream({.priority = range.least}));
    const auto urgent = require(device.create_stream({.priority = range.greatest}));
    const auto long_done = require(device.create_event());
    const auto urgent_done = require(device.create_event());
    auto x = require(device.alloc<int>(2));
    require(x.zero());
    // A hundred times as many blocks as fit at once, of some 50 µs each: the grid takes 5 ms at
    // least, and one of its blocks always ends soon.
    constexpr unsigned threads = 256;
    constexpr long long short_time = 100'000;
    const int resident = require(kernel.untyped().occupancy(threads)).blocks_per_multiprocessor *
                         device.properties().multiprocessors;
    const LaunchShape many{.grid = {static_cast<std::uint32_t>(100 * resident)},
                           .block = {threads}};
    require(kernel.launch(background, many, x.data(), 1, short_time));
    require(long_done.record(background));
    require(kernel.launch(urgent, LaunchShape{}, x.data() + 1, 2, short_time));
    require(urgent_done.record(urgent));
    require(urgent.sync());
    CHECK_FALSE(require(long_done.is_done()));
    require(background.sync());
    CHECK(require(long_done.elapsed_ms_since(urgent_done)) > 0);
    CHECK(require(x.to_vector()) == std::vector<int>{1, 2});
}

TEST_CASE("stream: many threads launch on one stream and on their own") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, add_one);
    const auto shared = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    constexpr int threads = 8;
    constexpr int launches = 500;
    std::atomic<int> failures{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
        pool.emplace_back([&] {
            const auto own = device.create_stream();
            if (!own) {
                ++failures;
                return;
            }
            for (int i = 0; i < launches; ++i) {
                const StreamRef stream = i % 2 == 0 ? shared.ref() : own->ref();
                if (!kernel.launch(stream, LaunchShape{}, x)) ++failures;
            }
            if (!own->sync()) ++failures;
        });
    }
    for (auto& thread : pool)
        thread.join();
    CHECK(failures == 0);
    CHECK(require(x.to_vector())[0] == threads * launches);
}
