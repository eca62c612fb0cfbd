#include <lode/base/occupancy.hpp>

#include <climits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda.h>
#include <cuda_occupancy.h>
#define LODE_HAS_CUDA_OCCUPANCY 1
#endif

using lode::BlockNeeds;
using lode::ComputeCapability;
using lode::Errc;
using lode::MultiprocessorLimits;
using lode::OccupancyEstimate;
using lode::OccupancyFactor;

namespace {

constexpr ComputeCapability known_capabilities[] = {{7, 5},  {8, 0},  {8, 6},  {8, 7},  {8, 8},
                                                    {8, 9},  {9, 0},  {10, 0}, {10, 1}, {10, 3},
                                                    {10, 7}, {11, 0}, {12, 0}, {12, 1}};

MultiprocessorLimits limits_of(int cc_major, int cc_minor) {
    auto limits = lode::multiprocessor_limits({cc_major, cc_minor});
    REQUIRE(limits);
    return *limits;
}

OccupancyEstimate occupancy_for(const MultiprocessorLimits& limits, const BlockNeeds& needs) {
    auto estimate = lode::estimate_occupancy(limits, needs);
    REQUIRE(estimate);
    return *estimate;
}

/// A multiprocessor of the Best Practices Guide's examples, whose formula rounds nothing.
MultiprocessorLimits old_multiprocessor(int threads, int registers, int register_unit) {
    MultiprocessorLimits limits;
    limits.max_threads_per_block = 512;
    limits.threads = threads;
    limits.blocks = 8;
    limits.registers = registers;
    limits.registers_per_block = registers;
    limits.register_unit = register_unit;
    limits.partitions = 1;
    limits.shared_bytes = std::size_t{16} * 1024;
    limits.shared_bytes_per_block_optin = limits.shared_bytes;
    limits.shared_unit = 512;
    return limits;
}

}  // namespace

TEST_CASE("occupancy: the guide's numbers for compute capability 1.1") {
    const auto limits = old_multiprocessor(768, 8192, 1);
    const auto of = [&](int threads, int registers) {
        return occupancy_for(limits, {.threads = threads, .registers = registers});
    };
    CHECK(of(128, 12).blocks == 5);
    CHECK(of(128, 12).fraction == doctest::Approx(0.833).epsilon(0.001));
    CHECK(of(256, 12).blocks == 2);
    CHECK(of(256, 12).fraction == doctest::Approx(0.667).epsilon(0.001));
    CHECK(of(512, 12).fraction == doctest::Approx(0.667).epsilon(0.001));
    CHECK(of(256, 10).fraction == 1.0);
    CHECK(of(256, 11).fraction < 1.0);
}

TEST_CASE("occupancy: one register more halves the blocks of compute capability 2.0") {
    const auto limits = old_multiprocessor(1536, 32768, 64);
    CHECK(occupancy_for(limits, {.threads = 512, .registers = 32}).blocks == 2);
    const auto more = occupancy_for(limits, {.threads = 512, .registers = 33});
    CHECK(more.blocks == 1);
    CHECK(more.limited_by() == std::vector{OccupancyFactor::registers});
}

TEST_CASE("occupancy: each factor limits, and is named") {
    const auto hopper = limits_of(9, 0);
    const auto warps = occupancy_for(hopper, {.threads = 1024, .registers = 16});
    CHECK(warps.blocks == 2);
    CHECK(warps.warps == 64);
    CHECK(warps.fraction == 1.0);
    CHECK(warps.limited_by() == std::vector{OccupancyFactor::warps});

    const auto registers = occupancy_for(hopper, {.threads = 256, .registers = 168});
    CHECK(registers.blocks == 1);
    CHECK(registers.limited_by() == std::vector{OccupancyFactor::registers});
    CHECK(registers.registers_per_block == 168 * 256);

    const auto shared =
        occupancy_for(hopper, {.threads = 128, .registers = 32, .static_shared_bytes = 60 * 1024});
    CHECK(shared.blocks == 3);
    CHECK(shared.shared_bytes_per_block == 61 * 1024);
    CHECK(shared.limited_by() == std::vector{OccupancyFactor::shared_memory});

    const auto blocks = occupancy_for(hopper, {.threads = 32, .registers = 16});
    CHECK(blocks.blocks == 32);
    CHECK(blocks.fraction == 0.5);
    CHECK(blocks.limited_by() == std::vector{OccupancyFactor::blocks});

    const auto barriers = occupancy_for(hopper, {.threads = 64, .registers = 16, .barriers = 16});
    CHECK(barriers.blocks == 4);
    CHECK(barriers.limited_by() == std::vector{OccupancyFactor::barriers});
}

TEST_CASE("occupancy: a block that can't run is no error and says why") {
    const auto ada = limits_of(8, 9);
    const auto large = occupancy_for(ada, {.threads = 1025, .registers = 16});
    CHECK(large.blocks == 0);
    CHECK(large.fraction == 0);
    CHECK(large.limited_by() == std::vector{OccupancyFactor::warps});
    const auto registers = occupancy_for(ada, {.threads = 1024, .registers = 65});
    CHECK(registers.limited_by() == std::vector{OccupancyFactor::registers});
    const auto shared = occupancy_for(ada, {.threads = 32, .dynamic_shared_bytes = 99 * 1024 + 1});
    CHECK(shared.limited_by() == std::vector{OccupancyFactor::shared_memory});
    CHECK(occupancy_for(ada, {.threads = 32, .dynamic_shared_bytes = 99 * 1024}).blocks == 1);
    CHECK(occupancy_for(ada, {.threads = 32, .dynamic_shared_bytes = SIZE_MAX}).blocks == 0);
    CHECK(occupancy_for(ada, {.threads = INT_MAX - 31, .registers = INT_MAX}).blocks == 0);
}

TEST_CASE("occupancy: a carve-out limits the blocks but never keeps one from running") {
    const auto ampere = limits_of(8, 0);
    BlockNeeds needs{.threads = 64, .registers = 32, .static_shared_bytes = 15 * 1024};
    CHECK(occupancy_for(ampere, needs).blocks == 10);
    needs.carve_out_percent = 50;
    CHECK(occupancy_for(ampere, needs).blocks == 6);  // 100 KiB
    needs.carve_out_percent = 0;
    CHECK(occupancy_for(ampere, needs).blocks == 1);  // 16 KiB
}

TEST_CASE("occupancy: the best block size has the most warps") {
    const auto hopper = limits_of(9, 0);
    CHECK(lode::best_block_size(hopper, {.registers = 32}) == 1024);
    CHECK(lode::best_block_size(hopper, {.registers = 255}) == 256);
    CHECK(lode::best_block_size(hopper, {.registers = 300}) == 0);
    CHECK(lode::best_block_size(limits_of(8, 6), {.registers = 16}) == 768);
}

TEST_CASE("occupancy: wrong input is refused with the value") {
    const auto limits = limits_of(7, 5);
    const auto error_of = [&](const MultiprocessorLimits& of, const BlockNeeds& needs) {
        const auto estimate = lode::estimate_occupancy(of, needs);
        REQUIRE_FALSE(estimate);
        CHECK(estimate.error().code == Errc::invalid_argument);
        return estimate.error().message;
    };
    CHECK(error_of(limits, {}).find("0 threads") != std::string::npos);
    CHECK(error_of(limits, {.threads = 32, .registers = -1}).find("-1 registers") !=
          std::string::npos);
    CHECK(error_of(limits, {.threads = 32, .carve_out_percent = 101}).find("101 percent") !=
          std::string::npos);
    CHECK(error_of({}, {.threads = 32}).find("positive") != std::string::npos);
    const auto unknown = lode::multiprocessor_limits({6, 1});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == Errc::unsupported_arch);
    CHECK(unknown.error().message.find("6.1") != std::string::npos);
    CHECK(unknown.error().message.find("7.5, 8.0") != std::string::npos);
}

TEST_CASE("occupancy: a compiled kernel's resources are its needs") {
    const lode::KernelResources kernel{
        .kernel = "k", .registers = 40, .shared_bytes = 2048, .barriers = 1};
    const auto needs = BlockNeeds::of(kernel, 128, 4096);
    CHECK(needs.threads == 128);
    CHECK(needs.registers == 40);
    CHECK(needs.static_shared_bytes == 2048);
    CHECK(needs.dynamic_shared_bytes == 4096);
    CHECK(needs.barriers == 1);
}

#ifdef LODE_HAS_CUDA_OCCUPANCY
namespace {

/// What the toolkit's header computes; -1 if it refuses the input.
cudaOccResult toolkit_occupancy(const MultiprocessorLimits& limits, const BlockNeeds& needs) {
    cudaOccDeviceProp device;
    device.computeMajor = limits.cc.cc_major();
    device.computeMinor = limits.cc.cc_minor();
    device.maxThreadsPerBlock = limits.max_threads_per_block;
    device.maxThreadsPerMultiprocessor = limits.threads;
    device.regsPerBlock = limits.registers_per_block;
    device.regsPerMultiprocessor = limits.registers;
    device.warpSize = limits.warp_size;
    device.sharedMemPerBlock = std::size_t{48} * 1024;
    device.sharedMemPerMultiprocessor = limits.shared_bytes;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = limits.shared_bytes_per_block_optin;
    device.reservedSharedMemPerBlock = limits.reserved_shared_bytes_per_block;

    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = limits.max_threads_per_block;
    kernel.numRegs = needs.registers;
    kernel.sharedSizeBytes = needs.static_shared_bytes;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = needs.dynamic_shared_bytes;
    kernel.numBlockBarriers = needs.barriers;

    cudaOccDeviceState state;
    state.carveoutConfig = needs.carve_out_percent.value_or(SHAREDMEM_CARVEOUT_DEFAULT);

    cudaOccResult result{};
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, needs.threads,
                                                needs.dynamic_shared_bytes) != CUDA_OCC_SUCCESS)
        result.activeBlocksPerMultiprocessor = -1;
    return result;
}

}  // namespace

TEST_CASE("occupancy: 600,000 random kernels get the numbers of cuda_occupancy.h") {
    constexpr int kernels_per_capability = 50000;
    std::mt19937 random(12);
    const auto below = [&](int end) {
        return std::uniform_int_distribution<int>(0, end - 1)(random);
    };
    for (const ComputeCapability cc : known_capabilities) {
        auto limits = limits_of(cc.cc_major(), cc.cc_minor());
        // The toolkit gives 8.8 the carve-outs of 8.6, which don't cover its shared memory; before
        // 13.4 it takes 10.7 for a 10.0.
        const bool published = cc != ComputeCapability(8, 8) &&
                               (cc != ComputeCapability(10, 7) || CUDA_VERSION >= 13040);
        if (!published) continue;
        // Before 13.3 it gives 10.3 the barriers of 10.0.
        const bool same_barriers = cc != ComputeCapability(10, 3) || CUDA_VERSION >= 13030;
        long differences = 0;
        for (int i = 0; i < kernels_per_capability; ++i) {
            BlockNeeds needs{.threads = 1 + below(1024),
                             .registers = below(258),
                             .static_shared_bytes = static_cast<std::size_t>(below(49153)),
                             .dynamic_shared_bytes = static_cast<std::size_t>(below(240000)),
                             .barriers = same_barriers ? below(17) : 0};
            if (below(2) == 0) needs.static_shared_bytes = 0;
            if (below(2) == 0) needs.dynamic_shared_bytes /= 16;
            if (below(2) == 0) needs.carve_out_percent = below(101);
            const auto expected = toolkit_occupancy(limits, needs);
            const auto actual = occupancy_for(limits, needs);
            const auto by = [&](OccupancyFactor factor) {
                return actual.blocks_by_factor[static_cast<std::size_t>(factor)];
            };
            // The toolkit refuses shared memory above the largest carve-out; here no block fits.
            const bool same =
                expected.activeBlocksPerMultiprocessor == -1
                    ? actual.blocks == 0
                    : actual.blocks == expected.activeBlocksPerMultiprocessor &&
                          by(OccupancyFactor::warps) == expected.blockLimitWarps &&
                          by(OccupancyFactor::registers) == expected.blockLimitRegs &&
                          by(OccupancyFactor::shared_memory) == expected.blockLimitSharedMem &&
                          by(OccupancyFactor::blocks) == expected.blockLimitBlocks &&
                          by(OccupancyFactor::barriers) == expected.blockLimitBarriers;
            if (same) continue;
            ++differences;
            INFO(cc.to_string(), ": ", needs.threads, " threads, ", needs.registers, " registers, ",
                 needs.static_shared_bytes, " + ", needs.dynamic_shared_bytes, " bytes, ",
                 needs.barriers, " barriers, carve-out ", needs.carve_out_percent.value_or(-1),
                 ": ", actual.blocks, " instead of ", expected.activeBlocksPerMultiprocessor);
            CHECK(same);
            if (differences == 5) break;
        }
    }
}
#endif
