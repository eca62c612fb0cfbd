#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

Status launch(const UntypedKernel& kernel, StreamRef stream, std::uint32_t blocks = 1) {
    return kernel.launch(stream, LaunchShape{.grid = {blocks}, .block = {64}}, std::span<void*>{});
}

}  // namespace

TEST_CASE("lost: a sticky error at a sync names the last launch on that stream") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"good()", "bad()"})));
    const auto good = require(library.kernel("good"));
    const auto bad = require(library.kernel("bad"));
    const auto one = require(device.create_stream());
    const auto two = require(device.create_stream());
    require(launch(good, one, 3));
    require(launch(bad, two, 5));
    machine.driver.break_device(0, CUDA_ERROR_ILLEGAL_ADDRESS);

    const auto error = require_error(two.sync());
    CHECK(error.code == Errc::device_lost);
    CHECK(error.native.code == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(error.native.name == "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_CONTAINS(error.message,
                   "The suspect is the last launch on this stream: 'bad' with grid "
                   "(5, 1, 1) and block (64, 1, 1).");
    CHECK_CONTAINS(error.message, "compute-sanitizer");
    CHECK(device.is_lost());
}

TEST_CASE("lost: without a stream, every stream's last launch is a suspect") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"one()", "two()", "gone()"})));
    const auto first = require(device.create_stream());
    const auto second = require(device.create_stream());
    {
        const auto short_lived = require(device.create_stream());
        require(launch(require(library.kernel("gone")), short_lived));
    }
    require(launch(require(library.kernel("one")), first));
    require(launch(require(library.kernel("two")), second));
    machine.driver.break_device(0, CUDA_ERROR_LAUNCH_FAILED);
    const auto error = require_error(device.sync());
    CHECK_CONTAINS(error.message, "The suspects are the last launches of each stream: '");
    CHECK_CONTAINS(error.message, "'one' with grid");
    CHECK_CONTAINS(error.message, "'two' with grid");
    CHECK_FALSE(contains(error.message, "'gone'"));
}

TEST_CASE("lost: later calls fail without calling the driver, and quote the first failure") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto kernel = machine.kernel("k()");
    const auto stream = require(device.create_stream());
    auto buffer = require(device.alloc<int>(4));
    machine.driver.break_device(0, CUDA_ERROR_MISALIGNED_ADDRESS);
    CHECK_FALSE(stream.sync());

    const auto asked = machine.driver.calls();
    for (const Status& status :
         {stream.sync(), launch(kernel, stream), buffer.fill(1), device.sync()}) {
        REQUIRE_FALSE(status);
        CHECK(status.error().code == Errc::device_lost);
        CHECK_CONTAINS(status.error().message,
                       "This process has lost device 0 (Fake H1, compute capability 9.0)");
        CHECK_CONTAINS(status.error().message,
                       "cuStreamSynchronize fails: a kernel accessed an "
                       "address that isn't aligned");
        CHECK(status.error().native.code == CUDA_ERROR_MISALIGNED_ADDRESS);
    }
    CHECK(machine.driver.calls() == asked);
}

TEST_CASE("lost: an error that a launch reports blames the launch before it") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"before()", "after()"})));
    const auto stream = require(device.create_stream());
    const auto after = require(library.kernel("after"));
    require(launch(require(library.kernel("before")), stream));
    machine.driver.break_device(0, CUDA_ERROR_ASSERT);
    const auto error = require_error(launch(after, stream));
    CHECK(error.code == Errc::device_lost);
    CHECK_CONTAINS(error.message, "on this stream: 'before'");
    CHECK_CONTAINS(error.message, "while launching 'after'");
}

TEST_CASE("lost: other devices still work when one is lost, and destroying is silent") {
    std::vector<std::string> lines;
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}},
                        {.log = Log([&](LogLevel level, std::string_view line) {
                             if (level == LogLevel::warning) lines.emplace_back(line);
                         })});
    {
        const auto on_a = require(machine.device(0).alloc<int>(1));
        machine.driver.break_device(0, CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_FALSE(machine.device(0).sync());
        CHECK(machine.device(0).is_lost());
        CHECK_FALSE(machine.device(1).is_lost());
        CHECK(machine.device(1).sync());
    }
    CHECK(lines.empty());
    CHECK(machine.driver.live_handles() == 0);
}

TEST_CASE("lost: ordinary errors don't lose the device") {
    FakeMachine machine;
    const Device device = machine.device();
    for (const CUresult result :
         {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_READY,
          CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE}) {
        machine.driver.fail_always("cuCtxSynchronize", result);
        CHECK_FALSE(device.sync());
        CHECK_FALSE(device.is_lost());
    }
    for (const CUresult result :
         {CUDA_ERROR_CONTAINED, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT,
          CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
          CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,
          CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_EXTERNAL_DEVICE, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
        FakeMachine fresh;
        fresh.driver.fail_always("cuCtxSynchronize", result);
        const Device own = fresh.device();
        CHECK(require_error(own.sync()).code == Errc::device_lost);
        CHECK(own.is_lost());
    }
}

TEST_CASE("reset: what was made before is gone, and the device can be opened again") {
    std::vector<std::string> warnings;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::warning) warnings.emplace_back(line);
                             })});
    {
        const Device device = machine.device();
        const auto library = require(device.load(cubin_image({"k(.param .u64 x)"})));
        const auto kernel = require(library.kernel<void(int*)>("k"));
        const auto stream = require(device.create_stream());
        auto buffer = require(device.alloc<int>(4));
        require(kernel.launch(stream, {}, buffer));
        machine.driver.reset_device(0);

        const auto first = require_error(kernel.launch(stream, {}, buffer));
        CHECK(first.code == Errc::device_lost);
        CHECK(first.native.name == "CUDA_ERROR_CONTEXT_IS_DESTROYED");
        CHECK_CONTAINS(first.message,
                       "Other code of this process has reset device 0 (Fake H1, compute capability "
                       "9.0)");
        CHECK_CONTAINS(first.message, "Open it again with Runtime::device()");
        CHECK_CONTAINS(first.message, "while launching 'k'");
        CHECK(device.is_lost());
        const auto asked = machine.driver.calls();
        for (const Status& status :
             {stream.sync(), buffer.fill(1), device.sync(), kernel.launch(stream, {}, buffer)}) {
            CHECK_CONTAINS(require_error(status).message, "has reset device 0");
        }
        CHECK_CONTAINS(require_error(library.kernel("k")).message, "has reset device 0");
        CHECK(machine.driver.calls() == asked);

        const Device again = machine.device();
        CHECK_FALSE(again.is_lost());
        const auto anew = require(require(again.load(library.image())).kernel<void(int*)>("k"));
        const auto new_stream = require(again.create_stream());
        const auto new_buffer = require(again.alloc<int>(4));
        require(anew.launch(new_stream, {}, new_buffer));
        CHECK_CONTAINS(require_error(anew.launch(new_stream, {}, buffer)).message,
                       "has reset device 0");
        CHECK_CONTAINS(require_error(anew.launch(stream, {}, new_buffer)).message,
                       "has reset device 0");
        require(new_stream.sync());
        auto copy = require(again.alloc<int>(4));
        CHECK_CONTAINS(require_error(copy.copy_from(buffer)).message, "has reset device 0");
        CHECK_CONTAINS(require_error(copy.copy_from_async(stream, new_buffer)).message,
                       "has reset device 0");
    }
    CHECK(warnings.empty());
    CHECK(machine.driver.calls("cuMemFree") == 2);
    CHECK(machine.driver.calls("cuStreamDestroy") == 1);
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRelease") == 2);
    CHECK(machine.driver.live_handles() == 0);
}

TEST_CASE("reset: an object whose context is gone frees nothing, noticed or not") {
    FakeMachine machine;
    {
        const Device device = machine.device();
        const auto buffer = require(device.alloc<int>(4));
        const auto stream = require(device.create_stream());
        const auto event = require(device.create_event());
        machine.driver.reset_device(0);
        // The host's code goes on with a context of its own, which has the same handle.
        (void)machine.driver.retain(0);
    }
    for (const char* name : {"cuMemFree", "cuStreamDestroy", "cuEventDestroy"})
        CHECK(machine.driver.calls(name) == 0);
    CHECK(machine.driver.live_handles() == 1);  // The host's context.
    machine.driver.release(0);
    CHECK(machine.driver.live_handles() == 0);
}

TEST_CASE("reset: asking for a device or code notices it, and a wrong handle alone doesn't") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"k()"})));
    machine.driver.fail_always("cuStreamCreateWithPriority", CUDA_ERROR_INVALID_HANDLE);
    CHECK(require_error(device.create_stream()).code == Errc::invalid_argument);
    CHECK_FALSE(device.is_lost());
    machine.driver.reset_device(0);
    SUBCASE("by Runtime::device()") {
        CHECK_FALSE(machine.device().is_lost());
    }
    SUBCASE("by a load") {
        CHECK(require_error(device.load(cubin_image({"k()"}))).code == Errc::device_lost);
    }
    SUBCASE("by a kernel") {
        CHECK(require_error(library.kernel("k")).code == Errc::device_lost);
    }
    CHECK(device.is_lost());
}
