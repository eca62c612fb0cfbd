#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

/// A typed kernel "k" without parameters.
struct OccupancyBench {
    explicit OccupancyBench(FakeKernelProperties properties = {}, FakeDevice device = {})
        : machine(FakeDriver::Options{.devices = {std::move(device)}}) {
        machine.driver.kernel_properties["k"] = properties;
        kernel = require(Kernel<void()>::from_untyped(machine.kernel("k()")));
    }
    FakeMachine machine;
    Kernel<void()> kernel;
};

}  // namespace

TEST_CASE("kernel occupancy: clusters are asked of the driver, with the launch's attributes") {
    const OccupancyBench bench;
    CHECK(require(max_active_clusters(bench.kernel, {.grid = {4}, .cluster = {2}})) == 2);
    CHECK(require(max_active_clusters(bench.kernel, {.grid = {4}})) == 8);
    CHECK(bench.machine.driver.context_stack().empty());
    CHECK_FALSE(max_active_clusters(bench.kernel, {.grid = {3}, .cluster = {2}}));
    CHECK_FALSE(max_active_clusters(bench.kernel, {.block = {2000}}));

    CHECK(require(max_cluster_size(bench.kernel, {})) == 8);
    const LaunchAttributes large{.non_portable_cluster = true};
    CHECK(require(max_cluster_size(bench.kernel, {.attributes = &large})) == 16);

    const OccupancyBench without({}, {.attributes = {{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0}}});
    CHECK(require_error(max_cluster_size(without.kernel, {})).code == Errc::not_supported);
}

TEST_CASE("kernel occupancy: the shared memory that leaves room for a number of blocks") {
    const OccupancyBench bench(FakeKernelProperties{.blocks_per_multiprocessor = 4});
    CHECK(require(available_dynamic_shared(bench.kernel, 4, 128)) == 50 * 1024);
    const auto error = require_error(available_dynamic_shared(bench.kernel, 5, 128));
    CHECK(error.code == Errc::out_of_resources);
    CHECK_CONTAINS(
        error.message,
        "Blocks of 128 threads per multiprocessor (5) exceeds 4, the limit of kernel 'k' "
        "on device 0");
    CHECK(require_error(available_dynamic_shared(bench.kernel, 0, 128)).code ==
          Errc::invalid_argument);
    CHECK_FALSE(available_dynamic_shared(bench.kernel, 1, 0));
    // Never more than the kernel can use.
    const OccupancyBench fixed(
        FakeKernelProperties{.static_shared_bytes = 200000, .blocks_per_multiprocessor = 1});
    CHECK(require(available_dynamic_shared(fixed.kernel, 1, 128)) == 32448);
}

TEST_CASE("kernel occupancy: a shape is suggested for a number of elements") {
    // The fake fits as many blocks of any size, so the largest keeps most threads resident.
    const OccupancyBench bench(FakeKernelProperties{.max_threads = 512});
    const auto shape = require(suggest_launch(bench.kernel, 1000));
    CHECK(shape.block == Dim3{512, 1, 1});
    CHECK(shape.grid == Dim3{2, 1, 1});
    // Only blocks of up to 256 threads have room for their shared memory.
    const auto tiled = require(suggest_launch(
        bench.kernel, 1000, [](std::uint32_t threads) { return std::size_t{threads} * 900; }));
    CHECK(tiled.block == Dim3{256, 1, 1});
    CHECK(tiled.dynamic_shared_bytes == 256 * 900);
    CHECK(require_error(suggest_launch(bench.kernel, 1000, std::size_t{1} << 30)).code ==
          Errc::out_of_resources);
    const OccupancyBench narrow(FakeKernelProperties{.max_threads = 16});
    CHECK(require(suggest_launch(narrow.kernel, 32)).block == Dim3{16, 1, 1});
}

TEST_CASE("kernel occupancy: a typed kernel forwards, and an empty one refuses") {
    const OccupancyBench bench;
    CHECK(bench.kernel.native() == bench.kernel.untyped().native());
    CHECK(require(bench.kernel.occupancy(128)).blocks_per_multiprocessor == 2);
    CHECK(require(bench.kernel.suggest_block_size()) == 1024);
    CHECK(bench.kernel.preload());
    const Kernel<void()> empty;
    CHECK_FALSE(max_active_clusters(empty, {}));
    CHECK_FALSE(max_cluster_size(empty, {}));
    CHECK_FALSE(available_dynamic_shared(empty, 1, 1));
    CHECK_FALSE(suggest_launch(empty, 1));
    CHECK_FALSE(empty.preload());
}
