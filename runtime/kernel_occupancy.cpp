#include "base/message_text.hpp"
#include "runtime/launch_attributes.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/kernel_occupancy.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// Success if the shape can be launched; opts in to its shared memory and its cluster.
Status check_cluster_shape(const detail::KernelState& kernel, const LaunchShape& shape) {
    LODE_TRY(detail::check_limits(kernel, shape));
    LODE_TRY(detail::check_features(kernel, shape));
    return detail::opt_in_to_shared(kernel, shape.dynamic_shared_bytes);
}

template <class Function>
Result<int> ask_about_clusters(const detail::KernelState& kernel,
                               const detail::EntryPoint<Function>& entry,
                               const LaunchShape& shape) {
    detail::DriverAttributes attributes(shape);
    const CUlaunchConfig config = detail::driver_config(shape, nullptr, attributes);
    int answer = 0;
    LODE_TRY(detail::call_in_context(*kernel.device, entry, &answer, kernel.function, &config));
    return answer;
}

}  // namespace

Result<int> max_active_clusters(const UntypedKernel& kernel, const LaunchShape& shape) {
    if (!kernel) return detail::fail_empty("kernel");
    const auto& state = kernel.state();
    LODE_TRY(check_cluster_shape(state, shape));
    return ask_about_clusters(state, state.device->table().cuOccupancyMaxActiveClusters, shape);
}

Result<int> max_cluster_size(const UntypedKernel& kernel, const LaunchShape& shape) {
    if (!kernel) return detail::fail_empty("kernel");
    const auto& state = kernel.state();
    LaunchShape without = shape;
    without.cluster = {};
    LODE_TRY(check_cluster_shape(state, without));
    if (!state.device->properties.cluster_launch) {
        return fail(Errc::not_supported,
                    fmt::format("{} has no clusters.", state.device->describe()));
    }
    if (shape.attributes != nullptr && shape.attributes->non_portable_cluster)
        LODE_TRY(detail::opt_in_to_large_clusters(state));
    return ask_about_clusters(state, state.device->table().cuOccupancyMaxPotentialClusterSize,
                              without);
}

Result<std::size_t> available_dynamic_shared(const UntypedKernel& kernel, std::uint32_t blocks,
                                             std::uint32_t threads_per_block) {
    if (!kernel) return detail::fail_empty("kernel");
    const auto& state = kernel.state();
    LaunchShape shape;
    shape.block.x = threads_per_block;
    LODE_TRY(detail::check_limits(state, shape));
    if (blocks == 0)
        return fail(Errc::invalid_argument, "The number of blocks per multiprocessor is 0.");
    LODE_TRY_ASSIGN(const int most, detail::resident_blocks(state, threads_per_block, 0));
    if (blocks > static_cast<std::uint32_t>(most)) {
        return detail::exceeds_limit(
            fmt::format("Blocks of {} threads per multiprocessor", threads_per_block), blocks,
            fmt::format("kernel '{}' on {}", shortened(state.name), state.device->describe()),
            static_cast<std::uint64_t>(most));
    }
    // The driver answers within what the kernel has opted in to so far.
    const std::size_t limit = state.attributes.max_dynamic_shared_bytes;
    LODE_TRY(detail::opt_in_to_shared(state, static_cast<std::uint32_t>(limit)));
    std::size_t bytes = 0;
    LODE_TRY(detail::call_in_context(
        *state.device, state.device->table().cuOccupancyAvailableDynamicSMemPerBlock, &bytes,
        state.function, static_cast<int>(blocks), static_cast<int>(threads_per_block)));
    bytes = std::min(bytes, limit);
    // Some answers leave out what the driver reserves in each block, and one block fewer fits.
    LODE_TRY_ASSIGN(const int fitting, detail::resident_blocks(state, threads_per_block,
                                                               static_cast<std::uint32_t>(bytes)));
    if (static_cast<std::uint32_t>(fitting) >= blocks) return bytes;
    const std::size_t reserved = state.device->properties.reserved_shared_bytes_per_block;
    return bytes - std::min(bytes, reserved);
}

Result<LaunchShape> suggest_launch(const UntypedKernel& kernel, std::uint64_t elements,
                                   std::size_t dynamic_shared_bytes) {
    return suggest_launch(kernel, elements, [=](std::uint32_t) { return dynamic_shared_bytes; });
}

Result<LaunchShape> suggest_launch(const UntypedKernel& kernel, std::uint64_t elements,
                                   const SharedBytesOfBlock& dynamic_shared_bytes) {
    if (!kernel) return detail::fail_empty("kernel");
    const auto& state = kernel.state();
    constexpr std::uint32_t preferred_least = 128;
    const auto warp = static_cast<std::uint32_t>(std::max(state.device->properties.warp_size, 1));
    std::uint32_t best_threads = 0;
    std::size_t best_shared = 0;
    std::uint32_t best_resident = 0;
    for (std::uint32_t threads = std::min(warp, state.limits.threads);
         threads <= state.limits.threads; threads += warp) {
        const std::size_t shared = dynamic_shared_bytes(threads);
        if (shared > state.attributes.max_dynamic_shared_bytes) continue;
        LODE_TRY_ASSIGN(const int blocks, detail::resident_blocks(
                                              state, threads, static_cast<std::uint32_t>(shared)));
        const std::uint32_t resident = static_cast<std::uint32_t>(blocks) * threads;
        const bool larger_on_a_tie = resident == best_resident && best_threads < preferred_least;
        if (resident == 0 || (resident <= best_resident && !larger_on_a_tie)) continue;
        best_threads = threads;
        best_shared = shared;
        best_resident = resident;
    }
    if (best_threads == 0) {
        return fail(Errc::out_of_resources,
                    fmt::format("No block size of kernel '{}' fits on {} with its shared memory.",
                                shortened(state.name), state.device->describe()));
    }
    LaunchShape shape = cover(elements, best_threads);
    shape.dynamic_shared_bytes = static_cast<std::uint32_t>(best_shared);
    return shape;
}

}  // namespace LODE_NAMESPACE
