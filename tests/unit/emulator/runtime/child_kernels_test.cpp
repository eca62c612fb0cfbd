// Kernels that launch kernels, on the software device: compiled by NVRTC, linked with libcudadevrt.
#include "tests/support/child_kernels.hpp"

#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <string>
#include <tuple>
#include <vector>

using namespace lode;
using namespace lode::emulator_test;
using lode::test::contains;
using lode::test::Variable;

namespace {

Device open_device() {
    reset();
    const Runtime runtime =
        require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}, .cache = {}}));
    return require(runtime.device());
}

Image link(const Device& device, const char* code) {
    const auto part = require(
        device.compile(Source::text(code, "parent.cu"), {.compile = {.relocatable = true}}));
    const std::vector inputs{require(LinkInput::from_image(part)),
                             require(LinkInput::device_runtime())};
    return require(link_with_driver(device, inputs));
}

/// Launches `parent` with one thread; the numbers that it leaves, or the error of the launch.
Result<std::vector<int>> run_parent(const Device& device, const char* code,
                                    std::size_t count = 32) {
    const auto library = require(device.load(link(device, code)));
    const auto parent = require(library.kernel<void(int*)>("parent"));
    const auto to = require(device.upload(std::vector<int>(count)));
    const auto stream = require(device.create_stream());
    require(parent.launch(stream, LaunchShape{}, to));
    if (auto done = stream.sync(); !done) return tl::unexpected<Error>(done.error());
    return to.to_vector();
}

}  // namespace

TEST_CASE("child kernels: a quicksort and a sum give the host's results, with all checks") {
    for (const char* const checks : {"memory", "all"}) {
        CAPTURE(checks);
        const Variable variable("LODE_EMULATOR_CHECK", checks);
        const Device device = open_device();
        test::check_child_kernels(device, link(device, test::child_kernels));
    }
}

TEST_CASE("child kernels: children run in order of launch and tails after them") {
    const Device device = open_device();
    const auto order = require(run_parent(device, R"(
__global__ void note(int* to, int value) { to[1 + atomicAdd(to, 1)] = value; }
__global__ void pair(int* to, int value) {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(to, value + 2);
    note<<<1, 1>>>(to, value + 1);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(to, value + 3);
    to[1 + atomicAdd(to, 1)] = value;
}
extern "C" __global__ void parent(int* to) {
    cudaStream_t a, b;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 90);
    pair<<<1, 1, 0, a>>>(to, 10);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    note<<<1, 1, 0, b>>>(to, 20);
    pair<<<1, 1>>>(to, 30);
    pair<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 91);
}
)"));
    CHECK(std::vector(order.begin() + 1, order.begin() + 1 + order[0]) ==
          std::vector{10, 11, 12, 13, 20, 30, 31, 32, 33, 90, 91, 92, 93, 94});
}

TEST_CASE("child kernels: copies, fills, memory and properties") {
    const Device device = open_device();
    const auto found = require(run_parent(device, R"(
__global__ void __launch_bounds__(64) child(int* to, int* from) { *to = *from; }
extern "C" __global__ void parent(int* to) {
    cudaMemsetAsync(to, 1, 4, 0);
    cudaMemcpyAsync(to + 1, to, 4, cudaMemcpyDeviceToDevice, 0);
    cudaMemset2DAsync(to + 2, 8, 2, 4, 2, 0);
    cudaMemcpy2DAsync(to + 6, 4, to + 2, 8, 4, 2, cudaMemcpyDeviceToDevice, 0);
    int* own = nullptr;
    to[8] = cudaMalloc((void**)&own, sizeof(int));
    *own = 5;
    child<<<1, 1>>>(to + 9, own);
    to[10] = cudaMalloc((void**)&own, size_t(1) << 40);
    to[11] = cudaMemcpyAsync(to, to, 4, cudaMemcpyHostToDevice, 0);
    size_t limit = 0;
    cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    to[12] = limit;
    cudaDeviceGetAttribute(to + 13, cudaDevAttrWarpSize, 0);
    cudaGetDeviceCount(to + 14);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, (const void*)child);
    to[15] = attributes.maxThreadsPerBlock;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(to + 16, (const void*)child, 64, 0);
    const char* const name = cudaGetErrorName(cudaErrorInvalidConfiguration);
    to[17] = name[9];
    cudaStream_t stream;
    to[18] = cudaStreamCreateWithFlags(&stream, 0);
    to[19] = cudaStreamDestroy(cudaStream_t(0x1234));
}
)"));
    CHECK(std::vector(found.begin(), found.begin() + 20) ==
          std::vector{0x01010101, 0x01010101, 0x02020202, 0,        0x02020202, 0,    0x02020202,
                      0x02020202, 0,          5,          2,        21,         2048, 32,
                      1,          64,         32,         int{'I'}, 1,          400});
}

TEST_CASE("child kernels: what a launch may not be is an error of the launching thread") {
    const Device device = open_device();
    const auto found = require(run_parent(device, R"(
__global__ void child(int* to) { atomicAdd(to, 1); }
__global__ void __launch_bounds__(64) narrow(int* to) { *to = 1; }
__global__ void nest(int* to, int depth) {
    atomicMax(to, depth);
    nest<<<1, 1>>>(to, depth + 1);
    if (depth == 24) to[1] = cudaGetLastError();
}
extern "C" __global__ void parent(int* to) {
    child<<<0, 1>>>(to);
    to[1] = cudaGetLastError();
    child<<<1, 0>>>(to);
    to[2] = cudaGetLastError();
    child<<<1, 1, 1 << 20>>>(to);
    to[3] = cudaGetLastError();
    narrow<<<1, 65>>>(to);
    to[4] = cudaGetLastError();
    void (*none)(int*) = to[0] == 0 ? nullptr : child;
    none<<<1, 1>>>(to);
    to[5] = cudaGetLastError();
    child<<<1, 1, 0, cudaStream_t(0x1234)>>>(to);
    to[6] = cudaGetLastError();
    nest<<<1, 1>>>(to + 8, 1);
    int launched = 1;
    for (; launched < 5000; ++launched) {
        child<<<1, 1>>>(to);
        to[7] = cudaGetLastError();
        if (to[7] != 0) break;
    }
    to[10] = launched;
}
)"));
    CHECK(std::vector(found.begin(), found.begin() + 11) ==
          std::vector{2047, 9, 9, 9, 9, 98, 400, 701, 24, 65, 2048});
}

TEST_CASE("child kernels: findings name the child and its line") {
    constexpr const char* code = R"(
__global__ void child(int* to) {
    to[blockIdx.x / 2] = blockIdx.x;
}
extern "C" __global__ void parent(int* to) { child<<<BLOCKS, 1>>>(to); }
)";
    for (const auto& [check, blocks, words] :
         {std::tuple{"memory", "66",
                     "parent.cu:3: child writes 4 bytes past the end of a 128-byte"},
          std::tuple{"race", "2", "parent.cu:3: child writes a 128-byte allocation in a race"}}) {
        CAPTURE(check);
        const Variable variable("LODE_EMULATOR_CHECK", check);
        std::string text = code;
        text.replace(text.find("BLOCKS"), 6, blocks);
        const auto failed = run_parent(open_device(), text.c_str());
        REQUIRE_FALSE(failed);
        CHECK_MESSAGE(contains(failed.error().message, words), failed.error().message);
    }
}

TEST_CASE("child kernels: what isn't supported is refused by its name") {
    const Device device = open_device();
    const auto library = require(device.load(link(device, R"(
extern "C" __global__ void parent(cudaMemcpy3DParms* from) { cudaMemcpy3DAsync(from, 0); }
)")));
    const auto parent = library.kernel("parent");
    REQUIRE_FALSE(parent);
    CHECK_MESSAGE(contains(parent.error().message, "__cudaCDP2Memcpy3DAsync"),
                  parent.error().message);
}
