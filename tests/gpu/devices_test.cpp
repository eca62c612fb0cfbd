// The properties of a real device, and two devices together.
#include "tests/gpu/support.hpp"

#include <algorithm>

using namespace lode;
using namespace lode::test;

TEST_CASE("devices: properties are plausible and agree with each other") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto& properties = device.properties();
    std::printf("device 0: %s, sm_%d, driver for CUDA %s at %s\n", properties.name.c_str(),
                properties.cc.number(), machine()->driver().version_text().c_str(),
                machine()->driver().origin().c_str());
    CHECK_FALSE(properties.name.empty());
    CHECK(properties.cc >= ComputeCapability{5, 0});
    CHECK(properties.warp_size == 32);
    CHECK(properties.max_threads_per_block == 1024);
    CHECK(properties.max_block == Dim3{1024, 1024, 64});
    CHECK(properties.max_grid == Dim3{2147483647, 65535, 65535});
    CHECK(properties.multiprocessors > 0);
    CHECK(properties.shared_bytes_per_block == 48 * 1024);
    CHECK(properties.shared_bytes_per_block_optin >= properties.shared_bytes_per_block);
    CHECK(properties.shared_bytes_per_multiprocessor >= properties.shared_bytes_per_block_optin);
    CHECK(properties.registers_per_block == 65536);
    CHECK(properties.compute_mode != ComputeMode::prohibited);
    CHECK(std::ranges::any_of(properties.uuid, [](auto byte) { return byte != 0; }));
    CHECK(properties.pci_id.size() == std::string("0000:00:00.0").size());
    CHECK(device.theoretical_bandwidth() > 1e10);
    const auto memory = require(device.memory_info());
    CHECK(memory.total_bytes <= properties.total_memory_bytes);
    CHECK(memory.free_bytes <= memory.total_bytes);
}

TEST_CASE("devices: an error quotes what the driver's log says about the call") {
    LODE_NEEDS_DEVICE(device, 0);
    constexpr int first_version = 12090;
    const Driver& driver = machine()->driver();
    LODE_NEEDS(driver.version() >= first_version, "the driver has no log");
    std::vector<std::string> lines;
    const auto hear = [](void* data, CUlogLevel, char* message, std::size_t length) {
        static_cast<std::vector<std::string>*>(data)->emplace_back(message, length);
    };
    CUlogsCallbackHandle handle = nullptr;
    REQUIRE(reinterpret_cast<PFN_cuLogsRegisterCallback_v12090>(require(driver.resolve(
                "cuLogsRegisterCallback", first_version)))(hear, &lines, &handle) == CUDA_SUCCESS);
    const auto buffer = require(device.alloc<unsigned char>(1));
    const auto far = require(DeviceSpan<unsigned char>::from_native(
        device, reinterpret_cast<NativeDevicePointer>(buffer.data()), std::size_t{1} << 40));
    const auto error = require_error(far.fill(1));
    CHECK(reinterpret_cast<PFN_cuLogsUnregisterCallback_v12090>(require(
              driver.resolve("cuLogsUnregisterCallback", first_version)))(handle) == CUDA_SUCCESS);
    MESSAGE(error.message);
    for (const auto& line : lines) {
        MESSAGE("the driver's log: ", line);
        if (contains(line, "Returning ")) continue;
        // Without the time and the thread in brackets.
        const auto begin = line.rfind("] ");
        CHECK_CONTAINS(error.message, line.substr(begin == std::string::npos ? 0 : begin + 2));
    }
}

TEST_CASE("devices: the error for too large an allocation gives the sizes") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto total = require(device.memory_info()).total_bytes;
    const auto error = require_error(device.alloc<char>(total * 2));
    CHECK(error.code == Errc::out_of_memory);
    CHECK_CONTAINS(error.message, std::to_string(total * 2));
    CHECK_CONTAINS(error.message, "of " + std::to_string(total) + " bytes");
    CHECK_FALSE(device.is_lost());
}

TEST_CASE("devices: a driver for CUDA 13.2 or newer has every optional entry point") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto& driver = machine()->driver();
    CHECK(driver.device_count() > device.ordinal());
    if (driver.version() >= 13020) CHECK(driver.missing_entry_points().empty());
}

TEST_CASE("devices: a copy between two devices has the right contents") {
    LODE_NEEDS_DEVICE(one, 0);
    LODE_NEEDS_DEVICE(two, 1);
    std::vector<int> values(1 << 20);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int>(i * 7);
    const auto here = require(one.upload(values));
    auto there = require(two.alloc<int>(values.size()));
    require(there.copy_from(here));
    CHECK(require(there.to_vector()) == values);
    for (const auto* device : {&one, &two}) {
        require(there.zero());
        const auto stream = require(device->create_stream());
        require(there.copy_from_async(stream, here));
        require(stream.sync());
        CHECK(require(there.to_vector()) == values);
    }
}

TEST_CASE("devices: each device has its own context, kernels and streams") {
    LODE_NEEDS_DEVICE(one, 0);
    LODE_NEEDS_DEVICE(two, 1);
    CHECK(require(one.primary_context()) != require(two.primary_context()));
    constexpr const char* source = "extern \"C\" __global__ void k(int* x) { *x = 1; }";
    const auto on_one = load<void(int*)>(one, source);
    const auto on_two = load<void(int*)>(two, source);
    const auto stream = require(two.create_stream());
    auto x = require(two.alloc<int>(1));
    require(on_two.launch(stream, LaunchShape{}, x));
    CHECK(require(x.to_vector())[0] == 1);
    const auto error = require_error(on_one.launch(stream, LaunchShape{}, x.data()));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "is loaded on device 0, but the stream belongs to device 1");

    // A stream of one device waits for an event of the other.
    const auto event = require(one.create_event());
    const auto first = require(one.create_stream());
    require(event.record(first));
    require(stream.ref().wait(event));
    require(stream.sync());
    CHECK(require_error(event.record(stream)).code == Errc::invalid_argument);
}
