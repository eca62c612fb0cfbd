#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;
using lode::test::Variable;

namespace {

/// A machine with the store kernel loaded and memory to store to.
struct LaunchBench {
    explicit LaunchBench(const char* devices = "sm_90") : machine(devices) {
        REQUIRE(CU(cuLibraryLoadData, 12000)(&library, store_ptx, nullptr, nullptr, 0, nullptr,
                                             nullptr, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "store") == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, 64) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    }

    [[nodiscard]] CUfunction as_function() const { return reinterpret_cast<CUfunction>(kernel); }

    CUresult launch(CUdeviceptr to, unsigned value, unsigned grid = 1, unsigned block = 1,
                    unsigned shared = 0) const {
        void* arguments[] = {&to, &value};
        return CU(cuLaunchKernel, 4000)(as_function(), grid, 1, 1, block, 1, 1, shared, stream,
                                        arguments, nullptr);
    }

    [[nodiscard]] unsigned stored() const {
        unsigned value = 0;
        CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
        CHECK(CU(cuMemcpyDtoH, 3020)(&value, memory, sizeof(value)) == CUDA_SUCCESS);
        return value;
    }

    Machine machine;
    Current scope;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
};

}  // namespace

TEST_CASE("emulator launch: a kernel runs, as CUkernel and as CUfunction") {
    const LaunchBench bench;
    CHECK(bench.launch(bench.memory, 41) == CUDA_SUCCESS);
    CHECK(bench.stored() == 41);
    CUfunction function = nullptr;
    CHECK(CU(cuKernelGetFunction, 12000)(&function, bench.kernel) == CUDA_SUCCESS);
    CUdeviceptr to = bench.memory;
    unsigned value = 42;
    void* arguments[] = {&to, &value};
    CHECK(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 32, 1, 1, 0, bench.stream, arguments,
                                   nullptr) == CUDA_SUCCESS);
    CHECK(bench.stored() == 42);
}

TEST_CASE("emulator launch: launching on a stream doesn't need a current context") {
    const LaunchBench bench;
    CUcontext popped = nullptr;
    REQUIRE(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory, 5) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_SUCCESS);
    CUdeviceptr to = bench.memory;
    unsigned value = 6;
    void* arguments[] = {&to, &value};
    CHECK(CU(cuLaunchKernel, 4000)(bench.as_function(), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments,
                                   nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(CU(cuCtxPushCurrent, 4000)(popped) == CUDA_SUCCESS);
    CHECK(bench.stored() == 5);
}

TEST_CASE("emulator launch: packed arguments through extra") {
    const LaunchBench bench;
    struct {
        CUdeviceptr to;
        unsigned value;
    } packed{bench.memory, 77};
    std::size_t size = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    const auto launch = [&](void** parameters, void** list) {
        return CU(cuLaunchKernel, 4000)(bench.as_function(), 1, 1, 1, 1, 1, 1, 0, bench.stream,
                                        parameters, list);
    };
    CHECK(launch(nullptr, extra) == CUDA_SUCCESS);
    CHECK(bench.stored() == 77);
    size = 8;
    CHECK(launch(nullptr, extra) == CUDA_ERROR_INVALID_VALUE);
    size = 12;
    void* parameters[] = {&packed.to, &packed.value};
    CHECK(launch(parameters, extra) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    void* unknown[] = {reinterpret_cast<void*>(std::size_t{9}), nullptr, CU_LAUNCH_PARAM_END};
    CHECK(launch(nullptr, unknown) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator launch: the shape and the parameters by calls of their own") {
    const LaunchBench bench;
    CUfunction function = nullptr;
    REQUIRE(CU(cuKernelGetFunction, 12000)(&function, bench.kernel) == CUDA_SUCCESS);
    CUdeviceptr to = bench.memory;
    CHECK(CU(cuParamSetv, 2000)(function, 0, &to, sizeof(to)) == CUDA_SUCCESS);
    CHECK(CU(cuParamSeti, 2000)(function, sizeof(to), 21) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchGrid, 2000)(function, 1, 1) == CUDA_ERROR_INVALID_VALUE);  // No size yet.
    CHECK(CU(cuParamSetSize, 2000)(function, sizeof(to) + 4) == CUDA_SUCCESS);
    CHECK(CU(cuLaunch, 2000)(function) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    CHECK(bench.stored() == 21);

    CHECK(CU(cuParamSetf, 2000)(function, sizeof(to), 1.0F) == CUDA_SUCCESS);
    CHECK(CU(cuFuncSetBlockShape, 2000)(function, 32, 2, 1) == CUDA_SUCCESS);
    CHECK(CU(cuFuncSetSharedSize, 2000)(function, 1024) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchGridAsync, 2000)(function, 2, 3, bench.stream) == CUDA_SUCCESS);
    CHECK(bench.stored() == 0x3f800000);

    CHECK(CU(cuFuncSetBlockShape, 2000)(function, 32, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuParamSetv, 2000)(function, -4, &to, 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuParamSetv, 2000)(function, 0, nullptr, 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuParamSetv, 2000)(function, 8, &to, 0x7fff) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuParamSetSize, 2000)(function, 1U << 20) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLaunchGrid, 2000)(function, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuFuncSetSharedSize, 2000)(function, 1U << 20) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchGrid, 2000)(function, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuParamSeti, 2000)(nullptr, 0, 1) == CU(cuFuncSetCacheConfig, 3000)(nullptr, {}));
}

TEST_CASE("emulator launch: impossible launch shapes are refused") {
    const LaunchBench bench;
    CHECK(bench.launch(bench.memory, 1, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.launch(bench.memory, 1, 1, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.launch(bench.memory, 1, 1, 1025) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.launch(bench.memory, 1, 1, 1024) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory, 1, 0x80000000U, 1) == CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr to = bench.memory;
    unsigned value = 1;
    void* arguments[] = {&to, &value};
    const auto launch = [&](unsigned grid_y, unsigned block_y, unsigned block_z) {
        return CU(cuLaunchKernel, 4000)(bench.as_function(), 1, grid_y, 1, 1, block_y, block_z, 0,
                                        bench.stream, arguments, nullptr);
    };
    CHECK(launch(65536, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(1, 1, 65) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(1, 32, 33) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(1, 32, 32) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchKernel, 4000)(nullptr, 1, 1, 1, 1, 1, 1, 0, bench.stream, arguments,
                                   nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator launch: more than 48 KiB of shared memory requires opting in") {
    const LaunchBench bench;
    CHECK(bench.launch(bench.memory, 1, 1, 1, 49152) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory, 1, 1, 1, 49153) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuKernelSetAttribute, 12000)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000,
                                          bench.kernel, 0) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory, 2, 1, 1, 100000) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory, 3, 1, 1, 100001) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.stored() == 2);
}

TEST_CASE("emulator launch: attributes of cuLaunchKernelEx") {
    const LaunchBench bench;
    CUdeviceptr to = bench.memory;
    unsigned value = 9;
    void* arguments[] = {&to, &value};
    CUlaunchAttribute attribute{};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = bench.stream;
    const auto launch = [&] {
        return CU(cuLaunchKernelEx, 11060)(&config, bench.as_function(), arguments, nullptr);
    };
    CHECK(launch() == CUDA_SUCCESS);
    CHECK(bench.stored() == 9);
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CHECK(launch() == CUDA_SUCCESS);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = 1;
    attribute.value.clusterDim.z = 1;
    CHECK(launch() == CUDA_ERROR_INVALID_CLUSTER_SIZE);  // The grid has one block.
    attribute.value.clusterDim.x = 1;
    CHECK(launch() == CUDA_SUCCESS);
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    CHECK(launch() == CUDA_SUCCESS);
    // 132 multiprocessors hold 32 one-thread blocks each.
    config.gridDimX = 132 * 32;
    CHECK(launch() == CUDA_SUCCESS);
    config.gridDimX = 132 * 32 + 1;
    CHECK(launch() == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CHECK(CU(cuLaunchKernelEx, 11060)(nullptr, bench.as_function(), arguments, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator launch: function and stream must share a context") {
    const LaunchBench bench("sm_80,sm_90");
    CUfunction function = nullptr;
    CHECK(CU(cuKernelGetFunction, 12000)(&function, bench.kernel) == CUDA_SUCCESS);
    CUdeviceptr to = bench.memory;
    unsigned value = 1;
    void* arguments[] = {&to, &value};
    const Current other(1);
    CUstream stream = nullptr;
    CHECK(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    // A CUkernel runs in the stream's context.
    CHECK(CU(cuLaunchKernel, 4000)(bench.as_function(), 1, 1, 1, 1, 1, 1, 0, stream, arguments,
                                   nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator launch: a fault surfaces at the next wait, sticks, and ends with the context") {
    const LaunchBench bench;
    CHECK(bench.launch(bench.memory + 64, 1) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(!bench.machine.take_report().empty());
    CHECK(bench.machine.take_report().empty());
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.launch(bench.memory, 1) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(CU(cuStreamQuery, 2000)(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_ILLEGAL_ADDRESS);
    int count = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_SUCCESS);
    // The memory is freed, although the call returns the error again.
    CHECK(CU(cuMemFree, 3020)(bench.memory) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    reset_and_reopen();
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_SUCCESS);
}

TEST_CASE("emulator launch: host functions don't run after a fault, callbacks receive the error") {
    const LaunchBench bench;
    int ran = 0;
    CUresult told = CUDA_SUCCESS;
    CHECK(bench.launch(bench.memory + 64, 1) == CUDA_SUCCESS);
    const auto note = [](void* user) { ++*static_cast<int*>(user); };
    const auto callback = [](CUstream, CUresult status, void* user) {
        *static_cast<CUresult*>(user) = status;
    };
    // Either call may return the error.
    CU(cuLaunchHostFunc, 10000)(bench.stream, note, &ran);
    const CUresult added = CU(cuStreamAddCallback, 5000)(bench.stream, callback, &told, 0);
    CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(ran == 0);
    if (added == CUDA_SUCCESS) {
        CHECK(CU(cuDevicePrimaryCtxReset, 11000)(0) == CUDA_SUCCESS);
        CHECK(told == CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

TEST_CASE("emulator launch: with CUDA_LAUNCH_BLOCKING=1 the launch returns the kernel's error") {
    const Variable variable("CUDA_LAUNCH_BLOCKING", "1");
    const LaunchBench bench;
    CHECK(bench.launch(bench.memory, 41) == CUDA_SUCCESS);
    CHECK(CU(cuStreamQuery, 2000)(bench.stream) == CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory + 64, 1) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE(
    "emulator launch: with CUDA_LAUNCH_BLOCKING=1 a graph's launch waits, a capture doesn't") {
    const Variable variable("CUDA_LAUNCH_BLOCKING", "1");
    const LaunchBench bench;
    CHECK(CU(cuStreamBeginCapture, 10010)(bench.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
          CUDA_SUCCESS);
    CHECK(bench.launch(bench.memory + 64, 1) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    CHECK(CU(cuStreamEndCapture, 10000)(bench.stream, &graph) == CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    CHECK(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(CU(cuGraphLaunch, 10000)(exec, bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}
