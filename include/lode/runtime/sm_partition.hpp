/// \file
/// SmPartition: some of a device's multiprocessors and work queues, for streams that must not
/// disturb each other.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct SmPartitionState;
}

class SmPartition;

/// The work queues that carry a partition's work to the device (driver for CUDA 13.1). Two streams
/// in one queue may wait for each other, even on disjoint multiprocessors.
struct WorkQueues {
    /// How many streams have work at once. More than the device's queues may share some; 0 for all
    /// that the device has.
    std::uint32_t concurrency = 0;
    /// Whether to use queues that no other balanced partition uses, where there are enough
    /// (CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED). Otherwise everything on the device shares all.
    bool balanced = false;
    /// The partition whose queues are used too, in place of queues with the settings above.
    const SmPartition* of = nullptr;
};

/// How a device is split.
struct SmSplitOptions {
    /// The most partitions to make.
    std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    /// Allow smaller partitions whose multiprocessors may be far apart; large clusters don't run on
    /// them (CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING).
    bool ignore_coscheduling = false;
    /// Work queues for each partition but the rest; unset for those that the device shares.
    std::optional<WorkQueues> work_queues = std::nullopt;
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
    /// Its work queues; unset for those that the device shares.
    std::optional<WorkQueues> work_queues = std::nullopt;
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
    /// have, and for queues of an empty partition or of another device's; driver_too_old;
    /// not_supported; out_of_memory.
    [[nodiscard]] static Result<SmPartition> create(
        const Device& device, int multiprocessors,
        const std::optional<WorkQueues>& queues = std::nullopt);

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

    /// The settings of the partition's work queues; `of` is null. Errors: invalid_argument for an
    /// empty partition; driver_too_old; device_lost; the driver's own.
    [[nodiscard]] Result<WorkQueues> work_queues() const;
    /// The settings of a device's own: `concurrency` is the number that it keeps apart.
    [[nodiscard]] static Result<WorkQueues> work_queues(const Device& device);

    /// A stream whose kernels run on this partition. `options.blocking` must be false: the driver
    /// allows no stream here that waits for the legacy default stream. Errors: invalid_argument;
    /// device_lost; the driver's own.
    [[nodiscard]] Result<Stream> create_stream(const StreamOptions& options = {}) const;

    /// Records all work that the partition's streams have so far, replacing an earlier record
    /// (cuGreenCtxRecordEvent). Errors: invalid_argument for an event of another device;
    /// capture_active while one of the streams is being captured.
    [[nodiscard]] Status record(const Event& event) const;
    /// Makes later work on all streams of the partition, also on future ones, wait for the event,
    /// which may be of another device (cuGreenCtxWaitEvent). Errors: invalid_argument;
    /// capture_active as for record().
    [[nodiscard]] Status wait(const Event& event) const;

    /// For lode's own components, not for hosts.
    explicit SmPartition(std::shared_ptr<detail::SmPartitionState> state) noexcept
        : state_(std::move(state)) {}
    /// The same.
    [[nodiscard]] const std::shared_ptr<detail::SmPartitionState>& state() const noexcept {
        return state_;
    }

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
