#include "tests/unit/runtime/support.hpp"

#include <type_traits>

using namespace lode;
using namespace lode::test;

namespace {

using SaxpyLaunch = PreparedLaunch<void(float, const float*, float*, int)>;

/// saxpy, prepared with two buffers.
struct PreparedBench {
    explicit PreparedBench(FakeDriver::Options options = {}, RuntimeOptions runtime = {})
        : machine(std::move(options), std::move(runtime)),
          kernel(require(Kernel<void(float, const float*, float*, int)>::from_untyped(
              machine.kernel(saxpy_entry)))),
          stream(require(machine.device().create_stream())),
          x(require(machine.device().alloc<float>(4))),
          y(require(machine.device().alloc<float>(4))) {}

    [[nodiscard]] SaxpyLaunch prepare(const LaunchShape& shape) const {
        return require(kernel.prepare(stream, shape, 2, x, y, 4));
    }

    FakeMachine machine;
    Kernel<void(float, const float*, float*, int)> kernel;
    Stream stream;
    DeviceBuffer<float> x;
    DeviceBuffer<float> y;
};

}  // namespace

TEST_CASE("prepared launch: repeats the launch with the arguments of its creation") {
    const PreparedBench bench;
    const auto prepared = bench.prepare({.grid = {3}, .block = {128}, .dynamic_shared_bytes = 16});
    CHECK(bench.machine.driver.launches().empty());
    const auto before = bench.machine.driver.calls();
    require(prepared.launch());
    require(prepared.launch());
    CHECK(bench.machine.driver.calls() == before + 2);
    const auto& seen = bench.machine.driver.launches();
    REQUIRE(seen.size() == 2);
    CHECK(seen[1].symbol == "saxpy");
    CHECK(seen[1].grid == Dim3{3, 1, 1});
    CHECK(seen[1].block == Dim3{128, 1, 1});
    CHECK(seen[1].shared_bytes == 16);
    CHECK(seen[1].stream == bench.stream.native());
    CHECK(seen[1].attributes.empty());
    CHECK(seen[1].argument<float>(0) == 2);
    CHECK(seen[1].argument<const float*>(1) == bench.x.data());
    CHECK(seen[1].argument<float*>(2) == bench.y.data());
    CHECK(seen[1].argument<int>(3) == 4);
}

TEST_CASE("prepared launch: an argument is replaced for later launches") {
    const PreparedBench bench;
    auto prepared = bench.prepare({});
    require(prepared.set<0>(5));
    require(prepared.set<2>(bench.x));
    CHECK(prepared.get<0>() == 5.0F);
    require(prepared.launch());
    const auto& seen = bench.machine.driver.launches().back();
    CHECK(seen.argument<float>(0) == 5);
    CHECK(seen.argument<float*>(2) == bench.x.data());
    CHECK(seen.argument<int>(3) == 4);
}

TEST_CASE("prepared launch: a move keeps the arguments where the driver reads them") {
    const PreparedBench bench;
    SaxpyLaunch prepared = bench.prepare({});
    SaxpyLaunch moved(std::move(prepared));
    CHECK(moved);
    CHECK_FALSE(prepared);  // NOLINT(bugprone-use-after-move): moved-from objects are empty.
    SaxpyLaunch assigned;
    assigned = std::move(moved);
    require(assigned.launch());
    CHECK(bench.machine.driver.launches().back().argument<int>(3) == 4);
    static_assert(!std::is_copy_constructible_v<SaxpyLaunch>);
}

TEST_CASE("prepared launch: an empty one refuses every use") {
    SaxpyLaunch empty;
    CHECK_FALSE(empty);
    const auto error = require_error(empty.launch());
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "prepared launch is empty");
    CHECK(require_error(empty.set<0>(1.0F)).code == Errc::invalid_argument);
    const PreparedBench bench;
    const Kernel<void(int)> no_kernel;
    CHECK_CONTAINS(require_error(no_kernel.prepare(bench.stream, {}, 1)).message,
                   "kernel is empty");
    CHECK_CONTAINS(
        require_error(bench.kernel.prepare(Stream(), {}, 2, bench.x, bench.y, 4)).message,
        "stream is empty");
}

TEST_CASE("prepared launch: everything is checked when it is prepared") {
    const PreparedBench bench(FakeDriver::Options{.devices = {{.name = "A"}, {.name = "B"}}});
    const auto refuse = [&](const LaunchShape& shape) {
        return require_error(bench.kernel.prepare(bench.stream, shape, 2, bench.x, bench.y, 4));
    };
    CHECK_CONTAINS(refuse({.block = {2000}}).message, "Block extent x (2000) exceeds");
    CHECK_CONTAINS(refuse({.grid = {9}, .cluster = {4}}).message, "isn't a multiple");
    const auto foreign = require(bench.machine.device(1).alloc<float>(4));
    CHECK_CONTAINS(
        require_error(bench.kernel.prepare(bench.stream, {}, 2, foreign, bench.y, 4)).message,
        "is memory of device 1");
    const auto other_stream = require(bench.machine.device(1).create_stream());
    CHECK_CONTAINS(
        require_error(bench.kernel.prepare(other_stream, {}, 2, bench.x, bench.y, 4)).message,
        "the stream belongs to device 1");

    auto prepared = bench.prepare({.dynamic_shared_bytes = 100000});
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 1);
    CHECK_CONTAINS(require_error(prepared.set<1>(foreign)).message, "Argument 2 of kernel 'saxpy'");
    CHECK_CONTAINS(require_error(prepared.set<1>(DeviceBuffer<float>())).message, "argument 2");
    require(prepared.launch());
    CHECK(bench.machine.driver.launches().back().argument<const float*>(1) == bench.x.data());
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 1);
}

TEST_CASE("prepared launch: attributes are passed each time") {
    const PreparedBench bench;
    const auto prepared = [&] {
        const LaunchAttributes further{.shared_carveout_percent = 30};
        return bench.prepare({.priority = -2, .attributes = &further});
    }();
    for (int i = 0; i < 2; ++i) {
        require(prepared.launch());
        const auto& seen = bench.machine.driver.launches().back().attributes;
        REQUIRE(seen.size() == 2);
        CHECK(seen[0].value.priority == -2);
        CHECK(seen[1].value.sharedMemCarveout == 30);
    }
    CHECK(bench.machine.driver.calls("cuLaunchKernelEx") == 2);
}

TEST_CASE("prepared launch: the default stream uses the device's context") {
    const PreparedBench bench;
    const auto prepared = require(
        bench.kernel.prepare(bench.machine.device().default_stream(), {}, 2, bench.x, bench.y, 4));
    require(prepared.launch());
    CHECK(bench.machine.driver.launches().back().context_depth == 1);
    CHECK(bench.machine.driver.context_stack().empty());
}

TEST_CASE("prepared launch: failures name the launch, and a lost device stays lost") {
    PreparedBench bench;
    const auto prepared = bench.prepare({.grid = {2}});
    bench.machine.driver.fail_always("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK_CONTAINS(require_error(prepared.launch()).message,
                   "while launching 'saxpy' with grid (2, 1, 1) and block (1, 1, 1)");
    bench.machine.driver.fail_always("cuLaunchKernel", CUDA_SUCCESS);
    require(prepared.launch());
    bench.machine.driver.break_device(0, CUDA_ERROR_ILLEGAL_ADDRESS);
    const auto suspect = require_error(bench.stream.sync());
    CHECK_CONTAINS(suspect.message, "'saxpy' with grid (2, 1, 1)");
    const auto calls = bench.machine.driver.calls();
    CHECK(require_error(prepared.launch()).code == Errc::device_lost);
    CHECK(bench.machine.driver.calls() == calls);
}

TEST_CASE("prepared launch: it keeps its kernel and its device") {
    FakeMachine machine;
    {
        SaxpyLaunch prepared;
        const auto stream = require(machine.device().create_stream());
        {
            const auto kernel =
                require(Kernel<void(float, const float*, float*, int)>::from_untyped(
                    machine.kernel(saxpy_entry)));
            prepared = require(kernel.prepare(stream, {}, 2, nullptr, nullptr, 4));
        }
        require(prepared.launch());
    }
    CHECK(machine.driver.live_handles() == 0);
}
