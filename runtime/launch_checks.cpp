// The slow path of a launch: reports which limit a shape exceeds.
#include "base/align_up.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "runtime/launch_attributes.hpp"
#include "runtime/state/empty.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// Each extent is at least 1 and at most its limit.
Status check_extents(std::string_view what, const Dim3& extents, const Dim3& limits,
                     const DeviceState& device) {
    if (extents.volume() == 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} {} has an extent of 0; each must be at least 1.", what,
                                extents.to_string()));
    }
    struct Axis {
        char name;
        std::uint32_t extent;
        std::uint32_t limit;
    };
    for (const auto& axis : {Axis{'x', extents.x, limits.x}, Axis{'y', extents.y, limits.y},
                             Axis{'z', extents.z, limits.z}}) {
        if (axis.extent > axis.limit) {
            return exceeds_limit(fmt::format("{} extent {}", what, axis.name), axis.extent,
                                 device.describe(), axis.limit);
        }
    }
    return success();
}

/// The most threads per block that the kernel's registers allow. Registers are allocated to warps
/// in units of 256. (CUDA Occupancy Calculator; cuda_occupancy.h)
std::uint64_t threads_by_registers(const KernelState& kernel) {
    constexpr std::uint64_t unit = 256;
    const auto& device = kernel.device->properties;
    const auto warp = static_cast<std::uint64_t>(device.warp_size);
    const auto registers = static_cast<std::uint64_t>(kernel.attributes.registers);
    const std::uint64_t per_warp = std::max(unit, align_up(registers * warp, unit));
    return static_cast<std::uint64_t>(device.registers_per_block) / per_warp * warp;
}

Status check_threads(const KernelState& kernel, const Dim3& block) {
    const auto& device = *kernel.device;
    const std::uint64_t threads = block.volume();
    if (threads <= kernel.limits.threads) return success();
    const auto most = static_cast<std::uint64_t>(device.properties.max_threads_per_block);
    if (threads > most) {
        return exceeds_limit("Threads per block", threads, device.describe(), most);
    }
    const std::string why =
        threads > threads_by_registers(kernel)
            ? fmt::format("which its {} registers per thread and the device's {} per block leave",
                          kernel.attributes.registers, device.properties.registers_per_block)
            : "which its __launch_bounds__ set";
    return exceeds_limit("Threads per block", threads,
                         fmt::format("kernel '{}'", shortened(kernel.name)), kernel.limits.threads,
                         why);
}

/// Whether a cooperative grid fits on the device at once.
Status check_residency(const KernelState& kernel, const LaunchShape& shape) {
    // The driver's occupancy knows no launch attributes, so it can't answer for oversized memory.
    if (shape.dynamic_shared_bytes > kernel.attributes.max_dynamic_shared_bytes) return success();
    const auto threads = static_cast<std::uint32_t>(shape.block.volume());
    LODE_TRY_ASSIGN(const int per_multiprocessor,
                    resident_blocks(kernel, threads, shape.dynamic_shared_bytes));
    const auto multiprocessors = kernel.device->properties.multiprocessors;
    const auto most = static_cast<std::uint64_t>(per_multiprocessor) *
                      static_cast<std::uint64_t>(multiprocessors);
    if (shape.grid.volume() <= most) return success();
    return exceeds_limit("Blocks of a cooperative grid", shape.grid.volume(),
                         kernel.device->describe(), most,
                         fmt::format("{} resident on each of {} multiprocessors",
                                     per_multiprocessor, multiprocessors));
}

/// In messages.
std::string name_of(ArgumentKind kind) {
    if (kind == ArgumentKind::texture) return "texture";
    return kind == ArgumentKind::surface ? "surface" : "buffer";
}

}  // namespace

tl::unexpected<Error> exceeds_limit(const std::string& what, std::uint64_t value,
                                    const std::string& whose, std::uint64_t limit,
                                    std::string_view why) {
    return fail(Errc::out_of_resources,
                fmt::format("{} ({}) exceeds {}, the limit of {}{}{}.", what, value, limit, whose,
                            why.empty() ? "" : ", ", why));
}

Status check_shared(const KernelState& kernel, const LaunchShape& shape) {
    const auto fixed = kernel.attributes.static_shared_bytes;
    const std::uint32_t dynamic_bytes = shape.dynamic_shared_bytes;
    const std::size_t most = most_dynamic_shared(kernel, shape);
    if (dynamic_bytes <= most) return success();
    const std::string why =
        fixed == 0 ? "" : fmt::format("with {} dynamic and {} static bytes", dynamic_bytes, fixed);
    const bool portable = has_shared_memory_mode(shape) &&
                          *shape.attributes->shared_memory_mode == SharedMemoryMode::portable;
    return exceeds_limit("Shared memory per block", dynamic_bytes + fixed,
                         portable ? "SharedMemoryMode::portable" : kernel.device->describe(),
                         most + fixed, why);
}

Status check_limits(const KernelState& kernel, const LaunchShape& shape) {
    LODE_TRY(check_extents("Block", shape.block, kernel.limits.block, *kernel.device));
    LODE_TRY(check_threads(kernel, shape.block));
    LODE_TRY(check_extents("Grid", shape.grid, kernel.limits.grid, *kernel.device));
    return check_shared(kernel, shape);
}

Status check_features(const KernelState& kernel, const LaunchShape& shape) {
    const auto& device = *kernel.device;
    if (shape.programmatic_serialization && !has_programmatic_launches(device)) {
        return fail(Errc::not_supported,
                    fmt::format("Programmatic dependent launch needs compute capability {}; this "
                                "is {}.",
                                programmatic_launches_since.to_string(), device.describe()));
    }
    if (shape.cluster != Dim3{}) LODE_TRY(check_cluster(kernel, shape));
    if (shape.attributes != nullptr) LODE_TRY(check_further_attributes(kernel, shape));
    if (!shape.cooperative) return success();
    if (!device.properties.cooperative_launch) {
        return fail(Errc::not_supported,
                    fmt::format("A cooperative launch isn't supported by {}.", device.describe()));
    }
    return check_residency(kernel, shape);
}

Status check_owners(const KernelState& kernel, std::span<const ArgumentOwner> owners) {
    if (kernel.device == nullptr) return fail_empty("kernel");
    const DeviceState& device = *kernel.device;
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const auto& [kind, has_address, owner] = owners[i];
        if (kind != ArgumentKind::value && !has_address && owner == nullptr) {
            return fail_empty(fmt::format("{} at argument {} of kernel '{}'", name_of(kind), i + 1,
                                          shortened(kernel.name)));
        }
        if (!has_address || owner == nullptr || owner == &device) continue;
        if (owner->was_reset()) {
            return tl::unexpected<Error>(owner->lost_error().in(
                fmt::format("checking argument {} of kernel '{}'", i + 1, shortened(kernel.name))));
        }
        const bool is_memory = kind == ArgumentKind::memory;
        if (is_memory ? device.reaches(*owner) : device.is_same_device(*owner)) continue;
        const bool same_driver = device.same_driver(*owner);
        return fail(Errc::invalid_argument,
                    fmt::format("Argument {} of kernel '{}' is {} of {}{}, but the kernel is "
                                "loaded on {}{}. {}",
                                i + 1, shortened(kernel.name),
                                is_memory ? "memory" : "a " + name_of(kind), owner->describe(),
                                same_driver ? "" : " of the driver " + owner->driver->origin,
                                device.describe(),
                                same_driver ? "" : " of the driver " + device.driver->origin,
                                is_memory ? "Copy it there, or call enable_peer_access() where the "
                                            "devices are linked."
                                          : "Create one there."));
    }
    return success();
}

}  // namespace LODE_NAMESPACE::detail
