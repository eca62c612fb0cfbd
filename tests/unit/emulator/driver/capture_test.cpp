#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <thread>

using namespace lode::emulator_test;

namespace {

constexpr CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode thread_local_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

class CaptureBench {
public:
    CaptureBench() {
        for (CUstream* const stream : {&origin, &fork})
            REQUIRE(CU(cuStreamCreate, 2000)(stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        for (CUevent* const event : {&forked, &joined})
            REQUIRE(CU(cuEventCreate, 2000)(event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&words, 64) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemsetD8, 3020)(words, 0, 64) == CUDA_SUCCESS);
    }
    ~CaptureBench() {
        CHECK(CU(cuMemFree, 3020)(words) == CUDA_SUCCESS);
        for (const CUevent event : {forked, joined})
            CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
        for (const CUstream stream : {origin, fork})
            CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    }
    CaptureBench(const CaptureBench&) = delete;
    CaptureBench& operator=(const CaptureBench&) = delete;

    void begin(CUstreamCaptureMode mode = relaxed) const {
        REQUIRE(CU(cuStreamBeginCapture, 10010)(origin, mode) == CUDA_SUCCESS);
    }
    CUresult end() { return CU(cuStreamEndCapture, 10000)(origin, &graph); }
    /// Fills one word.
    CUresult fill(CUstream stream, unsigned index, unsigned value) const {
        return CU(cuMemsetD32Async, 3020)(words + index * 4ULL, value, 1, stream);
    }
    CUresult record(CUevent event, CUstream stream) const {
        return CU(cuEventRecord, 2000)(event, stream);
    }
    CUresult wait(CUstream stream, CUevent event) const {
        return CU(cuStreamWaitEvent, 3020)(stream, event, 0);
    }
    CUstreamCaptureStatus status(CUstream stream) const {
        CUstreamCaptureStatus now{};
        CHECK(CU(cuStreamIsCapturing, 10000)(stream, &now) == CUDA_SUCCESS);
        return now;
    }
    unsigned word(unsigned index) const {
        unsigned read = 0;
        CHECK(CU(cuMemcpyDtoH, 3020)(&read, words + index * 4ULL, 4) == CUDA_SUCCESS);
        return read;
    }
    void run_and_destroy() {
        CUgraphExec exec = nullptr;
        REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
        CHECK(CU(cuGraphLaunch, 10000)(exec, origin) == CUDA_SUCCESS);
        CHECK(CU(cuStreamSynchronize, 2000)(origin) == CUDA_SUCCESS);
        CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
        CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
    }

    CUstream origin = nullptr;
    CUstream fork = nullptr;
    CUevent forked = nullptr;
    CUevent joined = nullptr;
    CUdeviceptr words = 0;
    CUgraph graph = nullptr;
};

void increment(void* user) {
    ++*static_cast<int*>(user);
}

}  // namespace

TEST_CASE("emulator capture: work becomes nodes and runs only when the graph is launched") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    CUmodule module = nullptr;
    CUfunction store = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleGetFunction, 2000)(&store, module, "store") == CUDA_SUCCESS);
    int calls = 0;
    unsigned out = 0;
    bench.begin();
    CHECK(bench.status(bench.origin) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(bench.fill(bench.origin, 0, 3) == CUDA_SUCCESS);
    CUdeviceptr to = bench.words + 4;
    unsigned value = 4;
    void* arguments[] = {&to, &value};
    CHECK(CU(cuLaunchKernel, 4000)(store, 1, 1, 1, 1, 1, 1, 0, bench.origin, arguments, nullptr) ==
          CUDA_SUCCESS);
    value = 99;
    CHECK(CU(cuLaunchHostFunc, 10000)(bench.origin, increment, &calls) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyDtoHAsync, 3020)(&out, bench.words, 4, bench.origin) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 0);
    REQUIRE(bench.end() == CUDA_SUCCESS);
    CHECK(bench.status(bench.origin) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 1);
    CHECK(bench.word(0) == 0);
    CHECK(calls == 0);
    std::size_t count = 0;
    CHECK(CU(cuGraphGetNodes, 10000)(bench.graph, nullptr, &count) == CUDA_SUCCESS);
    CHECK(count == 4);
    bench.run_and_destroy();
    CHECK(bench.word(0) == 3);
    CHECK(bench.word(1) == 4);
    CHECK(out == 3);
    CHECK(calls == 1);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
}

TEST_CASE("emulator capture: events fork to another stream and join it") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    bench.begin();
    CHECK(bench.fill(bench.origin, 0, 1) == CUDA_SUCCESS);
    CHECK(bench.record(bench.forked, bench.origin) == CUDA_SUCCESS);
    CHECK(bench.wait(bench.fork, bench.forked) == CUDA_SUCCESS);
    CHECK(bench.status(bench.fork) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(bench.fill(bench.fork, 1, 2) == CUDA_SUCCESS);
    SUBCASE("joined") {
        CHECK(bench.record(bench.joined, bench.fork) == CUDA_SUCCESS);
        CHECK(bench.wait(bench.origin, bench.joined) == CUDA_SUCCESS);
        const CUgraphNode* nodes = nullptr;
        std::size_t count = 0;
        CUstreamCaptureStatus status{};
        cuuint64_t id = 0;
        CHECK(CU(cuStreamGetCaptureInfo, 11030)(bench.origin, &status, &id, nullptr, &nodes,
                                                &count) == CUDA_SUCCESS);
        CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CHECK(id != 0);
        CHECK(count == 2);
        const CUgraphEdgeData* edges = nullptr;
        CHECK(CU(cuStreamGetCaptureInfo, 12030)(bench.origin, &status, &id, nullptr, &nodes, &edges,
                                                &count) == CUDA_SUCCESS);
        REQUIRE(edges != nullptr);
        for (std::size_t i = 0; i < count; ++i) {
            CHECK(edges[i].from_port == 0);
            CHECK(edges[i].to_port == 0);
            CHECK(edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
        }
        REQUIRE(bench.end() == CUDA_SUCCESS);
        CHECK(bench.status(bench.fork) == CU_STREAM_CAPTURE_STATUS_NONE);
        bench.run_and_destroy();
        CHECK(bench.word(0) == 1);
        CHECK(bench.word(1) == 2);
        CHECK(CU(cuEventSynchronize, 2000)(bench.joined) == CUDA_ERROR_CAPTURED_EVENT);
        CHECK(bench.record(bench.joined, bench.fork) == CUDA_SUCCESS);
        CHECK(CU(cuEventSynchronize, 2000)(bench.joined) == CUDA_SUCCESS);
    }
    SUBCASE("not joined") {
        CHECK(bench.end() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        CHECK(bench.graph == nullptr);
        CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 0);
    }
    SUBCASE("ended on the wrong stream") {
        CUgraph graph = nullptr;
        CHECK(CU(cuStreamEndCapture, 10000)(bench.fork, &graph) ==
              CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        CHECK(bench.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

TEST_CASE("emulator capture: a forbidden call invalidates it until it ends") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    bench.begin(global);
    CUdeviceptr memory = 0;
    CUresult refused = CUDA_SUCCESS;
    SUBCASE("waiting for the stream") {
        refused = CU(cuStreamSynchronize, 2000)(bench.origin);
    }
    SUBCASE("asking the stream") {
        refused = CU(cuStreamQuery, 2000)(bench.origin);
    }
    SUBCASE("waiting for the context") {
        refused = CU(cuCtxSynchronize, 2000)();
    }
    SUBCASE("allocating") {
        refused = CU(cuMemAlloc, 3020)(&memory, 16);
    }
    SUBCASE("allocating on another thread") {
        std::thread([&] {
            CHECK(CU(cuCtxSetCurrent, 4000)(scope.native()) == CUDA_SUCCESS);
            refused = CU(cuMemAlloc, 3020)(&memory, 16);
        }).join();
    }
    CHECK(refused == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(memory == 0);
    CHECK(bench.status(bench.origin) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK(bench.fill(bench.origin, 0, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(bench.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(bench.status(bench.origin) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(bench.fill(bench.origin, 0, 1) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(bench.origin) == CUDA_SUCCESS);
}

TEST_CASE("emulator capture: the modes of the capture and of the thread decide about allocations") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    CUdeviceptr memory = 0;
    SUBCASE("a relaxed capture allows them") {
        bench.begin(relaxed);
        CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
    }
    SUBCASE("a relaxed thread may make them") {
        bench.begin(global);
        CUstreamCaptureMode mode = relaxed;
        CHECK(CU(cuThreadExchangeStreamCaptureMode, 10010)(&mode) == CUDA_SUCCESS);
        CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
        CHECK(CU(cuThreadExchangeStreamCaptureMode, 10010)(&mode) == CUDA_SUCCESS);
        CHECK(mode == relaxed);
    }
    SUBCASE("a thread-local capture allows them to other threads") {
        bench.begin(thread_local_mode);
        std::thread([&] {
            CHECK(CU(cuCtxSetCurrent, 4000)(scope.native()) == CUDA_SUCCESS);
            CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
        }).join();
    }
    CHECK(bench.end() == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroy, 10000)(bench.graph) == CUDA_SUCCESS);
}

TEST_CASE("emulator capture: dependencies on work outside, and two captures, don't mix") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    SUBCASE("an event from outside") {
        CHECK(bench.record(bench.forked, bench.fork) == CUDA_SUCCESS);
        bench.begin();
        CHECK(bench.wait(bench.origin, bench.forked) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        CHECK(bench.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    SUBCASE("two captures") {
        bench.begin();
        REQUIRE(CU(cuStreamBeginCapture, 10010)(bench.fork, relaxed) == CUDA_SUCCESS);
        CHECK(bench.record(bench.forked, bench.fork) == CUDA_SUCCESS);
        CHECK(bench.wait(bench.origin, bench.forked) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
        CUgraph other = nullptr;
        CHECK(CU(cuStreamEndCapture, 10000)(bench.fork, &other) ==
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(bench.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    SUBCASE("an external event") {
        CHECK(bench.record(bench.forked, bench.fork) == CUDA_SUCCESS);
        bench.begin();
        CHECK(CU(cuStreamWaitEvent, 3020)(bench.origin, bench.forked, CU_EVENT_WAIT_EXTERNAL) ==
              CUDA_SUCCESS);
        REQUIRE(bench.end() == CUDA_SUCCESS);
        bench.run_and_destroy();
    }
}

TEST_CASE("emulator capture: the legacy stream can't be used beside a blocking stream's capture") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    CHECK(CU(cuStreamBeginCapture, 10010)(nullptr, relaxed) ==
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUstream blocking = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(blocking, relaxed) == CUDA_SUCCESS);
    CHECK(bench.fill(nullptr, 0, 1) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CUgraph graph = nullptr;
    CHECK(CU(cuStreamEndCapture, 10000)(blocking, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(bench.fill(nullptr, 0, 1) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(blocking) == CUDA_SUCCESS);
}

TEST_CASE("emulator capture: it ends on the thread that began it, unless it is relaxed") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    bench.begin(thread_local_mode);
    CUgraph graph = nullptr;
    std::thread([&] {
        CHECK(CU(cuCtxSetCurrent, 4000)(scope.native()) == CUDA_SUCCESS);
        CHECK(CU(cuStreamEndCapture, 10000)(bench.origin, &graph) ==
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }).join();
    CHECK(bench.end() == CUDA_SUCCESS);
    CHECK(bench.end() == CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("emulator capture: capturing into a graph, and a graph's launch isn't captured") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    bench.begin();
    CHECK(bench.fill(bench.origin, 0, 8) == CUDA_SUCCESS);
    REQUIRE(bench.end() == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, bench.graph, 0) == CUDA_SUCCESS);
    const CUgraph target = bench.graph;
    CUgraphNode last = nullptr;
    std::size_t one = 1;
    CHECK(CU(cuGraphGetNodes, 10000)(target, &last, &one) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCaptureToGraph, 12030)(bench.origin, target, &last, nullptr, 1,
                                                   relaxed) == CUDA_SUCCESS);
    CHECK(bench.fill(bench.origin, 1, 9) == CUDA_SUCCESS);
    REQUIRE(bench.end() == CUDA_SUCCESS);
    CHECK(bench.graph == target);
    // The program has the graph already.
    REQUIRE(CU(cuStreamBeginCaptureToGraph, 12030)(bench.origin, target, &last, nullptr, 1,
                                                   relaxed) == CUDA_SUCCESS);
    CHECK(CU(cuStreamEndCapture, 10000)(bench.origin, nullptr) == CUDA_SUCCESS);
    bench.begin();
    CHECK(CU(cuStreamEndCapture, 10000)(bench.origin, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.origin) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph none = nullptr;
    CHECK(CU(cuStreamEndCapture, 10000)(bench.origin, &none) ==
          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
    std::size_t count = 0;
    CHECK(CU(cuGraphGetNodes, 10000)(bench.graph, nullptr, &count) == CUDA_SUCCESS);
    CHECK(count == 2);
    bench.run_and_destroy();
    CHECK(bench.word(0) == 8);
    CHECK(bench.word(1) == 9);
    CHECK(machine.live(LODE_EMULATOR_GRAPHS) == 0);
}

TEST_CASE("emulator capture: a destroyed stream ends its capture") {
    const Machine machine;
    const Current scope;
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(stream, global) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
}

TEST_CASE("emulator capture: a forked stream may be destroyed once it has joined") {
    const Machine machine;
    const Current scope;
    CaptureBench bench;
    CUstream fork = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&fork, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    bench.begin();
    CHECK(bench.record(bench.forked, bench.origin) == CUDA_SUCCESS);
    CHECK(bench.wait(fork, bench.forked) == CUDA_SUCCESS);
    CHECK(bench.fill(fork, 0, 1) == CUDA_SUCCESS);
    bool joins = false;
    SUBCASE("joined") {
        joins = true;
        CHECK(bench.record(bench.joined, fork) == CUDA_SUCCESS);
        CHECK(bench.wait(bench.origin, bench.joined) == CUDA_SUCCESS);
    }
    SUBCASE("not joined") {}
    CHECK(CU(cuStreamDestroy, 4000)(fork) == CUDA_SUCCESS);
    CHECK(bench.fill(bench.origin, 1, 2) == CUDA_SUCCESS);
    CHECK(bench.end() == (joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
    if (!joins) return;
    bench.run_and_destroy();
    CHECK(bench.word(0) == 1);
    CHECK(bench.word(1) == 2);
}
