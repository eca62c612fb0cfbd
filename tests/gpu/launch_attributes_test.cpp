// Launch attributes, prepared launches, limits and stream attributes on a real device.
#include "tests/gpu/support.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* count_up = R"(
extern "C" __global__ void k(unsigned* counts, unsigned n, unsigned step) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[i] = counts[i] * 3u + step;
})";

/// Starts before the kernel in front of it has ended, and waits for it before it reads.
constexpr const char* dependent_count_up = R"(
extern "C" __global__ void k(unsigned* counts, unsigned n, unsigned step) {
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[i] = counts[i] * 3u + step;
})";

constexpr unsigned elements = 10000;

/// What every count is after steps 0 … steps - 1.
unsigned expected_count(unsigned steps) {
    unsigned count = 0;
    for (unsigned step = 0; step < steps; ++step)
        count = count * 3 + step;
    return count;
}

bool all_are(const std::vector<unsigned>& counts, unsigned expected) {
    return std::ranges::all_of(counts, [&](unsigned count) { return count == expected; });
}

}  // namespace

TEST_CASE("launch attributes: dependent launches wait where the kernel says") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.cc() >= ComputeCapability(9, 0), "programmatic launches need 9.0");
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, dependent_count_up);
    const auto stream = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    LaunchShape shape = cover(elements, 128);
    shape.programmatic_serialization = true;
    constexpr unsigned steps = 50;
    for (unsigned step = 0; step < steps; ++step)
        require(kernel.launch(stream, shape, counts, elements, step));
    require(stream.sync());
    CHECK(all_are(require(counts.to_vector()), expected_count(steps)));
}

TEST_CASE("launch attributes: a prepared launch repeats, with the arguments it has then") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stream = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    auto prepared = require(kernel.prepare(stream, cover(elements), counts, elements, 0));
    const LaunchShape urgent_shape{
        .grid = cover(elements).grid, .block = cover(elements).block, .priority = -1};
    auto urgent = require(kernel.prepare(stream, urgent_shape, counts, elements, 0));
    constexpr unsigned steps = 50;
    for (unsigned step = 0; step < steps; ++step) {
        auto& next = step % 2 == 0 ? prepared : urgent;
        require(next.set<2>(step));
        require(next.launch());
    }
    require(stream.sync());
    CHECK(all_are(require(counts.to_vector()), expected_count(steps)));
}

TEST_CASE("launch attributes: the driver accepts every hint") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stream = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    std::vector<LaunchAttributes> hints(7);
    hints[0].shared_carveout_percent = 25;
    hints[1].memory_sync_domain = MemorySyncDomain::remote;
    hints[2].nvlink_centric = true;
    if (device.properties().access_policy_window_bytes >= counts.size_bytes()) {
        hints[3].access_policy =
            AccessPolicyWindow{.address = reinterpret_cast<NativeDevicePointer>(counts.data()),
                               .size_bytes = counts.size_bytes(),
                               .hit_ratio = 0.5F};
    }
    hints[4].shared_memory_mode = SharedMemoryMode::portable;
    hints[5].shared_memory_mode = SharedMemoryMode::allow_oversized;
    hints[6].cluster_size_mode = ClusterSizeMode::non_portable;
    if (device.cc() >= ComputeCapability(9, 0)) {
        hints.emplace_back().cluster_scheduling = ClusterScheduling::spread;
        hints.emplace_back().memory_sync_domain_map = MemorySyncDomainMap{0, 0};
    }
    LaunchShape shape = cover(elements);
    unsigned step = 0;
    for (const auto& hint : hints) {
        CAPTURE(step);
        shape.attributes = &hint;
        const auto launched = kernel.launch(stream, shape, counts, elements, step);
        if (!launched && launched.error().code == Errc::driver_too_old) continue;
        require(launched);
        ++step;
    }
    require(stream.sync());
    CHECK(all_are(require(counts.to_vector()), expected_count(step)));
}

TEST_CASE("launch attributes: events are recorded by the launch") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stream = require(device.create_stream());
    const auto other = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    const auto event = require(device.create_event({.timing = false}));
    const LaunchAttributes completion{.launch_completion_event = &event};
    LaunchShape shape = cover(elements);
    shape.attributes = &completion;
    const auto launched = kernel.launch(stream, shape, counts, elements, 7);
    LODE_NEEDS(launched || launched.error().code != Errc::driver_too_old,
               "launch completion events need a driver for CUDA 12.3");
    require(launched);
    require(other.ref().wait(event));
    require(event.sync());
    CHECK(require(event.is_done()));
    require(device.sync());
    CHECK(all_are(require(counts.to_vector()), 7));
}

TEST_CASE("launch attributes: clusters as large as the driver says, and no larger") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().cluster_launch, "clusters need a device with cluster launch");
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stream = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    const LaunchAttributes large{.non_portable_cluster = true};
    LaunchShape shape{.grid = {80}, .block = {128}};
    CHECK(require(max_cluster_size(kernel, shape)) == 8);
    shape.attributes = &large;
    const int most = require(max_cluster_size(kernel, shape));
    MESSAGE("the largest cluster has " << most << " blocks");
    CHECK(most >= 8);
    shape.cluster = {static_cast<std::uint32_t>(most)};
    CHECK(require(max_active_clusters(kernel, shape)) >= 1);
    require(kernel.launch(stream, shape, counts, elements, 5));
    const LaunchAttributes preferred{.preferred_cluster = Dim3{4}};
    shape.cluster = {2};
    shape.attributes = &preferred;
    const auto launched = kernel.launch(stream, shape, counts, elements, 1);
    // Devices and drivers before them may refuse preferred clusters.
    if (!launched) MESSAGE("preferred clusters: " << launched.error().describe());
    require(stream.sync());
    CHECK(all_are(require(counts.to_vector()), launched ? 16 : 5));
}

TEST_CASE("launch attributes: a suggested shape covers the elements with resident threads") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stream = require(device.create_stream());
    auto counts = require(device.alloc<unsigned>(elements));
    require(counts.zero());
    const auto shape = require(suggest_launch(kernel, elements));
    CHECK(shape.block.x >= 128);
    CHECK(shape.grid.volume() * shape.block.volume() >= elements);
    const auto best = static_cast<std::uint32_t>(require(kernel.suggest_block_size()));
    CHECK(require(kernel.occupancy(shape.block.x)).fraction >=
          require(kernel.occupancy(best)).fraction);
    require(kernel.launch(stream, shape, counts, elements, 3));
    require(stream.sync());
    CHECK(all_are(require(counts.to_vector()), 3));

    // From few blocks with much memory to many, whatever the kernel has opted in to before.
    const int most = require(kernel.occupancy(256)).blocks_per_multiprocessor;
    for (int blocks = 1; blocks <= most; ++blocks) {
        const auto bytes =
            require(available_dynamic_shared(kernel, static_cast<std::uint32_t>(blocks), 256));
        CHECK(require(kernel.occupancy(256, bytes)).blocks_per_multiprocessor >= blocks);
    }
    const auto fresh = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    CHECK(require(available_dynamic_shared(fresh, 1, 256)) ==
          fresh.attributes().max_dynamic_shared_bytes);
}

TEST_CASE("launch attributes: streams keep their attributes") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    const auto before = require(stream_attributes(stream));
    CHECK(before.sync_policy == SyncPolicy::automatic);
    require(set_stream_attributes(stream, {.sync_policy = SyncPolicy::block, .priority = -1}));
    auto memory = require(device.alloc<unsigned>(elements));
    StreamAttributes window;
    if (device.properties().access_policy_window_bytes >= memory.size_bytes()) {
        window.access_policy =
            AccessPolicyWindow{.address = reinterpret_cast<NativeDevicePointer>(memory.data()),
                               .size_bytes = memory.size_bytes()};
    }
    require(set_stream_attributes(stream, window));
    const auto after = require(stream_attributes(stream));
    CHECK(after.sync_policy == SyncPolicy::block);
    CHECK(after.priority == -1);
    if (window.access_policy) {
        CHECK(after.access_policy->hits == CachePersistence::persisting);
        CHECK(after.access_policy->hit_ratio == 1.0F);
    }
    const auto copy = require(device.create_stream());
    require(copy_stream_attributes(copy, stream));
    CHECK(require(stream_attributes(copy)).sync_policy == SyncPolicy::block);
    require(stream.sync());
}

TEST_CASE("launch attributes: limits are set, read back and listed") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned*, unsigned, unsigned)>(device, count_up);
    const auto stack = require(limit(device, Limit::stack));
    CHECK(require(set_limit(device, Limit::stack, stack + 1024)) >= stack + 1024);
    require(set_limit(device, Limit::stack, stack));
    CHECK_CONTAINS(require_error(set_limit(device, Limit::malloc_heap, 1 << 24)).message,
                   "is fixed once code is loaded");
    if (const auto most = device.properties().persisting_l2_bytes; most > 0) {
        CHECK(require(set_limit(device, Limit::persisting_l2, most)) > 0);
        require(reset_persisting_l2(device));
        require(set_limit(device, Limit::persisting_l2, 0));
    }
    for (const auto& [which, value] : require(limits(device)))
        MESSAGE(to_string(which) << ": " << (value ? std::to_string(*value) : "-"));
}
