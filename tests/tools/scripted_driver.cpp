// A driver library for the command's tests: exports the one symbol that a driver library must have,
// backed by the scripted driver of tests/support, with a saxpy that computes.
#include "tests/support/fake_driver.hpp"

#include <algorithm>

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

FakeDriver& driver() {
    static FakeDriver instance;
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
