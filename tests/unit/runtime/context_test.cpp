#include "tests/unit/runtime/support.hpp"

#include <thread>

using namespace lode;
using namespace lode::test;

namespace {

/// Uses one of everything that needs a context, including launches.
void use_everything(const Device& device) {
    const auto stream = require(device.create_stream());
    const auto start = require(device.create_event());
    const auto stop = require(device.create_event());
    require(start.record(stream));
    auto buffer = require(device.upload(std::vector<int>{1, 2, 3}));
    auto copy = require(device.alloc<int>(3));
    require(buffer.fill(7));
    require(copy.copy_from(buffer));
    require(copy.copy_from_async(stream, buffer));
    CHECK(require(copy.to_vector()) == std::vector<int>{7, 7, 7});
    const auto pinned = require(device.alloc_pinned<int>(3));
    require(copy.copy_to_async(stream, pinned.span()));
    const auto library = require(device.load(cubin_image({"k(.param .u32 n)"})));
    const auto kernel = require(library.kernel<void(int)>("k"));
    require(kernel.launch(stream, LaunchShape{}, 1));
    require(kernel.launch(device.default_stream(), LaunchShape{}, 1));
    require(kernel.untyped().preload());
    (void)require(kernel.untyped().occupancy(64));
    (void)require(kernel.untyped().suggest_block_size());
    char table[256] = {};
    require(library.write_global("table", table, sizeof(table)));
    require(library.read_global("table", table, sizeof(table)));
    require(stop.record(stream));
    require(stop.sync());
    CHECK(require(stop.elapsed_ms_since(start)) > 0);
    CHECK(require(stop.is_done()));
    require(stream.ref().wait(stop));
    require(stream.sync());
    CHECK(require(stream.ref().is_idle()));
    CHECK_FALSE(require(stream.ref().is_capturing()));
    require(device.sync());
    (void)require(device.memory_info());
}

}  // namespace

TEST_CASE("context: a thread with no context has none afterwards") {
    FakeMachine machine;
    std::thread([&] {
        use_everything(machine.device());
        CHECK(machine.driver.context_stack().empty());
    }).join();
}

TEST_CASE("context: a thread with another device's context keeps it, with its depth") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const CUcontext other = machine.driver.retain(1);
    machine.driver.push(other);
    machine.driver.push(other);
    const std::vector<CUcontext> before{other, other};
    use_everything(machine.device(0));
    CHECK(machine.driver.context_stack() == before);
    machine.driver.pop();
    machine.driver.pop();
    machine.driver.release(1);
}

TEST_CASE("context: a failing call leaves the stack as it was") {
    FakeMachine machine;
    const Device device = machine.device();
    (void)require(device.memory_info());
    for (const char* name : {"cuMemAlloc", "cuStreamCreateWithPriority", "cuEventCreate"})
        machine.driver.fail_always(name, CUDA_ERROR_INVALID_VALUE);
    CHECK_FALSE(device.alloc<int>(1));
    CHECK_FALSE(device.create_stream());
    CHECK_FALSE(device.create_event());
    CHECK(machine.driver.context_stack().empty());
}

TEST_CASE("context: scopes nest strictly, the innermost is current") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const Device a = machine.device(0);
    const Device b = machine.device(1);
    const CUcontext of_a = require(a.primary_context());
    const CUcontext of_b = require(b.primary_context());
    {
        const auto outer = require(ContextScope::enter(a));
        {
            const auto inner = require(ContextScope::enter(b));
            CHECK(machine.driver.context_stack() == std::vector{of_a, of_b});
            (void)require(a.memory_info());
            CHECK(machine.driver.context_stack() == std::vector{of_a, of_b});
        }
        CHECK(machine.driver.context_stack() == std::vector{of_a});
    }
    CHECK(machine.driver.context_stack().empty());
}

TEST_CASE("context: the primary context is retained once, on first need, and released last") {
    FakeMachine machine;
    {
        std::optional<DeviceBuffer<int>> buffer;
        {
            const Device device = machine.device();
            CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 0);
            buffer.emplace(require(device.alloc<int>(1)));
            (void)require(device.alloc<int>(1));
            const Device again = machine.device();
            (void)require(again.memory_info());
        }
        CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 1);
        CHECK(machine.driver.calls("cuDevicePrimaryCtxRelease") == 0);
        CHECK(machine.driver.live_handles() == 2);
    }
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRelease") == 1);
    CHECK(machine.driver.live_handles() == 0);
}

TEST_CASE("context: many threads that start together retain the context once") {
    FakeMachine machine;
    const Device device = machine.device();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] { use_everything(device); });
    for (auto& thread : threads)
        thread.join();
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 1);
}

TEST_CASE("context: the first load retains it while it compiles, in another thread") {
    FakeMachine machine({}, {.compiler = {.nvrtc = "/nowhere"}});
    const Device device = machine.device();
    const auto load = [&] {
        return require_error(device.load(Source::text("__global__ void k() {}"), "k")).code;
    };
    // What is compiled is never loaded, so only the other thread retains the context.
    CHECK(load() == Errc::compiler_missing);
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 1);
    CHECK(machine.driver.context_stack().empty());
    CHECK(load() == Errc::compiler_missing);
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 1);
}

TEST_CASE("context: a load that can't retain it says so, and the next load tries again") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto source = Source::ptx(ptx_of({"k(.param .u32 n)"}));
    machine.driver.fail_always("cuDevicePrimaryCtxRetain", CUDA_ERROR_DEVICE_UNAVAILABLE);
    const auto error = require_error(device.load(source, "k"));
    CHECK(error.code == Errc::device_unavailable);
    CHECK_CONTAINS(error.message, "retaining the primary context of device 0");
    machine.driver.fail_always("cuDevicePrimaryCtxRetain", CUDA_SUCCESS);
    CHECK(device.load(source, "k"));
}
