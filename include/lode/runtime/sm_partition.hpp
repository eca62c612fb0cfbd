/// \file
/// SmPartition: some of a device's multiprocessors, for streams that must not disturb each other.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct SmPartitionState;
}

/// How a device is split.
struct SmSplitOptions {
    /// The most partitions to make.
    std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    /// Allow smaller partitions whose multiprocessors may be far apart; large clusters don't run on
    /// them (CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING).
    bool ignore_coscheduling = false;
};

struct SmSplit;

/// One of several partitions of different sizes.
struct SmGroup {
    /// An even number of SMs and, unless `fill`, a multiple of `coscheduled`; 0 for all that the
    /// groups before it leave.
    int multiprocessors = 0;
    /// SMs that run one cluster together: 2 … 32 (before 9.0: 2), even; 0 for the device's own
    /// number.
    int coscheduled = 0;
    /// Whether SMs that can't be co-scheduled may fill the partition.
    bool fill = false;
};

/// A partition of a device's multiprocessors (SMs): a green context, which needs a driver for CUDA
/// 12.5 or newer. Kernels on its streams run only on its multiprocessors; memory, libraries and
/// kernels are those of the device. Copies on its streams aren't limited.
///
/// Copies of the object share the partition. It lives until the last copy and the last stream made
/// from it are gone, and keeps the device alive. Thread-safe. A default-constructed or moved-from
/// partition is empty: it has no multiprocessors, and making streams on it fails with
/// invalid_argument.
class SmPartition {
public:
    /// An empty partition, to be assigned to.
    SmPartition() noexcept = default;

    /// One partition with at least `multiprocessors` SMs. The device rounds the number up: from
    /// compute capability 9.0 on to a multiple of 8. Partitions of several calls may share SMs;
    /// split() makes disjoint ones. Errors: invalid_argument for a number that the device doesn't
    /// have; driver_too_old; not_supported; out_of_memory.
    [[nodiscard]] static Result<SmPartition> create(const Device& device, int multiprocessors);

    /// Disjoint partitions with at least `multiprocessors` SMs each, as many as fit, and the rest.
    /// Errors: those of create().
    [[nodiscard]] static Result<SmSplit> split(const Device& device, int multiprocessors,
                                               const SmSplitOptions& options = {});

    /// Disjoint partitions of the sizes in `groups`, in their order, and the rest (driver for CUDA
    /// 13.1). Errors: those of create(); invalid_argument too if the groups don't fit.
    [[nodiscard]] static Result<SmSplit> split(const Device& device,
                                               std::span<const SmGroup> groups);

    /// Whether there is a partition.
    explicit operator bool() const noexcept { return state_ != nullptr; }
    /// How many SMs it has; 0 if it is empty.
    [[nodiscard]] int multiprocessors() const noexcept;

    /// A stream whose kernels run on this partition. `options.blocking` must be false: the driver
    /// allows no stream here that waits for the legacy default stream. Errors: invalid_argument;
    /// device_lost; the driver's own.
    [[nodiscard]] Result<Stream> create_stream(const StreamOptions& options = {}) const;

    /// For lode's own components, not for hosts.
    explicit SmPartition(std::shared_ptr<detail::SmPartitionState> state) noexcept
        : state_(std::move(state)) {}

private:
    std::shared_ptr<detail::SmPartitionState> state_;
};

/// The partitions of SmPartition::split().
struct SmSplit {
    std::vector<SmPartition> partitions;  ///< All of one size, or one for each group.
    SmPartition rest;                     ///< What is left over; empty if nothing is.
};

}  // namespace LODE_NAMESPACE

LODE_API_END
