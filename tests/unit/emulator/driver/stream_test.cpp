#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace lode::emulator_test;

namespace {

CUstream create(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, flags) == CUDA_SUCCESS);
    return stream;
}

void destroy(CUstream stream) {
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
}

/// A host function that waits until the test opens the gate.
struct Gate {
    std::atomic<bool> is_open{false};
    static void wait(void* user) {
        while (!static_cast<Gate*>(user)->is_open)
            std::this_thread::yield();
    }
    /// Blocks the stream until the gate is open.
    void block(CUstream stream) {
        CHECK(CU(cuLaunchHostFunc, 10000)(stream, wait, this) == CUDA_SUCCESS);
    }
};

/// A counter for host functions that record the order in which they run.
struct Turns {
    std::atomic<int> next{0};
};
struct Turn {
    Turns& turns;
    int mine = -1;
    static void note(void* user) {
        auto& self = *static_cast<Turn*>(user);
        self.mine = self.turns.next++;
    }
    void submit(CUstream stream) {
        CHECK(CU(cuLaunchHostFunc, 10000)(stream, note, this) == CUDA_SUCCESS);
    }
};

}  // namespace

TEST_CASE("emulator stream: work runs in order and asynchronously") {
    const Machine machine;
    const Current scope;
    const CUstream stream = create();
    CHECK(machine.live(LODE_EMULATOR_STREAMS) == 1);
    CHECK(CU(cuStreamQuery, 2000)(stream) == CUDA_SUCCESS);
    Gate gate;
    Turns turns;
    Turn one{turns};
    Turn two{turns};
    gate.block(stream);
    one.submit(stream);
    two.submit(stream);
    CHECK(CU(cuStreamQuery, 2000)(stream) == CUDA_ERROR_NOT_READY);
    gate.is_open = true;
    CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
    CHECK(one.mine == 0);
    CHECK(two.mine == 1);
    CHECK(CU(cuStreamQuery, 2000)(stream) == CUDA_SUCCESS);
    destroy(stream);
    CHECK(machine.live(LODE_EMULATOR_STREAMS) == 0);
    CHECK(CU(cuStreamQuery, 2000)(stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuStreamDestroy, 4000)(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator stream: work runs even if nothing waits for it") {
    const Machine machine;
    const Current scope;
    const CUstream stream = create();
    Turns turns;
    Turn turn{turns};
    turn.submit(stream);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (turns.next == 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    CHECK(turns.next == 1);
    destroy(stream);
}

TEST_CASE("emulator stream: a destroyed stream finishes its work") {
    const Machine machine;
    const Current scope;
    const CUstream stream = create();
    Gate gate;
    Turns turns;
    Turn turn{turns};
    gate.block(stream);
    turn.submit(stream);
    destroy(stream);
    CHECK(turns.next == 0);
    gate.is_open = true;
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    CHECK(turns.next == 1);
}

TEST_CASE("emulator stream: no work runs after the end of its context") {
    const Machine machine;
    const Current scope;
    struct Watch {
        std::atomic<bool> ended{false};
        std::atomic<int> runs{0};
        std::atomic<int> late{0};
        static void run(void* user) {
            auto& self = *static_cast<Watch*>(user);
            ++self.runs;
            self.late += self.ended ? 1 : 0;
        }
    };
    const auto call_host = CU(cuLaunchHostFunc, 10000);
    std::vector<Watch> watches(400);  // Outlive work that is late.
    for (Watch& watch : watches) {
        CUcontext context = nullptr;
        REQUIRE(CU(cuCtxCreate, 3020)(&context, 0, 0) == CUDA_SUCCESS);
        const CUstream stream = create();
        std::thread submitter([&, stream] {
            while (call_host(stream, Watch::run, &watch) == CUDA_SUCCESS) {
            }
        });
        while (watch.runs == 0)
            std::this_thread::yield();
        destroy(stream);
        const CUstream next = create();  // The context forgets streams without work.
        CHECK(CU(cuCtxDestroy, 4000)(context) == CUDA_SUCCESS);
        watch.ended = true;
        submitter.join();
        CHECK(CU(cuStreamQuery, 2000)(next) == CUDA_ERROR_INVALID_HANDLE);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    int late = 0;
    for (const Watch& watch : watches)
        late += watch.late;
    CHECK(late == 0);
}

TEST_CASE("emulator stream: an event orders two streams") {
    const Machine machine;
    const Current scope;
    const CUstream first = create();
    const CUstream second = create();
    CUevent event = nullptr;
    CHECK(CU(cuEventCreate, 2000)(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHECK(CU(cuStreamWaitEvent, 3020)(second, event, 0) == CUDA_SUCCESS);
    Gate gate;
    Turns turns;
    Turn before{turns};
    Turn after{turns};
    gate.block(first);
    before.submit(first);
    CHECK(CU(cuEventRecord, 2000)(event, first) == CUDA_SUCCESS);
    CHECK(CU(cuEventQuery, 2000)(event) == CUDA_ERROR_NOT_READY);
    CHECK(CU(cuStreamWaitEvent, 3020)(second, event, 0) == CUDA_SUCCESS);
    after.submit(second);
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        gate.is_open = true;
    });
    CHECK(CU(cuStreamSynchronize, 2000)(second) == CUDA_SUCCESS);
    opener.join();
    CHECK(before.mine == 0);
    CHECK(after.mine == 1);
    CHECK(CU(cuEventQuery, 2000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_ERROR_INVALID_HANDLE);
    destroy(first);
    destroy(second);
}

TEST_CASE("emulator stream: the legacy default stream waits for blocking streams only") {
    const Machine machine;
    const Current scope;
    const CUstream blocking = create(CU_STREAM_DEFAULT);
    const CUstream free_running = create(CU_STREAM_NON_BLOCKING);
    Turns turns;
    Turn in_blocking{turns};
    Turn in_legacy{turns};
    Turn later{turns};
    Gate never_in_the_way;
    Gate gate;
    never_in_the_way.block(free_running);
    gate.block(blocking);
    in_blocking.submit(blocking);
    in_legacy.submit(nullptr);
    later.submit(blocking);
    CHECK(CU(cuStreamQuery, 2000)(CU_STREAM_LEGACY) == CUDA_ERROR_NOT_READY);
    gate.is_open = true;
    CHECK(CU(cuStreamSynchronize, 2000)(blocking) == CUDA_SUCCESS);
    CHECK(in_blocking.mine == 0);
    CHECK(in_legacy.mine == 1);
    CHECK(later.mine == 2);
    CHECK(CU(cuStreamQuery, 2000)(free_running) == CUDA_ERROR_NOT_READY);
    never_in_the_way.is_open = true;
    CHECK(CU(cuStreamSynchronize, 2000)(free_running) == CUDA_SUCCESS);
    destroy(blocking);
    destroy(free_running);
}

TEST_CASE("emulator stream: each thread has its own per-thread default stream") {
    const Machine machine;
    const Current scope;
    unsigned long long mine = 0;
    unsigned long long again = 0;
    unsigned long long theirs = 0;
    CHECK(CU(cuStreamGetId, 12000)(CU_STREAM_PER_THREAD, &mine) == CUDA_SUCCESS);
    CHECK(CU(cuStreamGetId, 12000)(CU_STREAM_PER_THREAD, &again) == CUDA_SUCCESS);
    std::thread([&] {
        CHECK(CU(cuCtxSetCurrent, 4000)(scope.native()) == CUDA_SUCCESS);
        CHECK(CU(cuStreamGetId, 12000)(CU_STREAM_PER_THREAD, &theirs) == CUDA_SUCCESS);
    }).join();
    CHECK(mine == again);
    CHECK(mine != theirs);
}

TEST_CASE("emulator stream: it keeps its flags, priority, context and device") {
    const Machine machine("sm_80,sm_90");
    const Current scope(1);
    CUstream stream = nullptr;
    CHECK(CU(cuStreamCreate, 2000)(&stream, 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamCreateWithPriority, 5050)(&stream, CU_STREAM_NON_BLOCKING, -100) ==
          CUDA_SUCCESS);
    int least = 9;
    int greatest = 9;
    CHECK(CU(cuCtxGetStreamPriorityRange, 5050)(&least, &greatest) == CUDA_SUCCESS);
    int priority = 9;
    CHECK(CU(cuStreamGetPriority, 5050)(stream, &priority) == CUDA_SUCCESS);
    CHECK(priority == greatest);
    CHECK(greatest < least);
    unsigned flags = 9;
    CHECK(CU(cuStreamGetFlags, 5050)(stream, &flags) == CUDA_SUCCESS);
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    CUcontext context = nullptr;
    CHECK(CU(cuStreamGetCtx, 9020)(stream, &context) == CUDA_SUCCESS);
    CHECK(context == scope.native());
    CUstreamCaptureStatus status{};
    CHECK(CU(cuStreamIsCapturing, 10000)(stream, &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    destroy(stream);
}

TEST_CASE("emulator event: elapsed time is measured between recordings") {
    const Machine machine;
    const Current scope;
    CUevent start = nullptr;
    CUevent end = nullptr;
    CUevent untimed = nullptr;
    CHECK(CU(cuEventCreate, 2000)(&start, 0) == CUDA_SUCCESS);
    CHECK(CU(cuEventCreate, 2000)(&end, 0) == CUDA_SUCCESS);
    CHECK(CU(cuEventCreate, 2000)(&untimed, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_EVENTS) == 3);
    float milliseconds = -1;
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
    const CUstream stream = create();
    CHECK(CU(cuEventRecord, 2000)(start, stream) == CUDA_SUCCESS);
    const auto pause = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
    CHECK(CU(cuLaunchHostFunc, 10000)(stream, pause, nullptr) == CUDA_SUCCESS);
    Gate gate;
    gate.block(stream);
    CHECK(CU(cuEventRecord, 2000)(end, stream) == CUDA_SUCCESS);
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
    gate.is_open = true;
    CHECK(CU(cuEventSynchronize, 2000)(end) == CUDA_SUCCESS);
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, start, end) == CUDA_SUCCESS);
    CHECK(milliseconds >= 10);
    CHECK(milliseconds < 10000);
    CHECK(CU(cuEventRecord, 2000)(untimed, stream) == CUDA_SUCCESS);
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
    for (const CUevent event : {start, end, untimed})
        CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
    destroy(stream);
}

TEST_CASE("emulator event: it belongs to the context that made it") {
    const Machine machine("sm_80,sm_90");
    CUevent event = nullptr;
    const Current first(0);
    CHECK(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
    {
        const Current second(1);
        CHECK(CU(cuEventRecord, 2000)(event, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    }
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
}

TEST_CASE("emulator stream: asynchronous copies read pageable memory before they return") {
    const Machine machine;
    const Current scope;
    const CUstream stream = create();
    CUdeviceptr address = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&address, sizeof(int)) == CUDA_SUCCESS);
    Gate gate;
    gate.block(stream);
    int source = 1;
    CHECK(CU(cuMemcpyHtoDAsync, 3020)(address, &source, sizeof(source), stream) == CUDA_SUCCESS);
    source = 2;
    gate.is_open = true;
    int back = 0;
    CHECK(CU(cuMemcpyDtoHAsync, 3020)(&back, address, sizeof(back), stream) == CUDA_SUCCESS);
    CHECK(back == 1);
    CHECK(CU(cuMemFree, 3020)(address) == CUDA_SUCCESS);
    destroy(stream);
}

TEST_CASE("emulator stream: kernels, fills and copies that race on a word don't tear it") {
    // The emulated program races with itself; ThreadSanitizer must not find a race in the emulator.
    const Machine machine;
    const Current scope;
    CUmodule module = nullptr;
    CUfunction store = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleGetFunction, 2000)(&store, module, "store") == CUDA_SUCCESS);
    CUdeviceptr word = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&word, 4) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemsetD8, 3020)(word, 0, 4) == CUDA_SUCCESS);
    constexpr unsigned rounds = 100;
    void* locked = nullptr;
    REQUIRE(CU(cuMemAllocHost, 3020)(&locked, rounds * 4) == CUDA_SUCCESS);
    auto* const seen = static_cast<unsigned*>(locked);
    const CUstream launches = create();
    const CUstream fills = create();
    const CUstream copies = create();
    // All work is submitted before the gate opens, so that only the gate orders the streams'
    // threads.
    Gate gate;
    for (const CUstream stream : {launches, fills, copies})
        gate.block(stream);
    for (unsigned k = 0; k < rounds; ++k) {
        unsigned value = 0x01010101U * k;
        void* arguments[] = {&word, &value};
        CHECK(CU(cuLaunchKernel, 4000)(store, 1, 1, 1, 1, 1, 1, 0, launches, arguments, nullptr) ==
              CUDA_SUCCESS);
        CHECK(CU(cuMemsetD32Async, 3020)(word, 0x01010101U * (k + rounds), 1, fills) ==
              CUDA_SUCCESS);
        CHECK(CU(cuMemcpyDtoHAsync, 3020)(seen + k, word, 4, copies) == CUDA_SUCCESS);
    }
    gate.is_open = true;
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    for (unsigned k = 0; k < rounds; ++k) {
        CAPTURE(seen[k]);
        CHECK(seen[k] == (seen[k] & 0xffU) * 0x01010101U);
    }
    CHECK(CU(cuMemFreeHost, 2000)(locked) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(word) == CUDA_SUCCESS);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    for (const CUstream stream : {launches, fills, copies})
        destroy(stream);
}
