#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/choose_device.hpp>
#include <lode/runtime/device_printf.hpp>
#include <lode/runtime/runtime.hpp>

#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>

using namespace lode;
using namespace lode::emulator_test;
using lode::test::require_error;

namespace {

constexpr const char* every_architecture =
    "sm_75,sm_80,sm_86,sm_87,sm_88,sm_89,sm_90,sm_100,sm_103,sm_107,sm_110,sm_120,sm_121";

Runtime open(const char* devices) {
    setenv("LODE_EMULATOR_DEVICES", devices, 1);
    reset();
    return require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
}

const Source saxpy_source = Source::text(R"(
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void unguarded(float* y) {
    const int i = threadIdx.x;
    y[i] = 1.0f;
}
)",
                                         "emulated.cu");

/// Computes 2x + y on the device for x = 0, 1, 2, … and y = 1, and compares with the host.
void check_saxpy(const Device& device) {
    constexpr int n = 1000;
    const auto saxpy =
        require(device.load<void(float, const float*, float*, int)>(saxpy_source, "saxpy"));
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.0F);
    const auto x = require(device.upload(values));
    auto y = require(device.alloc<float>(n));
    require(y.fill(1.0F));
    const auto stream = require(device.create_stream());
    require(saxpy.launch(stream, cover(n, 256), 2.0F, x, y, n));
    require(stream.sync());
    const auto result = require(y.to_vector());
    bool right = true;
    for (int i = 0; i < n; ++i)
        right = right && result[i] == 2.0F * static_cast<float>(i) + 1.0F;
    CHECK(right);
}

}  // namespace

TEST_CASE("emulated runtime: saxpy is correct on every architecture in one machine") {
    {
        const Runtime runtime = open(every_architecture);
        REQUIRE(runtime.device_count() == 13);
        for (int ordinal = 0; ordinal < runtime.device_count(); ++ordinal) {
            const Device device = require(runtime.device(ordinal));
            CAPTURE(device.name());
            check_saxpy(device);
        }
    }
    for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
        CAPTURE(kind);
        CHECK(live(kind) == 0);
    }
}

TEST_CASE("emulated runtime: an access out of bounds names kernel, source line and distance") {
    const Runtime runtime = open("sm_90");
    const Device device = require(runtime.device(0));
    const auto unguarded = require(device.load<void(float*)>(saxpy_source, "unguarded"));
    const auto y = require(device.alloc<float>(100));
    const auto stream = require(device.create_stream());
    require(unguarded.launch(stream, LaunchShape{.grid = {1, 1, 1}, .block = {128, 1, 1}}, y));
    const auto synced = stream.sync();
    REQUIRE(!synced);
    CHECK(synced.error().code == Errc::device_lost);
    CHECK(synced.error().native.name == "CUDA_ERROR_ILLEGAL_ADDRESS");
    const std::string& message = synced.error().message;
    CAPTURE(message);
    CHECK(message.find("unguarded") != std::string::npos);
    CHECK(message.find("emulated.cu:8") != std::string::npos);
    CHECK(message.find("400") != std::string::npos);
    CHECK(device.is_lost());
}

TEST_CASE("emulated runtime: devices work side by side") {
    const Runtime runtime = open("sm_80,sm_90");
    const Device first = require(runtime.device(0));
    const Device second = require(runtime.device(1));
    const std::vector<int> values{1, 2, 3};
    const auto here = require(first.upload(values));
    auto there = require(second.alloc<int>(values.size()));
    require(there.copy_from(here));
    CHECK(require(there.to_vector()) == values);
    check_saxpy(first);
    check_saxpy(second);
}

TEST_CASE("emulated runtime: a kernel on several devices is compiled once for each target") {
    setenv("LODE_EMULATOR_DEVICES", "sm_80,sm_90,sm_80,sm_90,sm_80", 1);
    reset();
    const Runtime runtime =
        require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY},
                               .cache = CacheOptions{.mode = CacheMode::off, .memory_bytes = 0}}));
    const auto devices = require(runtime.devices());
    REQUIRE(devices.size() == 5);
    const auto kernels = require(load_on(devices, saxpy_source, "saxpy"));
    REQUIRE(kernels.size() == 5);
    CHECK(runtime.compiler().counters().compilations == 2);
    CHECK(live(LODE_EMULATOR_LIBRARIES) == 5);
    for (std::size_t i = 0; i < devices.size(); ++i)
        CHECK(kernels[i].attributes().ptx_version == devices[i].cc().number());

    const auto missing = load_on(devices, saxpy_source, "absent");
    REQUIRE_FALSE(missing);
    CHECK(load_on({}, saxpy_source, "saxpy").value().empty());
}

TEST_CASE("emulated runtime: a function receives what kernels print") {
    const Runtime runtime = open("sm_90");
    const Device device = require(runtime.device(0));
    const auto hello = require(device.load<void(int)>(Source::text(R"(
extern "C" __global__ void hello(int x) { printf("thread %d prints %d\n", int(threadIdx.x), x); }
)",
                                                                   "print.cu"),
                                                      "hello"));
    const auto stream = require(device.create_stream());
    std::string text;
    const auto receive = [&](std::string_view part) { text += part; };
    {
        const auto printed = require(DevicePrintf::capture(runtime.driver(), receive));
        require(hello.launch(stream, LaunchShape{.grid = {1}, .block = {2}}, 7));
        require(stream.sync());
        CHECK(text == "thread 0 prints 7\nthread 1 prints 7\n");

        auto later = require(DevicePrintf::capture(
            runtime.driver(), [](std::string_view) { throw std::runtime_error("ignored"); }));
        const auto moved = std::move(later);
        require(hello.launch(stream, LaunchShape{.grid = {1}, .block = {1}}, 8));
        require(stream.sync());
    }
    CHECK(text == "thread 0 prints 7\nthread 1 prints 7\n");
    CHECK(DevicePrintf::capture(runtime.driver(), {}).error().code == Errc::invalid_argument);
}

TEST_CASE("emulator runtime: Tile IR is refused with a sentence") {
    const auto runtime = open("sm_90");
    Image image;
    image.name = "tile.cu";
    image.arch = *Arch::parse("sm_90");
    image.tile_ir.assign(16, std::byte{0x7f});
    const auto error = require_error(require(runtime.device(0)).load(image));
    CHECK(error.code == Errc::not_supported);
    CHECK(error.message ==
          "Image 'tile.cu' has only Tile IR, which the software device doesn't run; it runs PTX.");
}
