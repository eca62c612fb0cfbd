#include "tests/unit/runtime/support.hpp"

#include <optional>

using namespace lode;
using namespace lode::test;

namespace {

struct Everything {
    Stream stream;
    Event event;
    DeviceBuffer<int> buffer;
    PinnedBuffer<int> pinned;
    UntypedKernel kernel;
};

Everything make_everything(const Device& device) {
    return {require(device.create_stream()), require(device.create_event()),
            require(device.alloc<int>(4)), require(device.alloc_pinned<int>(4)),
            require(require(device.load(cubin_image({"k()"}))).kernel("k"))};
}

}  // namespace

TEST_CASE("lifetime: objects outlive the runtime and the device that made them") {
    FakeDriver fake;
    std::optional<Everything> all;
    {
        const auto runtime = require(Runtime::with_driver(require(fake.open())));
        all.emplace(make_everything(require(runtime.device())));
    }
    CHECK(fake.live_handles() == 6);
    require(all->kernel.launch(all->stream, LaunchShape{}, std::span<void*>{}));
    all.reset();
    CHECK(fake.live_handles() == 0);
}

TEST_CASE("lifetime: moved and replaced objects destroy their handle once") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    auto on_a = std::optional(make_everything(machine.device(0)));
    auto on_b = std::optional(make_everything(machine.device(1)));
    *on_a = std::move(*on_b);  // Replaces the last owners of device 0's state.
    on_b.reset();
    CHECK(machine.driver.live_handles() == 6);
    const auto stream = std::move(on_a->stream);
    require(on_a->kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
    on_a.reset();
    CHECK(machine.driver.live_handles() == 2);  // The stream and its context.
}

TEST_CASE("lifetime: a released handle is the caller's") {
    FakeMachine machine;
    NativeStream stream = nullptr;
    {
        auto owner = require(machine.device().create_stream());
        stream = std::move(owner).release();
    }
    CHECK(machine.driver.calls("cuStreamDestroy") == 0);
    CHECK(stream != nullptr);
}

TEST_CASE("lifetime: a failed destroy goes to the log and nowhere else") {
    std::vector<std::string> lines;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::warning) lines.emplace_back(line);
                             })});
    {
        const auto stream = require(machine.device().create_stream());
        machine.driver.fail_always("cuStreamDestroy", CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE(lines.size() == 1);
    CHECK_CONTAINS(lines[0], "cuStreamDestroy fails");
}

TEST_CASE("lifetime: a driver that shut down first causes no warnings") {
    std::vector<std::string> lines;
    const Log log([&](LogLevel level, std::string_view line) {
        if (level == LogLevel::warning) lines.emplace_back(line);
    });
    std::optional<FakeDriver> fake;
    fake.emplace();
    auto runtime = std::optional(
        require(Runtime::with_driver(require(fake->open(log)), RuntimeOptions{.log = log})));
    auto all = std::optional(make_everything(require(runtime->device())));
    fake.reset();  // From here on every call returns CUDA_ERROR_DEINITIALIZED.
    all.reset();
    runtime.reset();
    CHECK(lines.empty());
}

TEST_CASE("lifetime: unloading and freeing don't spoil a capture on another stream") {
    std::vector<std::string> lines;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::warning) lines.emplace_back(line);
                             })});
    const Device device = machine.device();
    const auto captured = require(device.create_stream());
    machine.driver.set_capturing(captured.native(), true);
    {
        const auto buffer = require(device.alloc<int>(4));
        const auto library = require(device.load(cubin_image({"k()"})));
    }
    CHECK(lines.empty());
    CHECK(machine.driver.live_handles() == 2);
    CHECK(require(captured.ref().is_capturing()));
}

TEST_CASE("lifetime: the end of a device waits for its work once code was loaded") {
    std::vector<std::string> warnings;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::warning) warnings.emplace_back(line);
                             })});
    const auto waits = [&] { return machine.driver.calls("cuCtxSynchronize"); };
    { const auto buffer = require(machine.device().alloc<int>(1)); }
    CHECK(waits() == 0);  // Nothing was loaded.
    {
        auto kernel = machine.kernel("k()");
        const auto stream = require(machine.device().create_stream());
        require(kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
        kernel = {};
        CHECK(waits() == 0);
    }
    CHECK(waits() == 1);
    CHECK(warnings.empty());

    // Nothing else reports what happens to the kernel.
    machine.driver.fail_always("cuCtxSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
    { const auto kernel = machine.kernel("k()"); }
    REQUIRE(warnings.size() == 1);
    CHECK_CONTAINS(warnings[0], "cuCtxSynchronize fails");
    machine.driver.fail_always("cuCtxSynchronize", CUDA_SUCCESS);

    // A lost device isn't waited for.
    const auto before = waits();
    {
        const Device device = machine.device();
        const auto kernel = machine.kernel("k()");
        machine.driver.break_device(0, CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(require_error(device.sync()).code == Errc::device_lost);
        CHECK(waits() == before + 1);
    }
    CHECK(waits() == before + 1);
    CHECK(warnings.size() == 1);
    CHECK(machine.driver.live_handles() == 0);
}
