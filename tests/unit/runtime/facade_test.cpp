#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

TEST_CASE("runtime: a kernel from PTX runs with typed arguments") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto saxpy = require(device.load<void(float, const float*, float*, int)>(
        Source::ptx(ptx_of({saxpy_entry})), "saxpy"));
    machine.driver.on_launch = [](const FakeLaunch& launch) {
        const auto a = launch.argument<float>(0);
        const auto* x = launch.argument<const float*>(1);
        auto* y = launch.argument<float*>(2);
        for (int i = 0; i < launch.argument<int>(3); ++i)
            y[i] = a * x[i] + y[i];
    };

    const auto x = require(device.upload(std::vector<float>{1, 2, 3}));
    const auto y = require(device.upload(std::vector<float>{10, 20, 30}));
    const auto stream = require(device.create_stream());
    require(saxpy.launch(stream, cover(x.size(), 2), 2.0F, x, y, 3));
    CHECK(require(y.to_vector()) == std::vector<float>{12, 24, 36});

    const auto launches = machine.driver.launches();
    REQUIRE(launches.size() == 1);
    CHECK(launches[0].grid == Dim3{2, 1, 1});
    CHECK(launches[0].block == Dim3{2, 1, 1});
    CHECK(launches[0].stream == stream.native());
    CHECK(launches[0].context_depth == 0);  // A launch on a stream needs no current context.
}

TEST_CASE("runtime: PTX needs no compiler, and a missing file is reported as such") {
    FakeMachine machine({}, {.compiler = {.nvrtc = "/nowhere"}});
    const Device device = machine.device();
    const auto kernel = require(device.load(Source::ptx(ptx_of({"_Z4fillPf(.param .u64 x)"})),
                                            "fill", {.suffix = SuffixPolicy::specific}));
    CHECK(kernel.symbol() == "_Z4fillPf");
    const auto missing = require_error(device.load(Source::file("/nowhere/x.ptx"), "fill"));
    CHECK(missing.code == Errc::not_found);
    CHECK_CONTAINS(missing.message, "/nowhere/x.ptx");
    const auto cuda = require_error(device.load(Source::text("__global__ void k() {}"), "k"));
    CHECK(cuda.code == Errc::compiler_missing);
}
