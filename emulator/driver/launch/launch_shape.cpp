#include "emulator/driver/launch/launch_shape.hpp"

#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"

namespace lode::emulator::driver {
namespace {

bool within(const Dim3& size, std::uint64_t x, std::uint64_t y, std::uint64_t z) noexcept {
    return size.x > 0 && size.y > 0 && size.z > 0 && size.x <= x && size.y <= y && size.z <= z;
}

/// The settings of a function, with what the launch's attributes say instead.
void read_settings(const Function& function, const LaunchAttributes* attributes,
                   FunctionSettings& to) {
    const auto& limits = function.module().context().device().profile.limits;
    const auto own_shared = static_cast<int>(function.info().static_shared);
    const unsigned shared_mode = attributes == nullptr ? 0 : attributes->shared_memory_mode;
    const unsigned cluster_mode = attributes == nullptr ? 0 : attributes->cluster_mode;
    to.max_dynamic_shared = shared_mode == 0 ? function.settings.max_dynamic_shared.load() : -1;
    if (shared_mode > 1)
        to.max_dynamic_shared = static_cast<int>(limits.shared_bytes_per_block_optin) - own_shared;
    to.nonportable_cluster =
        cluster_mode == 0 ? function.settings.nonportable_cluster.load() : cluster_mode == 2;
}

CUresult check_cluster(const Function& function, const FunctionSettings& settings,
                       const exec::GridShape& shape) {
    const KernelInfo& info = function.info();
    const Dim3 size = cluster_of(info, shape.cluster);
    if (size.count() == 0)
        return info.explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    if (info.required_cluster.count() != 0 && size != info.required_cluster)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (size.count() > static_cast<unsigned>(largest_cluster(settings)) ||
        (info.max_cluster_blocks != 0 && size.count() > info.max_cluster_blocks))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const Dim3& grid = shape.grid;
    if (grid.x % size.x != 0 || grid.y % size.y != 0 || grid.z % size.z != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const int fit = clusters_at_once(function.module().context().device().profile, info, settings,
                                     static_cast<int>(shape.block.count()), shape.dynamic_shared,
                                     static_cast<int>(size.count()));
    return fit > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

}  // namespace

CUresult check_shape(const Function& function, const exec::GridShape& shape,
                     const LaunchAttributes* attributes, bool cooperative) {
    const Profile& profile = function.module().context().device().profile;
    const KernelInfo& info = function.info();
    const Dim3& block = shape.block;
    if (!within(shape.grid, max_grid_x, max_grid_yz, max_grid_yz) ||
        !within(block, max_block_x, max_block_y, max_block_z) ||
        block.count() > max_threads_per_block)
        return CUDA_ERROR_INVALID_VALUE;
    if (info.required_ntid.count() > 0 && !(block == info.required_ntid))
        return CUDA_ERROR_INVALID_VALUE;
    if (info.max_ntid.count() > 0 && block.count() > info.max_ntid.count())
        return CUDA_ERROR_INVALID_VALUE;
    const auto threads = static_cast<int>(block.count());
    if (threads > max_threads_of(info)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    FunctionSettings settings;
    read_settings(function, attributes, settings);
    if (shape.dynamic_shared >
        static_cast<unsigned>(max_dynamic_shared_of(function.info(), settings)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!info.too_large.empty()) {
        log::report(info.too_large);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult state = check_cluster(function, settings, shape); state != CUDA_SUCCESS)
        return state;
    if (!cooperative) return CUDA_SUCCESS;
    const int fit = blocks_per_multiprocessor(profile, function.info(), settings, threads,
                                              shape.dynamic_shared);
    const std::uint64_t most =
        static_cast<std::uint64_t>(fit) * static_cast<std::uint64_t>(profile.multiprocessors);
    return shape.grid.count() > most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

}  // namespace lode::emulator::driver
