#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

/// A kernel "k" without parameters, its stream, and helpers that try one shape.
struct Bench {
    explicit Bench(FakeKernelProperties properties = {}, FakeDevice device = {})
        : machine(FakeDriver::Options{.devices = {std::move(device)}}) {
        machine.driver.kernel_properties["k"] = properties;
        kernel.emplace(machine.kernel("k()"));
        stream.emplace(require(machine.device().create_stream()));
    }

    [[nodiscard]] Status launch(const LaunchShape& shape) const {
        return kernel->launch(*stream, shape, std::span<void*>{});
    }
    /// Checks that the shape is refused before any driver call and that the message contains a
    /// part.
    void refuses(const LaunchShape& shape, Errc code, std::string_view part) const {
        const auto before = machine.driver.launches().size();
        const auto error = require_error(launch(shape));
        CHECK(error.code == code);
        CHECK_CONTAINS(error.message, part);
        CHECK_CONTAINS(error.message, "while launching 'k' with grid ");
        CHECK(machine.driver.launches().size() == before);
    }

    FakeMachine machine;
    std::optional<UntypedKernel> kernel;
    std::optional<Stream> stream;
};

constexpr std::string_view device_text = "device 0 (Fake H1, compute capability 9.0)";

}  // namespace

TEST_CASE("launch: the largest shape that fits is launched as it is") {
    const Bench bench;
    require(bench.launch({.grid = {2147483647, 65535, 65535}, .block = {1024, 1, 1}}));
    require(bench.launch({.grid = {1, 1, 1}, .block = {4, 4, 64}}));
    const auto launches = bench.machine.driver.launches();
    REQUIRE(launches.size() == 2);
    CHECK(launches[0].grid == Dim3{2147483647, 65535, 65535});
    CHECK(launches[1].block == Dim3{4, 4, 64});
}

TEST_CASE("launch: an extent of zero is named") {
    const Bench bench;
    bench.refuses({.grid = {1, 0, 1}}, Errc::invalid_argument, "Grid (1, 0, 1) has an extent of 0");
    bench.refuses({.block = {32, 1, 0}}, Errc::invalid_argument,
                  "Block (32, 1, 0) has an extent of 0");
}

TEST_CASE("launch: a block extent over the device's limit is named") {
    const Bench bench;
    bench.refuses({.block = {1, 2000, 1}}, Errc::out_of_resources,
                  "Block extent y (2000) exceeds 1024, the limit of device 0 (Fake H1, compute "
                  "capability 9.0).");
    bench.refuses({.block = {1, 1, 65}}, Errc::out_of_resources, "Block extent z (65)");
}

TEST_CASE("launch: a grid extent over the device's limit is named") {
    const Bench bench;
    bench.refuses({.grid = {2147483648U, 1, 1}}, Errc::out_of_resources,
                  "Grid extent x (2147483648) exceeds 2147483647, the limit of");
    bench.refuses({.grid = {1, 65536, 1}}, Errc::out_of_resources, "Grid extent y (65536)");
    bench.refuses({.grid = {1, 1, 65536}}, Errc::out_of_resources, "Grid extent z (65536)");
}

TEST_CASE(
    "launch: threads per block are checked against the device, the registers and the bounds") {
    const Bench plain;
    plain.refuses({.block = {1024, 2, 1}}, Errc::out_of_resources,
                  "Threads per block (2048) exceeds 1024, the limit of device 0 (Fake H1, compute "
                  "capability 9.0).");
    // A product that wraps around 32 bits is refused as well.
    plain.refuses({.block = {1024, 1024, 64}}, Errc::out_of_resources, "(67108864)");

    const Bench hungry(FakeKernelProperties{.registers = 255, .max_threads = 256});
    hungry.refuses({.block = {512}}, Errc::out_of_resources,
                   "Threads per block (512) exceeds 256, the limit of kernel 'k', which its 255 "
                   "registers per thread and the device's 65536 per block leave.");
    const Bench bounded(FakeKernelProperties{.registers = 32, .max_threads = 128});
    bounded.refuses({.block = {129}}, Errc::out_of_resources,
                    "exceeds 128, the limit of kernel 'k', which its __launch_bounds__ set.");
    CHECK(bounded.launch({.block = {128}}));
}

TEST_CASE("launch: shared memory past 48 KB opts in automatically, once for each new maximum") {
    const Bench bench;
    const auto& fake = bench.machine.driver;
    CHECK(bench.launch({.dynamic_shared_bytes = 49152}));
    CHECK(fake.calls("cuKernelSetAttribute") == 0);
    CHECK(bench.launch({.dynamic_shared_bytes = 100000}));
    CHECK(fake.calls("cuKernelSetAttribute") == 1);
    CHECK(fake.attribute("k", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == 100000);
    CHECK(bench.launch({.dynamic_shared_bytes = 90000}));
    CHECK(bench.launch({.dynamic_shared_bytes = 100000}));
    CHECK(fake.calls("cuKernelSetAttribute") == 1);
    CHECK(bench.launch({.dynamic_shared_bytes = 232448}));
    CHECK(fake.calls("cuKernelSetAttribute") == 2);
    CHECK(fake.launches().back().shared_bytes == 232448);
    bench.refuses(
        {.dynamic_shared_bytes = 232449}, Errc::out_of_resources,
        "Shared memory per block (232449) exceeds 232448, the limit of device 0 (Fake H1, "
        "compute capability 9.0).");
}

TEST_CASE("launch: static shared memory counts") {
    const Bench bench(FakeKernelProperties{.static_shared_bytes = 40000});
    CHECK(bench.kernel->attributes().max_dynamic_shared_bytes == 192448);
    CHECK(bench.launch({.dynamic_shared_bytes = 9152}));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 0);
    CHECK(bench.launch({.dynamic_shared_bytes = 9153}));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 1);
    bench.refuses(
        {.dynamic_shared_bytes = 192449}, Errc::out_of_resources,
        "Shared memory per block (232449) exceeds 232448, the limit of device 0 (Fake H1, "
        "compute capability 9.0), with 192449 dynamic and 40000 static bytes.");
}

TEST_CASE("launch: a failed opt-in is reported and not remembered") {
    Bench bench;
    bench.machine.driver.fail_always("cuKernelSetAttribute", CUDA_ERROR_INVALID_VALUE);
    const auto error = require_error(bench.launch({.dynamic_shared_bytes = 60000}));
    CHECK_CONTAINS(error.message, "cuKernelSetAttribute fails");
    bench.machine.driver.fail_always("cuKernelSetAttribute", CUDA_SUCCESS);
    CHECK(bench.launch({.dynamic_shared_bytes = 60000}));
}

TEST_CASE("launch: a cooperative grid must be resident at once") {
    const Bench bench(FakeKernelProperties{.blocks_per_multiprocessor = 3});
    CHECK(bench.launch({.grid = {12}, .block = {64}, .cooperative = true}));
    const auto& seen = bench.machine.driver.launches().back();
    REQUIRE(seen.attributes.size() == 1);
    CHECK(seen.attributes[0].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    CHECK(seen.attributes[0].value.cooperative == 1);
    bench.refuses({.grid = {13}, .block = {64}, .cooperative = true}, Errc::out_of_resources,
                  "Blocks of a cooperative grid (13) exceeds 12, the limit of device 0 (Fake H1, "
                  "compute capability 9.0), 3 resident on each of 4 multiprocessors.");
    // The driver isn't asked the same question twice.
    CHECK(bench.machine.driver.calls("cuOccupancyMaxActiveBlocksPerMultiprocessor") == 1);

    const Bench without({}, {.attributes = {{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0}}});
    without.refuses({.cooperative = true}, Errc::not_supported,
                    "A cooperative launch isn't supported by " + std::string(device_text));
}

TEST_CASE("launch: clusters need a device with clusters, a fitting grid and at most 8 blocks") {
    const Bench bench;
    CHECK(bench.launch({.grid = {8, 2}, .cluster = {4, 2}}));
    const auto& seen = bench.machine.driver.launches().back();
    REQUIRE(seen.attributes.size() == 1);
    CHECK(seen.attributes[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    CHECK(seen.attributes[0].value.clusterDim.x == 4);
    CHECK(seen.attributes[0].value.clusterDim.y == 2);
    CHECK(seen.attributes[0].value.clusterDim.z == 1);
    bench.refuses({.grid = {9}, .cluster = {4}}, Errc::invalid_argument,
                  "Grid (9, 1, 1) isn't a multiple of the cluster (4, 1, 1)");
    bench.refuses({.grid = {9}, .cluster = {0}}, Errc::invalid_argument, "cluster (0, 1, 1)");
    bench.refuses({.grid = {16}, .cluster = {16}}, Errc::out_of_resources,
                  "Blocks per cluster (16) exceeds");
}

TEST_CASE("launch: older devices have no clusters and no programmatic launches") {
    FakeMachine machine({.devices = {{.name = "Old",
                                      .cc = {8, 6},
                                      .attributes = {{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0}}}}});
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"k()"}, true, 80)));
    const auto kernel = require(library.kernel<void()>("k"));
    const auto stream = require(device.create_stream());
    const auto cluster = require_error(kernel.launch(stream, {.grid = {2}, .cluster = {2}}));
    CHECK(cluster.code == Errc::not_supported);
    CHECK_CONTAINS(cluster.message,
                   "A cluster (2, 1, 1) needs compute capability 9.0; this is "
                   "device 0 (Old, compute capability 8.6).");
    const auto programmatic =
        require_error(kernel.launch(stream, {.programmatic_serialization = true}));
    CHECK(programmatic.code == Errc::not_supported);
    CHECK_CONTAINS(programmatic.message, "Programmatic dependent launch needs");
}

TEST_CASE("launch: attributes are passed together") {
    const Bench bench;
    CHECK(bench.launch({.grid = {2},
                        .dynamic_shared_bytes = 64,
                        .programmatic_serialization = true,
                        .priority = -3}));
    const auto& seen = bench.machine.driver.launches().back();
    CHECK(seen.shared_bytes == 64);
    CHECK(seen.grid == Dim3{2, 1, 1});
    REQUIRE(seen.attributes.size() == 2);
    CHECK(seen.attributes[0].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    CHECK(seen.attributes[0].value.programmaticStreamSerializationAllowed == 1);
    CHECK(seen.attributes[1].id == CU_LAUNCH_ATTRIBUTE_PRIORITY);
    CHECK(seen.attributes[1].value.priority == -3);
}

TEST_CASE("launch: every extent, the shared memory and the stream pass with any attributes") {
    const Bench bench;
    const auto passes = [&](const LaunchShape& shape, std::size_t attributes) {
        CHECK(bench.launch(shape));
        const auto& seen = bench.machine.driver.launches().back();
        CHECK(seen.grid == shape.grid);
        CHECK(seen.block == shape.block);
        CHECK(seen.shared_bytes == shape.dynamic_shared_bytes);
        CHECK(seen.stream == bench.stream->native());
        REQUIRE(seen.attributes.size() == attributes);
        if (!shape.priority) return;
        CHECK(seen.attributes.back().id == CU_LAUNCH_ATTRIBUTE_PRIORITY);
        CHECK(seen.attributes.back().value.priority == *shape.priority);
    };
    LaunchShape shape{.grid = {2, 3, 4}, .block = {5, 6, 7}, .dynamic_shared_bytes = 52 << 10};
    shape.priority = -2;  // The first launch also opts in to the shared memory.
    passes(shape, 1);
    passes(shape, 1);
    shape.programmatic_serialization = true;
    passes(shape, 2);
    shape.priority.reset();
    passes(shape, 1);
    shape.programmatic_serialization = false;
    passes(shape, 0);
}

TEST_CASE("launch: the default stream uses the thread's context") {
    const Bench bench;
    const Device device = bench.machine.device();
    CHECK(bench.kernel->launch(device.default_stream(), LaunchShape{}, std::span<void*>{}));
    const auto& seen = bench.machine.driver.launches().back();
    CHECK(seen.stream == nullptr);
    CHECK(seen.context_depth == 1);
    CHECK(bench.machine.driver.context_stack().empty());
}

TEST_CASE("launch: a kernel and a stream of different devices are refused") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const auto kernel = machine.kernel("k()");
    const auto stream = require(machine.device(1).create_stream());
    const auto error = require_error(kernel.launch(stream, LaunchShape{}, std::span<void*>{}));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(error.message == "Kernel 'k' is loaded on device 0, but the stream belongs to device 1.");
}

TEST_CASE("launch: packed arguments arrive where the kernel expects them") {
    FakeMachine machine;
    const auto kernel =
        machine.kernel("k(.param .u8 c, .param .f64 d, .param .u32 n, .param .align 8 .b8 p[8])");
    const auto stream = require(machine.device().create_stream());
    struct alignas(8) Pair {
        float a;
        float b;
    };
    PackedArguments arguments;
    require(arguments.add('c'));
    require(arguments.add(2.5));
    require(arguments.add(7));
    require(arguments.add(Pair{1, 2}));
    require(kernel.launch(stream, LaunchShape{}, arguments));
    const auto& seen = machine.driver.launches().back();
    CHECK(seen.argument<char>(0) == 'c');
    CHECK(seen.argument<double>(1) == 2.5);
    CHECK(seen.argument<int>(2) == 7);
    CHECK(seen.argument<Pair>(3).b == 2);
}

TEST_CASE("launch: untyped arguments are counted, packed ones measured") {
    FakeMachine machine;
    const auto kernel = machine.kernel("k(.param .u32 n, .param .u64 p)");
    const auto stream = require(machine.device().create_stream());
    int n = 1;
    void* one[] = {&n};
    const auto few = require_error(kernel.launch(stream, LaunchShape{}, one));
    CHECK(few.code == Errc::invalid_argument);
    CHECK(few.message == "Kernel 'k' takes 2 argument(s), but 1 are passed.");

    PackedArguments narrow;
    require(narrow.add(1));
    require(narrow.add(2));
    const auto wrong = require_error(kernel.launch(stream, LaunchShape{}, narrow));
    CHECK(wrong.code == Errc::invalid_argument);
    CHECK(wrong.message ==
          "Argument 2 of kernel 'k' has 4 bytes at offset 4, but the kernel's "
          "parameter has 8 bytes at offset 8.");
    CHECK(machine.driver.launches().empty());
}

TEST_CASE("launch: packed arguments are compared again with another kernel and when they grow") {
    FakeMachine machine;
    const auto kernel = machine.kernel("k(.param .u32 n, .param .u64 p)");
    const auto other = machine.kernel("other(.param .u64 p)");
    const auto stream = require(machine.device().create_stream());
    PackedArguments arguments;
    require(arguments.add(1));
    require(arguments.add(std::uint64_t{2}));
    for (int round = 0; round < 2; ++round) {
        require(kernel.launch(stream, LaunchShape{}, arguments));
        CHECK(require_error(other.launch(stream, LaunchShape{}, arguments)).code ==
              Errc::invalid_argument);
    }
    const PackedArguments copy = arguments;
    require(kernel.launch(stream, LaunchShape{}, copy));
    require(arguments.add(3));
    CHECK(require_error(kernel.launch(stream, LaunchShape{}, arguments)).code ==
          Errc::invalid_argument);
    CHECK(require_error(UntypedKernel().launch(stream, LaunchShape{}, arguments)).code ==
          Errc::invalid_argument);
    CHECK(machine.driver.launches().size() == 3);
    CHECK(machine.driver.launches().back().argument<std::uint64_t>(1) == 2);
}

TEST_CASE("launch: the driver's refusal names the launch") {
    Bench bench;
    bench.machine.driver.fail_always("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    const auto error = require_error(bench.launch({.grid = {2}, .block = {32}}));
    CHECK(error.code == Errc::out_of_resources);
    CHECK_CONTAINS(error.message, "cuLaunchKernel fails: the launch needs more registers");
    CHECK_CONTAINS(error.message, "while launching 'k' with grid (2, 1, 1) and block (32, 1, 1)");
    bench.machine.driver.fail_always("cuLaunchKernelEx", CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK_CONTAINS(require_error(bench.launch({.grid = {2}, .cluster = {2}})).message,
                   "cuLaunchKernelEx fails: the kernel can't run with this cluster size");
}

TEST_CASE("launch: occupancy and block size come from the driver, within the limits") {
    const Bench bench(FakeKernelProperties{.max_threads = 512, .blocks_per_multiprocessor = 4});
    const auto occupancy = require(bench.kernel->occupancy(200));
    CHECK(occupancy.blocks_per_multiprocessor == 4);
    CHECK(occupancy.fraction == doctest::Approx(4 * 7 / 64.0));
    CHECK(require(bench.kernel->suggest_block_size()) == 512);
    CHECK(require_error(bench.kernel->occupancy(513)).code == Errc::out_of_resources);
    CHECK(require_error(bench.kernel->occupancy(0)).code == Errc::invalid_argument);
    CHECK(require_error(bench.kernel->occupancy(32, std::size_t{1} << 40)).code ==
          Errc::out_of_resources);
    CHECK(require_error(bench.kernel->suggest_block_size(300000)).code == Errc::out_of_resources);
}

TEST_CASE("launch: attributes of a kernel are read once") {
    const Bench bench(FakeKernelProperties{.registers = 40, .static_shared_bytes = 128});
    const auto& attributes = bench.kernel->attributes();
    CHECK(attributes.registers == 40);
    CHECK(attributes.static_shared_bytes == 128);
    CHECK(attributes.max_threads_per_block == 1024);
    CHECK(attributes.ptx_version == 90);
    CHECK(attributes.binary_version == 90);
}
