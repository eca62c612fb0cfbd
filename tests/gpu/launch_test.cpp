// Launches on a real device: limits, shared memory, attributes, occupancy.
#include "tests/gpu/support.hpp"

using namespace lode;
using namespace lode::test;

TEST_CASE("launch: dynamic shared memory works up to the device's limit without opting in") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned)>(device, R"(
extern __shared__ unsigned words[];
extern "C" __global__ void k(unsigned* wrong, unsigned count) {
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) words[i] = i * 2654435761u;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
        const unsigned j = count - 1 - i;
        if (words[j] != j * 2654435761u) atomicAdd(wrong, 1u);
    }
    if (threadIdx.x == 0) atomicAdd(wrong + 1, 1u);
})");
    const auto most = static_cast<std::uint32_t>(kernel.attributes().max_dynamic_shared_bytes);
    CHECK(most == device.properties().shared_bytes_per_block_optin);
    const auto stream = require(device.create_stream());
    auto out = require(device.alloc<unsigned>(2));
    require(out.zero());
    const std::uint32_t sizes[] = {1024, 48 * 1024, most, 48 * 1024};
    for (const auto bytes : sizes) {
        require(
            kernel.launch(stream, {.block = {256}, .dynamic_shared_bytes = bytes}, out, bytes / 4));
    }
    CHECK(require(out.to_vector()) == std::vector<unsigned>{0, 4});

    const auto error = require_error(
        kernel.launch(stream, {.block = {256}, .dynamic_shared_bytes = most + 1}, out, most / 4));
    CHECK(error.code == Errc::out_of_resources);
    CHECK_CONTAINS(error.message, std::to_string(most));
}

TEST_CASE("launch: an exceeded limit is reported without calling the driver") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel =
        load<void()>(device, "extern \"C\" __global__ void __launch_bounds__(128) k() {}");
    const auto stream = require(device.create_stream());
    const auto refuse = [&](const LaunchShape& shape, Errc code, std::string_view part) {
        const auto error = require_error(kernel.launch(stream, shape));
        CHECK(error.code == code);
        CHECK(error.native.origin == Native::Origin::none);
        CHECK_CONTAINS(error.message, part);
    };
    CHECK(kernel.attributes().max_threads_per_block == 128);
    refuse({.block = {129}}, Errc::out_of_resources, "which its __launch_bounds__ set");
    refuse({.block = {2048}}, Errc::out_of_resources, "Block extent x (2048)");
    refuse({.block = {1024, 2}}, Errc::out_of_resources, "Threads per block (2048)");
    refuse({.block = {1, 1, 65}}, Errc::out_of_resources, "Block extent z (65)");
    refuse({.grid = {0}}, Errc::invalid_argument, "has an extent of 0");
    refuse({.grid = {1, 65536}}, Errc::out_of_resources, "Grid extent y (65536)");
    refuse({.grid = {0x80000000U}}, Errc::out_of_resources, "Grid extent x (2147483648)");
    require(kernel.launch(stream, {.block = {128}}));
    require(stream.sync());
}

TEST_CASE("launch: a kernel's attributes match its declaration") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, R"(
extern "C" __global__ void k(int* out) {
    __shared__ int numbers[100];
    numbers[threadIdx.x % 100] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = numbers[(threadIdx.x + 1) % 100];
})");
    const auto& attributes = kernel.attributes();
    CHECK(attributes.static_shared_bytes == 400);
    CHECK(attributes.registers > 0);
    CHECK(attributes.max_threads_per_block == 1024);
    CHECK(attributes.max_dynamic_shared_bytes ==
          device.properties().shared_bytes_per_block_optin - 400);
    CHECK(attributes.ptx_version == device.cc().number());
}

TEST_CASE("launch: occupancy and a block size are sensible") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(float*)>(
        device, "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] += 1; }");
    const auto& untyped = kernel.untyped();
    const auto block = require(untyped.suggest_block_size());
    CHECK(block % device.properties().warp_size == 0);
    CHECK(block <= kernel.attributes().max_threads_per_block);
    const auto best = require(untyped.occupancy(static_cast<std::uint32_t>(block)));
    CHECK(best.blocks_per_multiprocessor >= 1);
    CHECK(best.fraction > 0.5);
    CHECK(best.fraction <= 1.0);
    const auto squeezed =
        require(untyped.occupancy(64, kernel.attributes().max_dynamic_shared_bytes));
    CHECK(squeezed.blocks_per_multiprocessor == 1);
    CHECK(squeezed.fraction < best.fraction);
}

TEST_CASE("launch: all blocks of a cooperative grid that fills the device run at once") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().cooperative_launch, "the device has no cooperative launches");
    const auto kernel = load<void(unsigned*)>(device, R"(
extern "C" __global__ void k(unsigned* arrived) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < gridDim.x) { }
    }
})");
    const auto per_multiprocessor =
        require(kernel.untyped().occupancy(256)).blocks_per_multiprocessor;
    const auto most =
        static_cast<std::uint32_t>(per_multiprocessor * device.properties().multiprocessors);
    const auto stream = require(device.create_stream());
    auto arrived = require(device.alloc<unsigned>(1));
    require(arrived.zero());
    require(kernel.launch(stream, {.grid = {most}, .block = {256}, .cooperative = true}, arrived));
    CHECK(require(arrived.to_vector())[0] == most);
    const auto error = require_error(
        kernel.launch(stream, {.grid = {most + 1}, .block = {256}, .cooperative = true}, arrived));
    CHECK(error.code == Errc::out_of_resources);
    CHECK_CONTAINS(error.message, "Blocks of a cooperative grid (" + std::to_string(most + 1));
}

TEST_CASE("launch: clusters have the requested shape") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().cluster_launch, "the device has no clusters");
    const auto kernel = load<void(unsigned*)>(device, R"(
extern "C" __global__ void k(unsigned* out) {
    unsigned x, y;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(y));
    out[blockIdx.y * gridDim.x + blockIdx.x] = 10 * x + y;
})");
    const auto stream = require(device.create_stream());
    auto out = require(device.alloc<unsigned>(16));
    require(kernel.launch(stream, {.grid = {8, 2}, .block = {32}, .cluster = {4, 2}}, out));
    CHECK(require(out.to_vector()) == std::vector<unsigned>(16, 42));
    const auto error =
        require_error(kernel.launch(stream, {.grid = {6}, .block = {32}, .cluster = {4}}, out));
    CHECK(error.code == Errc::invalid_argument);
}

TEST_CASE("launch: priorities and programmatic launches are accepted") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*)>(
        device, "extern \"C\" __global__ void k(unsigned* x) { atomicAdd(x, 1u); }");
    const auto stream = require(device.create_stream());
    auto counter = require(device.alloc<unsigned>(1));
    require(counter.zero());
    require(kernel.launch(stream, {.grid = {3}, .priority = -1}, counter));
    unsigned expected = 3;
    if (device.cc() >= ComputeCapability{9, 0}) {
        for (int i = 0; i < 2; ++i) {
            require(kernel.launch(stream, {.programmatic_serialization = true}, counter));
            ++expected;
        }
    }
    CHECK(require(counter.to_vector())[0] == expected);
}

TEST_CASE("launch: the default stream works without a current context") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel =
        load<void(int*)>(device, "extern \"C\" __global__ void k(int* x) { *x = 7; }");
    auto out = require(device.alloc<int>(1));
    require(kernel.launch(device.default_stream(), LaunchShape{}, out));
    require(device.default_stream().sync());
    CHECK(require(out.to_vector())[0] == 7);
}

TEST_CASE("launch: waiting after each launch is possible") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto careful =
        require(Runtime::with_driver(machine()->driver(), {.sync_launches = true}));
    const auto own = require(careful.device(0));
    const auto kernel = load<void(int*)>(own, R"(
extern "C" __global__ void k(int* x) {
    for (long long end = clock64() + 2000000; clock64() < end;) { }
    *x = 9;
})");
    auto out = require(own.alloc<int>(1));
    const auto stream = require(own.create_stream());
    require(kernel.launch(stream, LaunchShape{}, out));
    CHECK(require(stream.ref().is_idle()));
    CHECK(require(out.to_vector())[0] == 9);
}
