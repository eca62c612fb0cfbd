#include "base/cuda_additions.hpp"
#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/device_attributes.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

using namespace lode;
using namespace lode::test;

namespace {

/// A kernel "k" without parameters, launched with further attributes.
struct AttributesBench {
    explicit AttributesBench(FakeDevice device = {}, int version = 13000)
        : machine(FakeDriver::Options{.version = version, .devices = {std::move(device)}}),
          kernel(machine.kernel("k()")),
          stream(require(machine.device().create_stream())) {}

    [[nodiscard]] Status launch(const LaunchAttributes& attributes, Dim3 cluster = {}) const {
        return kernel.launch(stream, {.grid = {32}, .cluster = cluster, .attributes = &attributes},
                             std::span<void*>{});
    }
    /// The only attribute of a launch that succeeds.
    [[nodiscard]] CUlaunchAttribute passed(const LaunchAttributes& attributes) const {
        require(launch(attributes));
        const auto& seen = machine.driver.launches().back().attributes;
        REQUIRE(seen.size() == 1);
        return seen[0];
    }
    void refuses(const LaunchAttributes& attributes, Errc code, std::string_view part,
                 Dim3 cluster = {}) const {
        const auto before = machine.driver.launches().size();
        const auto error = require_error(launch(attributes, cluster));
        CHECK(error.code == code);
        CHECK_CONTAINS(error.message, part);
        CHECK(machine.driver.launches().size() == before);
    }

    FakeMachine machine;
    UntypedKernel kernel;
    Stream stream;
};

}  // namespace

TEST_CASE("launch attributes: hints reach the driver as they are") {
    const AttributesBench bench;
    auto seen = bench.passed({.shared_carveout_percent = 50});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    CHECK(seen.value.sharedMemCarveout == 50);
    seen = bench.passed({.cluster_scheduling = ClusterScheduling::load_balancing});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    CHECK(seen.value.clusterSchedulingPolicyPreference ==
          CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    seen = bench.passed({.memory_sync_domain = MemorySyncDomain::remote});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
    CHECK(seen.value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    seen = bench.passed({.memory_sync_domain_map = MemorySyncDomainMap{2, 3}});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
    CHECK(seen.value.memSyncDomainMap.default_ == 2);
    CHECK(seen.value.memSyncDomainMap.remote == 3);
    seen = bench.passed({.nvlink_centric = true});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
    CHECK(seen.value.nvlinkUtilCentricScheduling == 1);
    seen = bench.passed({.access_policy = AccessPolicyWindow{
                             .address = 4096, .size_bytes = 1 << 24, .hit_ratio = 0.5F}});
    CHECK(seen.id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
    CHECK(seen.value.accessPolicyWindow.base_ptr == reinterpret_cast<void*>(4096));
    CHECK(seen.value.accessPolicyWindow.num_bytes == 1 << 24);
    CHECK(seen.value.accessPolicyWindow.hitRatio == 0.5F);
    CHECK(seen.value.accessPolicyWindow.hitProp == CU_ACCESS_PROPERTY_PERSISTING);
    CHECK(seen.value.accessPolicyWindow.missProp == CU_ACCESS_PROPERTY_STREAMING);
}

TEST_CASE("launch attributes: all of them together, and none") {
    const AttributesBench bench({}, 13040);
    const auto event = require(bench.machine.device().create_event({.timing = false}));
    const LaunchAttributes all{.non_portable_cluster = true,
                               .preferred_cluster = Dim3{4},
                               .cluster_scheduling = ClusterScheduling::spread,
                               .programmatic_event = &event,
                               .trigger_at_block_start = true,
                               .launch_completion_event = &event,
                               .access_policy = AccessPolicyWindow{},
                               .shared_carveout_percent = 0,
                               .memory_sync_domain = MemorySyncDomain::usual,
                               .memory_sync_domain_map = MemorySyncDomainMap{},
                               .nvlink_centric = false,
                               .cluster_size_mode = ClusterSizeMode::portable,
                               .shared_memory_mode = SharedMemoryMode::prefer_oversized};
    require(bench.kernel.launch(bench.stream,
                                {.grid = {32},
                                 .cooperative = false,
                                 .programmatic_serialization = true,
                                 .cluster = {2},
                                 .priority = -1,
                                 .attributes = &all},
                                std::span<void*>{}));
    const auto& seen = bench.machine.driver.launches().back().attributes;
    CHECK(seen.size() == 14);
    const auto find = [&](CUlaunchAttributeID id) {
        const auto found = std::ranges::find(seen, id, &CUlaunchAttribute::id);
        REQUIRE(found != seen.end());
        return found->value;
    };
    CHECK(find(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).preferredClusterDim.x == 4);
    CHECK(find(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT).programmaticEvent.event == event.native());
    CHECK(find(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT).programmaticEvent.triggerAtBlockStart == 1);
    CHECK(find(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT).launchCompletionEvent.event ==
          event.native());

    require(bench.launch({}));
    CHECK(bench.machine.driver.launches().back().attributes.empty());
}

TEST_CASE("launch attributes: values outside their ranges are named with the limit") {
    const AttributesBench bench;
    bench.refuses({.shared_carveout_percent = 101}, Errc::invalid_argument,
                  "The shared-memory carve-out of 101 percent isn't from 0 to 100.");
    bench.refuses(
        {.access_policy = AccessPolicyWindow{.size_bytes = (1 << 24) + 1}}, Errc::out_of_resources,
        "The size of the access-policy window (16777217) exceeds 16777216, the limit of device 0");
    bench.refuses({.access_policy = AccessPolicyWindow{.hit_ratio = 1.5F}}, Errc::invalid_argument,
                  "The hit ratio 1.5 of the access-policy window isn't from 0 to 1.");
    bench.refuses({.access_policy = AccessPolicyWindow{.misses = CachePersistence::persisting}},
                  Errc::invalid_argument, "not persisting");
    bench.refuses({.memory_sync_domain_map = MemorySyncDomainMap{0, 4}}, Errc::invalid_argument,
                  "The memory sync domains 0 and 4 aren't both below 4");
    bench.refuses({.preferred_cluster = Dim3{3}}, Errc::invalid_argument,
                  "The preferred cluster (3, 1, 1) isn't a multiple of the cluster (2, 1, 1)", {2});
    bench.refuses({.preferred_cluster = Dim3{2, 1, 2}}, Errc::invalid_argument, "equal to it in z",
                  {2});
    bench.refuses({.preferred_cluster = Dim3{64}}, Errc::invalid_argument,
                  "Grid (32, 1, 1) isn't a multiple of the preferred cluster (64, 1, 1)", {2});
}

TEST_CASE("launch attributes: clusters of more than 8 blocks need the opt-in, once per kernel") {
    const AttributesBench bench;
    bench.refuses({}, Errc::out_of_resources,
                  "exceeds 8, the limit of clusters on every device, beyond which "
                  "LaunchAttributes::non_portable_cluster must be set",
                  {16});
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 0);
    require(bench.launch({.non_portable_cluster = true}, {16}));
    require(bench.launch({.non_portable_cluster = true}, {16}));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 1);
    CHECK(bench.machine.driver.attribute("k",
                                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 1);
    bench.refuses({.non_portable_cluster = true}, Errc::out_of_resources,
                  "Blocks per cluster (32) exceeds 16, the limit of device 0", {32});
}

TEST_CASE("launch attributes: modes take the place of what the kernel is set to") {
    const AttributesBench bench({}, 13040);
    const auto mode_of = [](const CUlaunchAttribute& seen) {
        unsigned mode = 0;
        std::memcpy(&mode, &seen.value, sizeof(mode));
        return mode;
    };
    auto seen = bench.passed({.cluster_size_mode = ClusterSizeMode::portable});
    CHECK(seen.id == launch_attribute_cluster_mode);
    CHECK(mode_of(seen) == 1);
    seen = bench.passed({.shared_memory_mode = SharedMemoryMode::allow_oversized});
    CHECK(seen.id == launch_attribute_shared_memory_mode);
    CHECK(mode_of(seen) == 3);
    require(bench.launch({.cluster_size_mode = ClusterSizeMode::non_portable}, {16}));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 0);
    bench.refuses({.non_portable_cluster = true, .cluster_size_mode = ClusterSizeMode::portable},
                  Errc::out_of_resources, "beyond which ClusterSizeMode::portable doesn't go",
                  {16});

    const auto launch_with = [&](SharedMemoryMode mode, std::uint32_t bytes) {
        const LaunchAttributes attributes{.shared_memory_mode = mode};
        return bench.kernel.launch(
            bench.stream, {.grid = {32}, .dynamic_shared_bytes = bytes, .attributes = &attributes},
            std::span<void*>{});
    };
    const auto& device = bench.machine.device().properties();
    const auto usual = static_cast<std::uint32_t>(device.shared_bytes_per_block);
    const auto most = static_cast<std::uint32_t>(device.shared_bytes_per_block_optin);
    require(launch_with(SharedMemoryMode::portable, usual));
    CHECK_CONTAINS(require_error(launch_with(SharedMemoryMode::portable, usual + 1)).message,
                   fmt::format("Shared memory per block ({}) exceeds {}, the limit of "
                               "SharedMemoryMode::portable.",
                               usual + 1, usual));
    require(launch_with(SharedMemoryMode::non_portable, most));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 0);
    CHECK_CONTAINS(require_error(launch_with(SharedMemoryMode::non_portable, most + 1)).message,
                   fmt::format("exceeds {}, the limit", most));
    // A kernel that has opted in for another launch is still held to what is portable.
    require(bench.kernel.launch(bench.stream, {.grid = {1}, .dynamic_shared_bytes = most},
                                std::span<void*>{}));
    CHECK(require_error(launch_with(SharedMemoryMode::portable, usual + 1)).code ==
          Errc::out_of_resources);
}

TEST_CASE("launch attributes: oversized shared memory has the device's own limit") {
    constexpr int oversized = 300'000;
    const AttributesBench bench(
        {.attributes = {{static_cast<CUdevice_attribute>(
                             DeviceAttribute::max_oversized_shared_memory_per_block),
                         oversized}}},
        13040);
    const LaunchAttributes attributes{.shared_memory_mode = SharedMemoryMode::allow_oversized};
    LaunchShape shape{.grid = {32}, .dynamic_shared_bytes = oversized, .attributes = &attributes};
    require(bench.kernel.launch(bench.stream, shape, std::span<void*>{}));
    CHECK(bench.machine.driver.calls("cuKernelSetAttribute") == 0);
    shape.dynamic_shared_bytes += 1;
    CHECK_CONTAINS(
        require_error(bench.kernel.launch(bench.stream, shape, std::span<void*>{})).message,
        "Shared memory per block (300001) exceeds 300000, the limit of device 0");
}

TEST_CASE("launch attributes: events must be present, without timing and of the same device") {
    const AttributesBench bench;
    const Device device = bench.machine.device();
    const Event empty;
    bench.refuses({.programmatic_event = &empty}, Errc::invalid_argument,
                  "programmatic event is empty");
    const auto timed = require(device.create_event());
    CHECK(timed.has_timing());
    bench.refuses({.launch_completion_event = &timed}, Errc::invalid_argument,
                  "The launch completion event records times");

    FakeMachine two({.devices = {{.name = "A"}, {.name = "B"}}});
    const auto kernel = two.kernel("k()");
    const auto stream = require(two.device().create_stream());
    const auto foreign = require(two.device(1).create_event({.timing = false}));
    const LaunchAttributes attributes{.programmatic_event = &foreign};
    const auto error =
        require_error(kernel.launch(stream, {.attributes = &attributes}, std::span<void*>{}));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "The programmatic event belongs to device 1 (B");
}

TEST_CASE("launch attributes: old drivers and devices are told what they lack") {
    const AttributesBench old({}, 12000);
    const auto event = require(old.machine.device().create_event({.timing = false}));
    old.refuses({.preferred_cluster = Dim3{2}}, Errc::driver_too_old,
                "A preferred cluster needs a driver for CUDA 12.8; this one is for 12.0.");
    old.refuses({.launch_completion_event = &event}, Errc::driver_too_old, "CUDA 12.3");
    old.refuses({.shared_carveout_percent = 50}, Errc::driver_too_old, "CUDA 12.5");
    old.refuses({.nvlink_centric = true}, Errc::driver_too_old, "CUDA 13.0");
    old.refuses({.cluster_size_mode = ClusterSizeMode::portable}, Errc::driver_too_old,
                "CUDA 13.2");
    old.refuses({.shared_memory_mode = SharedMemoryMode::portable}, Errc::driver_too_old,
                "CUDA 13.2");
    old.refuses({.shared_memory_mode = SharedMemoryMode::allow_oversized}, Errc::driver_too_old,
                "Oversized shared memory needs a driver for CUDA 13.4");

    FakeMachine machine({.devices = {{.name = "Old",
                                      .cc = {8, 6},
                                      .attributes = {{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0}}}}});
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"k()"}, true, 80)));
    const auto kernel = require(library.kernel<void()>("k"));
    const auto stream = require(device.create_stream());
    const auto untimed = require(device.create_event({.timing = false}));
    const LaunchAttributes programmatic{.programmatic_event = &untimed};
    CHECK_CONTAINS(require_error(kernel.launch(stream, {.attributes = &programmatic})).message,
                   "A programmatic event needs compute capability 9.0");
    const LaunchAttributes completion{.launch_completion_event = &untimed};
    CHECK(kernel.launch(stream, {.attributes = &completion}));
}
