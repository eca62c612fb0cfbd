// The same calls, valid and invalid, to the GPU's driver and to the software device's return the
// same codes.
#include "tests/gpu/driver_world.hpp"

#include <lode/lode.hpp>

#include <cstdlib>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using lode::test::DriverWorld;

namespace {

std::string name_of(const DriverWorld& world, CUresult result) {
    const char* name = nullptr;
    world.t.cuGetErrorName(result, &name);
    return name != nullptr ? name : fmt::format("code {}", static_cast<int>(result));
}

}  // namespace

TEST_CASE(
    "driver codes: the software device returns the same code as the GPU's driver for every call") {
    ::setenv("LODE_DRIVER", "libcuda.so.1", 0);
    const auto real = Driver::open();
    if (!real || real->device_count() == 0) {
        MESSAGE("skipped: " << (real ? "no device" : real.error().message));
        return;
    }
    const auto emulated = Driver::open({.emulator = true});
    if (!emulated) FAIL(emulated.error().describe());
    DriverWorld gpu(*real);
    DriverWorld software(*emulated);
    const auto calls = test::driver_calls();
    std::set<std::string_view> entry_points;
    std::size_t alike = 0;
    std::size_t refused = 0;
    for (const auto& call : calls) {
        INFO(call.entry_point, ": ", call.what);
        entry_points.insert(call.entry_point);
        const CUresult there = call.run(gpu);
        const CUresult here = call.run(software);
        if (call.refused) {
            CHECK(there == CUDA_SUCCESS);
            CHECK(here == CUDA_ERROR_NOT_SUPPORTED);
            ++refused;
            continue;
        }
        CHECK_MESSAGE(there == here, "the GPU's driver answers ", name_of(gpu, there),
                      ", the software device ", name_of(software, here));
        alike += there == here ? 1 : 0;
    }
    MESSAGE(alike << " of " << calls.size() << " calls of " << entry_points.size()
                  << " entry points have the same code; the software device refuses " << refused);
}
