// The command where no driver shows a device: it takes lode's software device, and says so.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr const char* said = "lode's software device runs kernels on the processor instead";

/// Nothing names a driver, and a real one would show no device.
Environment machine_without_gpu(const std::string& emulated = "sm_90") {
    ::unsetenv("LODE_DRIVER");
    return {{"CUDA_VISIBLE_DEVICES", ""}, {"LODE_EMULATOR_DEVICES", emulated}};
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("fallback: lode info and lode run take four software devices, each its own target") {
    const auto environment = machine_without_gpu("sm_75,sm_80,sm_90,sm_120");
    const auto info = lode::test::lode({"info", "--json"}, environment);
    CHECK(info.complains(said));
    CHECK(lines_of(info.err) == 1);
    const auto devices = info.json()["devices"];
    REQUIRE(devices.size() == 4);
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const char* const targets[] = {"sm_75", "sm_80", "sm_90", "sm_120"};
    for (int i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(devices[i]["target"] == targets[i]);
        CHECK(devices[i]["name"] == std::string("lode emulator (CPU) ") + targets[i]);
        const auto run = lode::test::lode(
            {"run", file, "saxpy", "--device", std::to_string(i), "--cover", "1000", "--json", "--",
             "2f", "f32[1000]:iota", "f32[1000]:ones", "1000"},
            environment);
        CHECK(run.complains(said));
        REQUIRE_MESSAGE(run.exit_code == 0, run.err);
        CHECK(run.json()["arguments"][2]["sum"] == 1000000.0);
    }
}

TEST_CASE("fallback: a driver that is named is obeyed") {
    Environment environment = machine_without_gpu();
    environment["LODE_DRIVER"] = "/nonexistent/libcuda.so.1";
    const auto missing = lode::test::lode({"variants", "scan"}, environment);
    CHECK(missing.exit_code == 1);
    CHECK_FALSE(missing.complains(said));
    environment["LODE_DRIVER"] = "emulator";
    const auto named = lode::test::lode({"variants", "scan"}, environment);
    CHECK(named.exit_code == 0);
    CHECK(named.err.empty());
}
