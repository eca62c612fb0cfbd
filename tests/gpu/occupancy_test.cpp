// Occupancy computed offline against the driver, and partitions of the multiprocessors.
#include "tests/gpu/support.hpp"

#include <lode/base/occupancy.hpp>
#include <lode/runtime/sm_partition.hpp>

#include <set>
#include <tuple>

using namespace lode;
using namespace lode::test;

namespace {

const Source occupancy_source = Source::text(R"(
extern "C" __global__ void plain(float* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void with_shared(float* x) {
    __shared__ float copy[3000];
    copy[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = copy[(threadIdx.x + 1) % blockDim.x];
}
extern "C" __global__ void which(unsigned* ids, int delay) {
    unsigned id;
    asm volatile("mov.u32 %0, %smid;" : "=r"(id));
    for (int i = 0; i < delay; ++i) asm volatile("");
    if (threadIdx.x == 0) ids[blockIdx.x] = id;
}
)",
                                             "occupancy.cu");

}  // namespace

TEST_CASE("occupancy: the table has the device's own limits") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto& properties = device.properties();
    const auto limits = require(multiprocessor_limits(properties.cc));
    CHECK(limits.threads == properties.max_threads_per_multiprocessor);
    CHECK(limits.blocks == properties.max_blocks_per_multiprocessor);
    CHECK(limits.registers == properties.registers_per_multiprocessor);
    CHECK(limits.registers_per_block == properties.registers_per_block);
    CHECK(limits.shared_bytes == properties.shared_bytes_per_multiprocessor);
    CHECK(limits.shared_bytes_per_block_optin == properties.shared_bytes_per_block_optin);
    CHECK(limits.reserved_shared_bytes_per_block == properties.reserved_shared_bytes_per_block);
}

TEST_CASE("occupancy: the estimate is the driver's number for every block size") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto limits = require(multiprocessor_limits(device.cc()));
    for (const char* name : {"plain", "with_shared"}) {
        const auto kernel = require(device.load(occupancy_source, name));
        const auto& attributes = kernel.attributes();
        for (int threads = 32; threads <= attributes.max_threads_per_block; threads += 32) {
            for (const std::size_t dynamic : {0, 1000, 20000}) {
                CAPTURE(name);
                CAPTURE(threads);
                CAPTURE(dynamic);
                const BlockNeeds needs{.threads = threads,
                                       .registers = attributes.registers,
                                       .static_shared_bytes = attributes.static_shared_bytes,
                                       .dynamic_shared_bytes = dynamic};
                const auto estimate = require(estimate_occupancy(limits, needs));
                const auto driver =
                    require(kernel.occupancy(static_cast<std::uint32_t>(threads), dynamic));
                CHECK(estimate.blocks == driver.blocks_per_multiprocessor);
                CHECK(estimate.fraction == doctest::Approx(driver.fraction));
            }
        }
    }
}

TEST_CASE("sm partition: kernels stay on its multiprocessors") {
    LODE_NEEDS_DEVICE(device, 0);
    if (machine()->driver().version() < 12050) return;
    const auto kernel = require(device.load<void(unsigned*, int)>(occupancy_source, "which"));
    // Enough work to fill a partition many times; the software device only shows that it runs.
    const bool is_emulator = machine()->driver().is_emulator();
    const std::uint32_t blocks = is_emulator ? 8 : 2000;
    const int delay = is_emulator ? 1 : 10000;
    const auto split = require(SmPartition::split(device, 8, {.most = 2}));
    REQUIRE(split.partitions.size() == 2);
    std::vector<std::set<unsigned>> used;
    for (const auto& partition : split.partitions) {
        CHECK(partition.multiprocessors() >= 8);
        const auto ids = require(device.upload(std::vector<unsigned>(blocks, ~0U)));
        const auto stream = require(partition.create_stream());
        require(kernel.launch(stream, LaunchShape{.grid = {blocks}, .block = {64}}, ids, delay));
        require(stream.sync());
        const auto seen = require(ids.to_vector());
        used.emplace_back(seen.begin(), seen.end());
        CHECK(used.back().count(~0U) == 0);
        // The software device doesn't assign blocks to multiprocessors.
        if (!is_emulator)
            CHECK(used.back().size() <= static_cast<std::size_t>(partition.multiprocessors()));
    }
    if (is_emulator) return;
    for (const unsigned id : used[0])
        CHECK(used[1].count(id) == 0);
}

TEST_CASE("sm partition: an event of a partition is that of all its streams") {
    LODE_NEEDS_DEVICE(device, 0);
    if (machine()->driver().version() < 12050) return;
    const auto kernel = require(device.load<void(unsigned*, int)>(occupancy_source, "which"));
    const int delay = machine()->driver().is_emulator() ? 1 : 1000000;
    const auto split = require(SmPartition::split(device, 8, {.most = 2}));
    REQUIRE(split.partitions.size() == 2);
    const auto& [first, second] = std::tie(split.partitions[0], split.partitions[1]);
    constexpr std::uint32_t blocks = 8;
    std::vector<Stream> streams;
    std::vector<DeviceBuffer<unsigned>> ids;
    for (int i = 0; i < 3; ++i) {
        ids.push_back(require(device.upload(std::vector<unsigned>(blocks, ~0U))));
        streams.push_back(require(first.create_stream()));
        require(kernel.launch(streams.back(), LaunchShape{.grid = {blocks}, .block = {64}},
                              ids.back(), delay));
    }
    const auto done = require(device.create_event({.timing = false}));
    require(first.record(done));
    require(second.wait(done));
    // A stream that is made after the wait waits too.
    const auto after = require(second.create_stream());
    const auto last = require(device.upload(std::vector<unsigned>(blocks, ~0U)));
    require(kernel.launch(after, LaunchShape{.grid = {blocks}, .block = {64}}, last, 1));
    require(after.sync());
    CHECK(require(done.is_done()));
    for (const auto& stream : streams)
        CHECK(require(stream.is_idle()));
}

TEST_CASE("sm partition: a driver says whether it has work queues, which kernels can use") {
    LODE_NEEDS_DEVICE(device, 0);
    if (machine()->driver().version() < 12050) return;
    const WorkQueues own{.concurrency = 2, .balanced = true};
    const auto partition = SmPartition::create(device, 8, own);
    if (machine()->driver().version() < 13010) {
        REQUIRE_FALSE(partition);
        CHECK(partition.error().code == Errc::driver_too_old);
        CHECK(partition.error().message.find("13.1") != std::string::npos);
        return;
    }
    const auto queues = require(require(partition).work_queues());
    CHECK(queues.concurrency == 2);
    CHECK(queues.balanced);
    const auto kernel = require(device.load<void(unsigned*, int)>(occupancy_source, "which"));
    const auto ids = require(device.upload(std::vector<unsigned>(8, ~0U)));
    const auto stream = require(partition->create_stream());
    require(kernel.launch(stream, LaunchShape{.grid = {8}, .block = {64}}, ids, 1));
    require(stream.sync());
    CHECK(require(ids.to_vector())[7] != ~0U);
}
