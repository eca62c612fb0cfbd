#include "tests/unit/runtime/support.hpp"

#include <cstdlib>

using namespace lode;
using namespace lode::test;

TEST_CASE("device: properties come from the driver's attributes") {
    FakeMachine machine({.devices = {{.name = "Fake H200", .memory_bytes = 1 << 20}}});
    const Device device = machine.device();
    const auto& properties = device.properties();
    CHECK(properties.ordinal == 0);
    CHECK(properties.name == "Fake H200");
    CHECK(properties.cc == ComputeCapability{9, 0});
    CHECK(properties.pci_id == "0000:3b:00.0");
    CHECK(properties.uuid_text() == "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
    CHECK(properties.compute_mode == ComputeMode::shared);
    CHECK(properties.total_memory_bytes == 1 << 20);
    CHECK(properties.multiprocessors == 4);
    CHECK(properties.l2_bytes == 52428800);
    CHECK(properties.ecc);
    CHECK_FALSE(properties.integrated);
    CHECK(properties.cluster_launch);
    CHECK(properties.max_block == Dim3{1024, 1024, 64});
    CHECK(properties.max_grid == Dim3{2147483647, 65535, 65535});
    CHECK(properties.registers_per_block == 65536);
    CHECK(properties.shared_bytes_per_block == 49152);
    CHECK(properties.shared_bytes_per_block_optin == 232448);
    CHECK(properties.reserved_shared_bytes_per_block == 1024);
}

TEST_CASE("device: the bandwidth formula gives the guide's number") {
    CHECK(theoretical_bandwidth(1850000, 384) == doctest::Approx(177.6e9));
    CHECK(theoretical_bandwidth(0, 384) == 0);
    FakeMachine machine;
    CHECK(machine.device().theoretical_bandwidth() == doctest::Approx(2619e6 * 640 * 2));
}

TEST_CASE("device: each ordinal has one shared device, and an ordinal out of range is refused") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    CHECK(machine.device(1).state() == machine.device(1).state());
    CHECK(machine.device(0).state() != machine.device(1).state());
    for (const int ordinal : {-1, 2}) {
        const auto error = require_error(machine.runtime.device(ordinal));
        CHECK(error.code == Errc::not_found);
        CHECK_CONTAINS(error.message, "Device " + std::to_string(ordinal) + " doesn't exist");
        CHECK_CONTAINS(error.message, "devices 0 to 1");
    }
}

TEST_CASE("device: compute mode 'prohibited' is reported without calling the driver") {
    FakeMachine machine({.devices = {{.name = "Shut",
                                      .attributes = {{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE,
                                                      CU_COMPUTEMODE_PROHIBITED}}},
                                     {.name = "Open"}}});
    const auto error = require_error(machine.runtime.device(0));
    CHECK(error.code == Errc::device_unavailable);
    CHECK_CONTAINS(error.message, "Device 0 (Shut) is in compute mode 'prohibited'");
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 0);
    const auto usable = require(machine.runtime.devices());
    REQUIRE(usable.size() == 1);
    CHECK(usable[0].name() == "Open");
}

TEST_CASE("device: a context that can't be retained names the device") {
    FakeMachine machine;
    machine.driver.fail_always("cuDevicePrimaryCtxRetain", CUDA_ERROR_DEVICE_UNAVAILABLE);
    const auto error = require_error(machine.device().memory_info());
    CHECK(error.code == Errc::device_unavailable);
    CHECK_CONTAINS(error.message,
                   "retaining the primary context of device 0 (Fake H1, compute capability 9.0)");
    // The failure isn't remembered: the next call tries again.
    machine.driver.fail_always("cuDevicePrimaryCtxRetain", CUDA_SUCCESS);
    CHECK(machine.device().memory_info());
}

TEST_CASE("device: an allocation that doesn't fit says what was asked for and what is free") {
    FakeMachine machine({.devices = {{.memory_bytes = 4096}}});
    const Device device = machine.device();
    const auto half = require(device.alloc<char>(1024));
    const auto error = require_error(device.alloc<double>(1024));
    CHECK(error.code == Errc::out_of_memory);
    CHECK_CONTAINS(error.message, "An allocation of 8192 bytes exceeds the free memory");
    CHECK_CONTAINS(error.message, "(3072 of 4096 bytes)");
    const auto absurd = require_error(device.alloc<double>(std::size_t{1} << 61));
    CHECK(absurd.code == Errc::out_of_memory);
    CHECK_CONTAINS(absurd.message, "exceed the address space");
}

TEST_CASE("device: adopts a stream of its own context only, once for each") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const Device a = machine.device(0);
    const Device b = machine.device(1);
    auto owner = require(a.create_stream());
    const NativeStream native = std::move(owner).release();
    const auto view = require(a.adopt(native));
    CHECK(view.native() == native);
    CHECK(&require(a.adopt(native)).state() == &view.state());
    CHECK(require_error(b.adopt(native)).code == Errc::invalid_argument);
    CHECK_CONTAINS(require_error(a.adopt(nullptr)).message, "default_stream()");
}

TEST_CASE("device: stream options reach the driver, priorities are clamped") {
    FakeMachine machine;
    const Device device = machine.device();
    CHECK(device.create_stream({.blocking = true, .priority = -100}));
    CHECK(device.create_stream({.priority = 100}));
    machine.driver.fail_always("cuCtxGetStreamPriorityRange", CUDA_ERROR_NOT_SUPPORTED);
    CHECK(require_error(device.create_stream()).code == Errc::not_supported);
}

TEST_CASE("device: LODE_SYNC_LAUNCHES waits after every launch and blames the right one") {
    ::setenv("LODE_SYNC_LAUNCHES", "1", 1);
    FakeMachine machine;
    ::unsetenv("LODE_SYNC_LAUNCHES");
    const auto kernel = machine.kernel("k()");
    const auto stream = require(machine.device().create_stream());
    const auto waits = machine.driver.calls("cuStreamSynchronize");
    require(kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
    CHECK(machine.driver.calls("cuStreamSynchronize") == waits + 1);

    machine.driver.set_capturing(stream.native(), true);  // Waiting would invalidate the capture.
    require(kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
    CHECK(machine.driver.calls("cuStreamSynchronize") == waits + 1);
    machine.driver.set_capturing(stream.native(), false);

    machine.driver.on_launch = [&](const FakeLaunch&) {
        machine.driver.break_device(0, CUDA_ERROR_ILLEGAL_ADDRESS);
    };
    const auto error = require_error(kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
    CHECK(error.code == Errc::device_lost);
    CHECK_CONTAINS(error.message, "launching 'k' with grid (1, 1, 1)");
}
