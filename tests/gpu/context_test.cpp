// The caller's CUDA state on a real driver: lode leaves it unchanged.
#include "tests/gpu/support.hpp"

#include <thread>

using namespace lode;
using namespace lode::test;

namespace {

CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(raw<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent")(&context) == CUDA_SUCCESS);
    return context;
}

/// Uses one of everything, and checks the context after each step.
void use_everything(const Device& device, CUcontext expected) {
    const auto unchanged = [&] { CHECK(current_context() == expected); };
    const auto kernel =
        load<void(int*)>(device, "extern \"C\" __global__ void k(int* x) { atomicAdd(x, 1); }");
    unchanged();
    {
        const auto stream = require(device.create_stream());
        const auto event = require(device.create_event());
        auto x = require(device.alloc<int>(1));
        const auto pinned = require(device.alloc_pinned<int>(1));
        unchanged();
        require(x.zero());
        require(kernel.launch(stream, LaunchShape{}, x));
        require(kernel.launch(device.default_stream(), LaunchShape{}, x));
        require(kernel.launch(stream, {.cooperative = true}, x));
        unchanged();
        require(event.record(stream));
        require(event.sync());
        require(x.copy_to_async(stream, pinned.span()));
        require(stream.sync());
        unchanged();
        require(device.sync());
        CHECK(require(x.to_vector())[0] == 3);
        (void)require(kernel.untyped().occupancy(64));
        (void)require(device.memory_info());
        unchanged();
        CHECK_FALSE(kernel.launch(stream, {.grid = {0}}, x));
        CHECK_FALSE(device.alloc<char>(std::size_t{1} << 50));
        unchanged();
    }
    unchanged();  // And after every destructor.
}

}  // namespace

TEST_CASE("context: a thread without a context has none afterwards") {
    LODE_NEEDS_DEVICE(device, 0);
    std::thread([&] { use_everything(device, nullptr); }).join();
}

TEST_CASE("context: a thread with its own contexts keeps its context stack") {
    LODE_NEEDS_DEVICE(device, 0);
    std::thread([&] {
        CUcontext own = nullptr;
        CUcontext second = nullptr;
        const auto create = raw<PFN_cuCtxCreate_v3020>("cuCtxCreate_v2");
        const auto pop = raw<PFN_cuCtxPopCurrent_v4000>("cuCtxPopCurrent_v2");
        const auto destroy = raw<PFN_cuCtxDestroy_v4000>("cuCtxDestroy_v2");
        REQUIRE(create(&own, 0, device.native()) == CUDA_SUCCESS);
        REQUIRE(create(&second, 0, device.native()) == CUDA_SUCCESS);
        use_everything(device, second);
        CUcontext popped = nullptr;
        CHECK(pop(&popped) == CUDA_SUCCESS);
        CHECK(popped == second);
        CHECK(current_context() == own);
        CHECK(pop(&popped) == CUDA_SUCCESS);
        CHECK(popped == own);
        CHECK(current_context() == nullptr);
        CHECK(destroy(second) == CUDA_SUCCESS);
        CHECK(destroy(own) == CUDA_SUCCESS);
    }).join();
}

TEST_CASE("context: a stream of a context that the host created isn't adopted") {
    LODE_NEEDS_DEVICE(device, 0);
    std::thread([&] {
        CUcontext own = nullptr;
        REQUIRE(raw<PFN_cuCtxCreate_v3020>("cuCtxCreate_v2")(&own, 0, device.native()) ==
                CUDA_SUCCESS);
        CUstream stream = nullptr;
        REQUIRE(raw<PFN_cuStreamCreate_v2000>("cuStreamCreate")(&stream, 0) == CUDA_SUCCESS);
        const auto error = require_error(device.adopt(stream));
        CHECK(error.code == Errc::invalid_argument);
        CHECK_CONTAINS(error.message, "doesn't belong to the primary context of device 0");
        CHECK(raw<PFN_cuCtxDestroy_v4000>("cuCtxDestroy_v2")(own) == CUDA_SUCCESS);
    }).join();
}

TEST_CASE("context: a scope makes the primary context current") {
    LODE_NEEDS_DEVICE(device, 0);
    const CUcontext primary = require(device.primary_context());
    const CUcontext before = current_context();
    {
        const auto scope = require(ContextScope::enter(device));
        CHECK(current_context() == primary);
    }
    CHECK(current_context() == before);
    unsigned flags = 0;
    int active = 0;
    REQUIRE(raw<PFN_cuDevicePrimaryCtxGetState_v7000>("cuDevicePrimaryCtxGetState")(
                device.native(), &flags, &active) == CUDA_SUCCESS);
    CHECK(active == 1);
}

TEST_CASE("context: two runtimes share a device's primary context") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto again = require(Runtime::open());
    const auto other = require(again.device(0));
    CHECK(require(other.primary_context()) == require(device.primary_context()));
    // A kernel of one can use the other's memory.
    auto x = require(device.upload(std::vector<int>{5}));
    const auto kernel =
        load<void(int*)>(other, "extern \"C\" __global__ void k(int* x) { *x *= 2; }");
    const auto stream = require(other.create_stream());
    require(kernel.launch(stream, LaunchShape{}, x));
    require(stream.sync());
    CHECK(require(x.to_vector())[0] == 10);
}
