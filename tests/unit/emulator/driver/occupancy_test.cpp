#include "emulator/driver/code/function_properties.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <optional>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define LODE_HAVE_OCCUPANCY_HEADER 1
#endif

namespace lode::emulator::driver {
namespace {

/// A kernel with these requirements, without a module.
KernelInfo needing(std::uint32_t registers, std::uint32_t static_shared) {
    KernelInfo info;
    info.registers = registers;
    info.static_shared = static_shared;
    return info;
}

}  // namespace

TEST_CASE("emulator occupancy: registers come in allocation units and obey launch bounds") {
    CHECK(registers_of(needing(1, 0)) == 16);
    CHECK(registers_of(needing(33, 0)) == 40);
    CHECK(registers_of(needing(4000, 0)) == 64);  // 65536 for a block of 1024.
    CHECK(max_threads_of(needing(4000, 0)) == 1024);
    CHECK(max_threads_of(needing(64, 0)) == 1024);
    CHECK(max_threads_of(needing(65, 0)) == 1024);
    KernelInfo bounded = needing(200, 0);
    bounded.max_ntid = Dim3{512, 1, 1};
    CHECK(registers_of(bounded) == 128);
    CHECK(max_threads_of(bounded) == 512);
}

TEST_CASE("emulator occupancy: worked examples") {
    const Profile& ampere = *find_profile({8, 0});
    const FunctionSettings settings;
    const auto blocks = [&](std::uint32_t registers, std::uint32_t shared, int threads) {
        return blocks_per_multiprocessor(ampere, needing(registers, shared), settings, threads, 0);
    };
    CHECK(blocks(32, 0, 1024) == 2);         // threads: 2048
    CHECK(blocks(32, 0, 32) == 32);          // blocks: 32
    CHECK(blocks(64, 0, 256) == 4);          // registers: 65536 / (64 * 256)
    CHECK(blocks(16, 40 * 1024, 128) == 4);  // shared: 164 KiB / (40 + 1) KiB
    CHECK(blocks(16, 0, 1025) == 0);
    CHECK(blocks(16, 0, 0) == 0);
}

TEST_CASE("emulator occupancy: the dynamic shared memory for a number of blocks is an H100's") {
    // As an H100 answers (driver 580): equal parts of the multiprocessor's memory, without what the
    // driver reserves in each block, and within what the kernel has opted in to.
    constexpr int answers[] = {232448, 116736, 77824, 58368, 46592, 38912, 33280, 29184};
    const Profile& hopper = *find_profile({9, 0});
    const KernelInfo info = needing(16, 0);
    FunctionSettings settings;
    for (const int limit : {-1, 49152, 57344, 115712, 232448}) {
        settings.max_dynamic_shared = limit;
        for (int blocks = 1; blocks <= 8; ++blocks) {
            const auto bytes = dynamic_shared_for(hopper, info, settings, blocks, 256);
            REQUIRE(bytes.has_value());
            CHECK(*bytes == static_cast<std::size_t>(
                                std::min(answers[blocks - 1], limit < 0 ? 49152 : limit)));
        }
    }
    for (const Profile& profile : profiles())
        CHECK(!dynamic_shared_for(profile, info, settings, 100, 64).has_value());
}

#ifdef LODE_HAVE_OCCUPANCY_HEADER
TEST_CASE("emulator occupancy: NVIDIA's own calculator agrees on every architecture") {
    int compared = 0;
    for (const Profile& profile : profiles()) {
        // Older headers take 10.7 for a 10.0.
        if (profile.cc.number() == 107 && CUDA_VERSION < 13040) continue;
        cudaOccDeviceProp device;
        device.computeMajor = profile.cc.cc_major();
        device.computeMinor = profile.cc.cc_minor();
        device.maxThreadsPerBlock = max_threads_per_block;
        device.maxThreadsPerMultiprocessor = profile.limits.threads;
        device.regsPerBlock = registers_per_block;
        device.regsPerMultiprocessor = registers_per_multiprocessor;
        device.warpSize = warp_size;
        device.sharedMemPerBlock = shared_bytes_per_block;
        device.sharedMemPerMultiprocessor = profile.limits.shared_bytes;
        device.numSms = profile.multiprocessors;
        device.sharedMemPerBlockOptin = profile.limits.shared_bytes_per_block_optin;
        device.reservedSharedMemPerBlock =
            static_cast<std::size_t>(profile.reserved_shared_bytes());
        for (const std::uint32_t registers : {16U, 32U, 40U, 64U, 128U, 200U, 255U}) {
            for (const std::uint32_t shared : {0U, 1000U, 8192U, 20000U, 49152U}) {
                const KernelInfo info = needing(registers, shared);
                cudaOccFuncAttributes function;
                function.maxThreadsPerBlock = max_threads_of(info);
                function.numRegs = registers_of(info);
                function.sharedSizeBytes = shared;
                function.shmemLimitConfig = FUNC_SHMEM_LIMIT_DEFAULT;
                function.maxDynamicSharedSizeBytes = 0;
                cudaOccDeviceState state;
                state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
                for (int threads = 32; threads <= 1024; threads += 96) {
                    cudaOccResult result;
                    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state,
                                                                threads, 0) != CUDA_OCC_SUCCESS)
                        continue;
                    CAPTURE(profile.cc.number());
                    CAPTURE(registers);
                    CAPTURE(shared);
                    CAPTURE(threads);
                    const FunctionSettings settings;
                    CHECK(blocks_per_multiprocessor(profile, info, settings, threads, 0) ==
                          result.activeBlocksPerMultiprocessor);
                    ++compared;
                }
            }
        }
    }
    CHECK(compared > 1000);
}
#endif

TEST_CASE("emulator occupancy: through the driver's entry points") {
    using namespace lode::emulator_test;
    const lode::emulator_test::Machine machine("sm_75,sm_90");
    CUlibrary library = nullptr;
    REQUIRE(CU(cuLibraryLoadData, 12000)(&library, store_ptx, nullptr, nullptr, 0, nullptr, nullptr,
                                         0) == CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "store") == CUDA_SUCCESS);
    const auto function = reinterpret_cast<CUfunction>(kernel);
    int blocks = -1;
    {
        const Current scope(0);
        CHECK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)(&blocks, function, 256, 0) ==
              CUDA_SUCCESS);
        CHECK(blocks == 4);
    }
    const Current scope(1);
    CHECK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)(&blocks, function, 256, 0) ==
          CUDA_SUCCESS);
    CHECK(blocks == 8);
    CHECK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)(&blocks, function, 0, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    int grid = 0;
    int block = 0;
    CHECK(CU(cuOccupancyMaxPotentialBlockSize, 6050)(&grid, &block, function, nullptr, 0, 0) ==
          CUDA_SUCCESS);
    CHECK(block == 1024);
    CHECK(grid == 2 * 132);
    CHECK(CU(cuOccupancyMaxPotentialBlockSize, 6050)(&grid, &block, function, nullptr, 0, 100) ==
          CUDA_SUCCESS);
    CHECK(block == 64);
    std::size_t bytes = 0;
    CHECK(CU(cuOccupancyAvailableDynamicSMemPerBlock, 10020)(&bytes, function, 2, 256) ==
          CUDA_SUCCESS);
    CHECK(bytes == 48 * 1024);  // The kernel has opted in to no more.
}

}  // namespace lode::emulator::driver
