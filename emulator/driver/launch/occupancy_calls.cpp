// cuOccupancy…
#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/code/functions.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/launch/launch_attributes.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

constexpr unsigned known_occupancy_flags = CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE;

/// enter_function() with the profile of the function's device.
template <class Body>
CUresult enter_with_profile(const char* symbol, CUfunction handle, Body&& body) noexcept {
    return enter_function(symbol, handle, [&](Function& function) -> CUresult {
        return body(function, function.module().context().device().profile);
    });
}

CUresult max_blocks(const char* symbol, int* blocks, CUfunction handle, int threads,
                    std::size_t dynamic_shared, unsigned flags) {
    return enter_with_profile(symbol, handle, [&](Function& function, const Profile& profile) {
        if (blocks == nullptr || threads <= 0 || (flags & ~known_occupancy_flags) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        *blocks = blocks_per_multiprocessor(profile, function.info(), function.settings, threads,
                                            dynamic_shared);
        return CUDA_SUCCESS;
    });
}

CUresult best_block(const char* symbol, int* min_grid, int* block, CUfunction handle,
                    CUoccupancyB2DSize shared_for, std::size_t dynamic_shared, int limit,
                    unsigned flags) {
    return enter_with_profile(symbol, handle, [&](Function& function, const Profile& profile) {
        if (min_grid == nullptr || block == nullptr || limit < 0 ||
            (flags & ~known_occupancy_flags) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        int most = max_threads_of(function.info());
        if (limit > 0) most = std::min(most, limit);
        int best_threads = 0;
        int best_blocks = 0;
        // Tries whole warps in descending order, starting with the limit even if it isn't a whole
        // number.
        for (int threads = most; threads > 0; threads = (threads - 1) / warp_size * warp_size) {
            const std::size_t shared = shared_for == nullptr ? dynamic_shared : shared_for(threads);
            const int blocks = blocks_per_multiprocessor(profile, function.info(),
                                                         function.settings, threads, shared);
            if (blocks * threads > best_blocks * best_threads) {
                best_threads = threads;
                best_blocks = blocks;
            }
        }
        *block = best_threads;
        *min_grid = best_blocks * profile.multiprocessors;
        return CUDA_SUCCESS;
    });
}

/// The cluster of a launch, for which body(cluster, fit) is called; fit(blocks) is the number of
/// clusters of that many blocks that the device runs at once.
template <class Body>
CUresult with_clusters(Function& function, const Profile& profile, const CUlaunchConfig& config,
                       Body&& body) {
    LaunchAttributes attributes;
    const Context& context = function.module().context();
    if (const CUresult state = read_launch_attributes(config, context, attributes);
        state != CUDA_SUCCESS)
        return state;
    const Dim3 block{config.blockDimX, config.blockDimY, config.blockDimZ};
    if (block.count() == 0 || block.count() > max_threads_per_block)
        return CUDA_ERROR_INVALID_VALUE;
    const Dim3 cluster = cluster_of(function.info(), attributes.cluster);
    return body(static_cast<int>(std::max<std::uint64_t>(1, cluster.count())), [&](int blocks) {
        return clusters_at_once(profile, function.info(), function.settings,
                                static_cast<int>(block.count()), config.sharedMemBytes, blocks);
    });
}

}  // namespace

LODE_ENTRY cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func,
                                        const CUlaunchConfig* config) {
    return enter_with_profile(__func__, func, [&](Function& function, const Profile& profile) {
        if (numClusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return with_clusters(function, profile, *config, [&](int blocks, auto&& fit) {
            if (blocks > largest_cluster(function.settings)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
            *numClusters = fit(blocks);
            return CUDA_SUCCESS;
        });
    });
}

LODE_ENTRY cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func,
                                              const CUlaunchConfig* config) {
    return enter_with_profile(__func__, func, [&](Function& function, const Profile& profile) {
        if (clusterSize == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return with_clusters(function, profile, *config, [&](int, auto&& fit) {
            int most = has_clusters(profile) ? largest_cluster(function.settings) : 1;
            while (most > 0 && fit(most) == 0)
                most /= 2;
            *clusterSize = most;
            return CUDA_SUCCESS;
        });
    });
}

LODE_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func,
                                                       int blockSize, size_t dynamicSMemSize) {
    return max_blocks(__func__, numBlocks, func, blockSize, dynamicSMemSize, 0);
}

LODE_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func,
                                                                int blockSize,
                                                                size_t dynamicSMemSize,
                                                                unsigned int flags) {
    return max_blocks(__func__, numBlocks, func, blockSize, dynamicSMemSize, flags);
}

LODE_ENTRY cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                            CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                            size_t dynamicSMemSize, int blockSizeLimit) {
    return best_block(__func__, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                      dynamicSMemSize, blockSizeLimit, 0);
}

LODE_ENTRY cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize,
                                                     CUfunction func,
                                                     CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                     size_t dynamicSMemSize, int blockSizeLimit,
                                                     unsigned int flags) {
    return best_block(__func__, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                      dynamicSMemSize, blockSizeLimit, flags);
}

LODE_ENTRY cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func,
                                                   int numBlocks, int blockSize) {
    return enter_with_profile(__func__, func, [&](Function& function, const Profile& profile) {
        const auto bytes =
            dynamic_shared_for(profile, function.info(), function.settings, numBlocks, blockSize);
        if (dynamicSmemSize == nullptr || !bytes) return CUDA_ERROR_INVALID_VALUE;
        *dynamicSmemSize = *bytes;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
