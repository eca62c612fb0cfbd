// The stand-in for libcudart: registration, launches, errors, memory, streams, graphs.
#include "tests/unit/emulator/toolkit/cudart_program.hpp"

#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr unsigned count = 1000;

std::vector<unsigned> numbers() {
    std::vector<unsigned> values(count);
    std::iota(values.begin(), values.end(), 0U);
    return values;
}

/// Memory on the device with these numbers.
unsigned* upload(const std::vector<unsigned>& values) {
    unsigned* memory = nullptr;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), values.size() * 4) == cudaSuccess);
    REQUIRE(cudaMemcpy(memory, values.data(), values.size() * 4, cudaMemcpyHostToDevice) ==
            cudaSuccess);
    return memory;
}

std::vector<unsigned> download(const unsigned* memory) {
    std::vector<unsigned> values(count);
    CHECK(cudaMemcpy(values.data(), memory, count * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    return values;
}

bool is_scaled(const std::vector<unsigned>& values, unsigned factor) {
    for (unsigned i = 0; i < count; ++i)
        if (values[i] != i * factor) return false;
    return true;
}

}  // namespace

TEST_CASE("cudart: registered kernels and variables") {
    Program program;
    unsigned* memory = upload(numbers());
    unsigned n = count;
    void* arguments[] = {&memory, &n};
    // As a kernel<<<…>>> of nvcc 13 does it.
    cudaKernel_t kernel = nullptr;
    REQUIRE(__cudaGetKernel(&kernel, &program.scale) == cudaSuccess);
    CHECK(__cudaPushCallConfiguration(dim3(4), dim3(256), 16, nullptr) == 0);
    dim3 grid;
    dim3 block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
    REQUIRE(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK(grid.x == 4);
    CHECK(shared == 16);
    CHECK(__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream) == cudaSuccess);
    CHECK(is_scaled(download(memory), 3));
    CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) ==
          cudaErrorMissingConfiguration);

    unsigned factor = 0;
    CHECK(cudaMemcpyFromSymbol(&factor, &program.factor, 4, 0, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(factor == 3);
    factor = 2;
    CHECK(cudaMemcpyToSymbol(&program.factor, &factor, 4, 0, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    CHECK(cudaLaunchKernel(&program.scale, grid, block, arguments, 0, nullptr) == cudaSuccess);
    CHECK(is_scaled(download(memory), 6));
    CHECK(cudaMemcpyToSymbol(&program.table, &factor, 4, 13, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    CHECK(cudaMemcpyToSymbol(&factor, &factor, 4, 0, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidSymbol);
    size_t size = 0;
    CHECK(cudaGetSymbolSize(&size, &program.table) == cudaSuccess);
    CHECK(size == 16);
    CHECK(__cudaInitModule(program.handle()) == 1);
    REQUIRE(program.shared_by_all != nullptr);
    CHECK(*program.shared_by_all == 5);
}

TEST_CASE("cudart: what a kernel needs, and how many blocks fit") {
    Program program;
    cudaFuncAttributes attributes{};
    REQUIRE(cudaFuncGetAttributes(&attributes, &program.scale) == cudaSuccess);
    CHECK(attributes.ptxVersion == 75);
    CHECK(attributes.maxThreadsPerBlock == 1024);
    CHECK(attributes.constSizeBytes == 16);
    CHECK(cudaFuncSetAttribute(&program.scale, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               100000) == cudaSuccess);
    CHECK(cudaFuncGetAttributes(&attributes, &program.scale) == cudaSuccess);
    CHECK(attributes.maxDynamicSharedSizeBytes == 100000);
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &program.scale, 1024, 0) ==
          cudaSuccess);
    CHECK(blocks == 2);
    const char* name = nullptr;
    CHECK(cudaFuncGetName(&name, &program.scale) == cudaSuccess);
    CHECK(std::string(name) == "scale");
    size_t offset = 0;
    size_t size = 0;
    CHECK(cudaFuncGetParamInfo(&program.scale, 1, &offset, &size) == cudaSuccess);
    CHECK(offset == 8);
    CHECK(size == 4);
}

TEST_CASE("cudart: errors are the thread's, and stay until they are fetched") {
    Program program;
    unsigned* memory = upload(numbers());
    unsigned n = count;
    void* arguments[] = {&memory, &n};
    CHECK(cudaGetLastError() == cudaSuccess);
    const dim3 one(1);
    CHECK(cudaLaunchKernel(&program.scale, one, dim3(2048), arguments, 0, nullptr) ==
          cudaErrorInvalidConfiguration);
    CHECK(cudaLaunchKernel(&program.scale, dim3(0), one, arguments, 0, nullptr) ==
          cudaErrorInvalidConfiguration);
    std::thread([] { CHECK(cudaGetLastError() == cudaSuccess); }).join();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaLaunchKernel(&n, one, one, arguments, 0, nullptr) == cudaErrorInvalidDeviceFunction);
    CHECK(cudaLaunchKernel(&program.absent, one, one, arguments, 0, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
    CHECK(cudaMemcpy(memory, &n, 4, static_cast<cudaMemcpyKind>(5)) ==
          cudaErrorInvalidMemcpyDirection);
    CHECK(cudaMemcpy(memory, &n, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(std::string(cudaGetErrorName(cudaErrorInvalidConfiguration)) ==
          "cudaErrorInvalidConfiguration");
    CHECK(std::string(cudaGetErrorString(cudaErrorInvalidDeviceFunction)) ==
          "invalid device function");
    CHECK(std::string(cudaGetErrorName(static_cast<cudaError_t>(1023))) ==
          "unrecognized error code");
    // A kernel's fault is what the next call that waits returns, and it sticks.
    CHECK(cudaLaunchKernel(&program.outside, one, one, arguments, 0, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 16) == cudaErrorIllegalAddress);
    CHECK(cudaDeviceReset() == cudaSuccess);
    CHECK(cudaMalloc(&more, 16) == cudaSuccess);
}

TEST_CASE("cudart: a binary without code for the device") {
    const std::string image = fat_binary({fat_part(fat_cubin, 90, "\177ELF")});
    FatWrapper wrapper{.data = image.data()};
    void** const handle = __cudaRegisterFatBinary(&wrapper);
    char kernel = 0;
    __cudaRegisterFunction(handle, &kernel, nullptr, "kernel", -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    cudaKernel_t found = nullptr;
    CHECK(__cudaGetKernel(&found, &kernel) == cudaErrorNoKernelImageForDevice);
    CHECK(__cudaLaunchKernel(found, dim3(1), dim3(1), nullptr, 0, nullptr) ==
          cudaErrorNoKernelImageForDevice);
    CHECK(cudaGetLastError() == cudaErrorNoKernelImageForDevice);
    __cudaUnregisterFatBinary(handle);
}

TEST_CASE("cudart: the driver's tables that cuBLAS asks for") {
    Program program;
    constexpr cudaUUID_t of_threads = {{'\x42', '\xd8', '\x5a', '\x81', '\x23', '\xf6', '\xcb',
                                        '\x47', '\x82', '\x98', '\xf6', '\xe7', '\x8a', '\x3a',
                                        '\xec', '\xdc'}};
    const void* table = nullptr;
    CHECK(cudaGetExportTable(&table, &of_threads) == cudaSuccess);
    REQUIRE(table != nullptr);
    CHECK(static_cast<const std::size_t*>(table)[0] > 2 * sizeof(void*));
    const cudaUUID_t none{};
    CHECK(cudaGetExportTable(&table, &none) == cudaErrorNotSupported);
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
}

TEST_CASE("cudart: devices and what kind of memory a pointer is") {
    Program program;
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices) == cudaSuccess);
    CHECK(devices == 1);
    cudaDeviceProp properties{};
    REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    CHECK(std::string(properties.name) == "lode emulator (CPU) sm_90");
    CHECK(properties.major == 9);
    CHECK(properties.warpSize == 32);
    CHECK(properties.maxThreadsDim[2] == 64);
    CHECK(properties.sharedMemPerBlockOptin == 227 * 1024);
    CHECK(cudaGetDeviceProperties(&properties, 1) == cudaErrorInvalidDevice);
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
    CHECK(value == properties.multiProcessorCount);

    void* memory[4] = {};
    CHECK(cudaMalloc(&memory[0], 64) == cudaSuccess);
    CHECK(cudaMallocManaged(&memory[1], 64, cudaMemAttachGlobal) == cudaSuccess);
    CHECK(cudaMallocHost(&memory[2], 64) == cudaSuccess);
    memory[3] = &value;
    const cudaMemoryType expected[] = {cudaMemoryTypeDevice, cudaMemoryTypeManaged,
                                       cudaMemoryTypeHost, cudaMemoryTypeUnregistered};
    for (int i = 0; i < 4; ++i) {
        cudaPointerAttributes attributes{};
        CHECK(cudaPointerGetAttributes(&attributes, memory[i]) == cudaSuccess);
        CHECK(attributes.type == expected[i]);
    }
    CHECK(cudaFree(memory[0]) == cudaSuccess);
    CHECK(cudaFree(memory[0]) == cudaErrorInvalidValue);
    CHECK(cudaFree(memory[1]) == cudaSuccess);
    CHECK(cudaFreeHost(memory[2]) == cudaSuccess);
    CHECK(cudaFree(nullptr) == cudaSuccess);
    CHECK(cudaFreeAsync(nullptr, nullptr) == cudaSuccess);
    CHECK(cudaMalloc(&memory[0], 0) == cudaSuccess);
    CHECK(memory[0] == nullptr);
}

TEST_CASE("cudart: streams, events, and a captured graph that runs twice") {
    Program program;
    unsigned* memory = upload(numbers());
    unsigned n = count;
    void* arguments[] = {&memory, &n};
    cudaStream_t stream = nullptr;
    cudaEvent_t events[2] = {};
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    for (auto& event : events)
        REQUIRE(cudaEventCreate(&event) == cudaSuccess);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaLaunchKernel(&program.scale, dim3(4), dim3(256), arguments, 0, stream) ==
          cudaSuccess);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cudaGraphNode_t node = nullptr;
    size_t nodes = 1;
    CHECK(cudaGraphGetNodes(graph, &node, &nodes) == cudaSuccess);
    CHECK(nodes == 1);
    cudaKernelNodeParams parameters{};
    CHECK(cudaGraphKernelNodeGetParams(node, &parameters) == cudaSuccess);
    CHECK(parameters.func == &program.scale);
    CHECK(parameters.blockDim.x == 256);
    cudaGraphExec_t exec = nullptr;
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    CHECK(cudaEventRecord(events[0], stream) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaEventRecord(events[1], stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[1]) == cudaSuccess);
    CHECK(milliseconds > 0);
    CHECK(is_scaled(download(memory), 9));
    CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);

    // A graph built node by node: the copy back depends on the kernel.
    std::vector<unsigned> copied(count);
    REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
    parameters = {};
    parameters.func = &program.scale;
    parameters.gridDim = dim3(4);
    parameters.blockDim = dim3(256);
    parameters.kernelParams = arguments;
    cudaGraphNode_t copy = nullptr;
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters) == cudaSuccess);
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &node, 1, copied.data(), memory, count * 4,
                                   cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(is_scaled(copied, 27));
    CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("cudart: a launch with attributes, and a function that is missing") {
    Program program;
    unsigned* memory = upload(numbers());
    unsigned n = count;
    void* arguments[] = {&memory, &n};
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(4);
    config.blockDim = dim3(256);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelExC(&config, &program.scale, arguments) == cudaSuccess);
    CHECK(is_scaled(download(memory), 3));
    config.attrs = nullptr;
    CHECK(cudaLaunchKernelExC(&config, &program.scale, arguments) == cudaErrorInvalidValue);
    CHECK(cudaGraphicsUnregisterResource(nullptr) == cudaErrorNotSupported);
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 13000, cudaEnableDefault,
                                           &found) == cudaSuccess);
    CHECK(entry != nullptr);
    CHECK(found == cudaDriverEntryPointSuccess);
}

TEST_CASE("cudart: a host function may read the version and properties, and make no other call") {
    const Program program;
    struct Answers {
        cudaError_t waits = cudaSuccess;
        cudaError_t allocates = cudaSuccess;
        cudaError_t reads = cudaErrorUnknown;
        cudaError_t counts = cudaErrorUnknown;
        cudaError_t describes = cudaErrorUnknown;
        int devices = 0;
        cudaDeviceProp properties{};
    } answers;
    const auto call = [](void* user) {
        auto& to = *static_cast<Answers*>(user);
        void* memory = nullptr;
        int number = 0;
        to.waits = cudaDeviceSynchronize();
        to.allocates = cudaMalloc(&memory, 16);
        to.reads = cudaDriverGetVersion(&number);
        to.counts = cudaGetDeviceCount(&to.devices);
        to.describes = cudaGetDeviceProperties(&to.properties, 0);
    };
    CHECK(cudaLaunchHostFunc(nullptr, call, &answers) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(answers.waits == cudaErrorNotPermitted);
    CHECK(answers.allocates == cudaErrorNotPermitted);
    CHECK(answers.reads == cudaSuccess);
    CHECK(answers.counts == cudaSuccess);
    CHECK(answers.devices == 1);
    CHECK(answers.describes == cudaSuccess);
    CHECK(answers.properties.maxThreadsPerBlock == 1024);
}
