// A driver library for the command's tests: exports the one symbol that a driver library must have,
// backed by the scripted driver of tests/support, with a saxpy that computes.
#include "tests/support/fake_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <cuda.h>

namespace {

using lode::test::FakeDriver;
using lode::test::FakeLaunch;

/// saxpy: y[i] = a·x[i] + y[i]. The scripted driver's device memory is host memory.
void saxpy(const FakeLaunch& launch) {
    const auto a = launch.argument<float>(0);
    const auto* x = launch.argument<const float*>(1);
    auto* y = launch.argument<float*>(2);
    const auto n = static_cast<std::uint64_t>(launch.argument<int>(3));
    const std::uint64_t threads = launch.grid.volume() * launch.block.volume();
    for (std::uint64_t i = 0; i < std::min(n, threads); ++i)
        y[i] = a * x[i] + y[i];
}

/// A number from a test's variable.
std::optional<int> number_from(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

/// Usually one device of 9.0; another machine if a test's variables say so.
FakeDriver::Options options() {
    FakeDriver::Options options;
    options.version = number_from("LODE_TEST_DRIVER_VERSION").value_or(options.version);
    options.devices.resize(static_cast<std::size_t>(number_from("LODE_TEST_DEVICES").value_or(1)));
    for (auto& device : options.devices) {
        if (const auto mode = number_from("LODE_TEST_COMPUTE_MODE"))
            device.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = *mode;
        if (const auto major = number_from("LODE_TEST_CAPABILITY_MAJOR")) device.cc = {*major, 0};
    }
    return options;
}

FakeDriver& driver() {
    static FakeDriver instance(options());
    if (!instance.on_launch) {
        instance.on_launch = [](const FakeLaunch& launch) {
            if (launch.symbol == "saxpy") saxpy(launch);
        };
    }
    return instance;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI
cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t /*flags*/,
                 CUdriverProcAddressQueryResult* /*status*/) {
    *function = driver().resolver()(symbol, version);
    return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
