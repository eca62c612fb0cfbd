#include "base/cuda_additions.hpp"
#include "base/try.hpp"
#include "runtime/state/device_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/sm_partition.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <cuda.h>
#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

/// A green context.
struct SmPartitionState {
    SmPartitionState(std::shared_ptr<DeviceState> its_device, CUgreenCtx its_context, int count)
        : device(std::move(its_device)), context(its_context), multiprocessors(count) {}
    ~SmPartitionState() {
        if (device->notice_reset()) return;
        const auto& destroy = device->table().cuGreenCtxDestroy;
        device->report_destroy(destroy.name, destroy(context));
    }
    SmPartitionState(const SmPartitionState&) = delete;
    SmPartitionState& operator=(const SmPartitionState&) = delete;

    const std::shared_ptr<DeviceState> device;
    // NOLINTNEXTLINE(misc-misplaced-const): the handle stays.
    const CUgreenCtx context;
    const int multiprocessors;
};

namespace {

constexpr int first_with_work_queues = 13010;

/// Success if a partition of the device can have these work queues.
Status check_work_queues(const DeviceState& device, const std::optional<WorkQueues>& queues) {
    if (!queues) return {};
    LODE_TRY(device.driver->require_version(first_with_work_queues,
                                            "A partition with its own work queues"));
    if (queues->of == nullptr) return {};
    const auto& other = queues->of->state();
    if (other == nullptr) return fail_empty("partition in WorkQueues::of");
    if (other->device.get() != &device) {
        return fail(Errc::invalid_argument,
                    fmt::format("The partition in WorkQueues::of belongs to {}, but the new one to "
                                "{}.",
                                other->device->describe(), device.describe()));
    }
    if (queues->concurrency == 0 && !queues->balanced) return {};
    return fail(Errc::invalid_argument,
                "WorkQueues::of names a partition whose queues are used as they are; leave "
                "concurrency and balanced unset.");
}

/// The driver's form of work queues that check_work_queues() has passed.
Result<CUdevResource> resource_of_queues(const std::shared_ptr<DeviceState>& device,
                                         const WorkQueues& queues) {
    const DriverTable& table = device->table();
    CUdevResource resource{};
    if (queues.of != nullptr) {
        LODE_TRY(device->call(table.cuGreenCtxGetDevResource, queues.of->state()->context,
                              &resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
        return resource;
    }
    LODE_TRY(device->call(table.cuDeviceGetDevResource, device->device, &resource,
                          CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
    auto config = contents_of<CUdevWorkqueueConfigResource>(resource);
    if (queues.concurrency != 0) config.wqConcurrencyLimit = queues.concurrency;
    config.sharingScope =
        queues.balanced ? CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED : CU_WORKQUEUE_SCOPE_DEVICE_CTX;
    std::memcpy(static_cast<void*>(&resource.sm), &config, sizeof(config));
    return resource;
}

WorkQueues queues_of(const CUdevResource& resource) noexcept {
    const auto config = contents_of<CUdevWorkqueueConfigResource>(resource);
    return {.concurrency = config.wqConcurrencyLimit,
            .balanced = config.sharingScope == CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED};
}

/// Makes a green context of some multiprocessors; an empty partition if there are none.
Result<SmPartition> partition_of(const std::shared_ptr<DeviceState>& device,
                                 const CUdevResource& resource,
                                 const std::optional<WorkQueues>& queues = std::nullopt) {
    if (resource.type != CU_DEV_RESOURCE_TYPE_SM || resource.sm.smCount == 0) return SmPartition();
    const DriverTable& table = device->table();
    std::array<CUdevResource, 2> resources = {resource};
    if (queues) {
        LODE_TRY_ASSIGN(resources[1], resource_of_queues(device, *queues));
    }
    CUdevResourceDesc description = nullptr;
    LODE_TRY(device->call(table.cuDevResourceGenerateDesc, &description, resources.data(),
                          queues ? 2U : 1U));
    CUgreenCtx context = nullptr;
    LODE_TRY(device->call(table.cuGreenCtxCreate, &context, description, device->device,
                          static_cast<unsigned>(CU_GREEN_CTX_DEFAULT_STREAM)));
    return SmPartition(
        std::make_shared<SmPartitionState>(device, context, static_cast<int>(resource.sm.smCount)));
}

/// The partitions of the driver's groups, each with its work queues, and what they leave.
Result<SmSplit> split_of(const std::shared_ptr<DeviceState>& device,
                         std::span<const CUdevResource> groups, const CUdevResource& rest,
                         std::span<const std::optional<WorkQueues>> queues) {
    SmSplit made;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        LODE_TRY_ASSIGN(auto partition, partition_of(device, groups[i], queues[i]));
        made.partitions.push_back(std::move(partition));
    }
    LODE_TRY_ASSIGN(made.rest, partition_of(device, rest));
    return made;
}

/// All SMs of a device. Each green context refers to the primary context, which is best retained
/// once and for all.
Result<CUdevResource> whole_of(const std::shared_ptr<DeviceState>& device) {
    LODE_TRY_ASSIGN([[maybe_unused]] CUcontext primary, device->context());
    CUdevResource whole{};
    LODE_TRY(device->call(device->table().cuDeviceGetDevResource, device->device, &whole,
                          CU_DEV_RESOURCE_TYPE_SM));
    return whole;
}

Status check_partitioning(const DeviceState& device, int multiprocessors) {
    LODE_TRY(device.driver->require(device.table().cuGreenCtxStreamCreate,
                                    "A partition of the multiprocessors"));
    const int all = device.properties.multiprocessors;
    if (multiprocessors >= 1 && multiprocessors <= all) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A partition of {} multiprocessors isn't possible: it has from 1 to "
                            "all {} of {}.",
                            multiprocessors, all, device.describe()));
}

}  // namespace
}  // namespace detail

Result<SmSplit> SmPartition::split(const Device& device, int multiprocessors,
                                   const SmSplitOptions& options) {
    const auto& state = device.state();
    LODE_TRY(detail::check_partitioning(*state, multiprocessors));
    LODE_TRY(detail::check_work_queues(*state, options.work_queues));
    if (options.most == 0)
        return fail(Errc::invalid_argument, "A split into 0 partitions has no meaning.");
    const detail::DriverTable& table = state->table();
    const auto in_split = [&](Error error) {
        return std::move(error).in(fmt::format("splitting {} into partitions of {} multiprocessors",
                                               state->describe(), multiprocessors));
    };
    LODE_TRY_ASSIGN(const CUdevResource whole, detail::whole_of(state).map_error(in_split));
    const unsigned flags =
        options.ignore_coscheduling ? unsigned{CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING} : 0;
    const auto least = static_cast<unsigned>(multiprocessors);
    unsigned count = 0;
    LODE_TRY(state
                 ->call(table.cuDevSmResourceSplitByCount, static_cast<CUdevResource*>(nullptr),
                        &count, &whole, static_cast<CUdevResource*>(nullptr), flags, least)
                 .map_error(in_split));
    count = std::min(count, options.most);
    std::vector<CUdevResource> groups(count);
    CUdevResource rest{};
    LODE_TRY(state
                 ->call(table.cuDevSmResourceSplitByCount, groups.data(), &count, &whole, &rest,
                        flags, least)
                 .map_error(in_split));
    const std::vector queues(count, options.work_queues);
    return detail::split_of(state, std::span(groups).first(count), rest, queues)
        .map_error(in_split);
}

Result<SmSplit> SmPartition::split(const Device& device, std::span<const SmGroup> groups) {
    const auto& state = device.state();
    const detail::DriverTable& table = state->table();
    LODE_TRY(state->driver->require(table.cuDevSmResourceSplit,
                                    "A split into partitions of different sizes"));
    if (groups.empty())
        return fail(Errc::invalid_argument, "A split into no groups has no meaning.");
    std::vector<CU_DEV_SM_RESOURCE_GROUP_PARAMS> wishes(groups.size());
    std::vector<std::optional<WorkQueues>> queues;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& [multiprocessors, coscheduled, fill, work_queues] = groups[i];
        LODE_TRY(detail::check_work_queues(*state, work_queues));
        queues.push_back(work_queues);
        if (multiprocessors != 0) LODE_TRY(detail::check_partitioning(*state, multiprocessors));
        if (coscheduled < 0) {
            return fail(Errc::invalid_argument,
                        fmt::format("SmGroup::coscheduled ({}) is negative.", coscheduled));
        }
        wishes[i].smCount = static_cast<unsigned>(multiprocessors);
        wishes[i].coscheduledSmCount = static_cast<unsigned>(coscheduled);
        wishes[i].flags = fill ? unsigned{CU_DEV_SM_RESOURCE_GROUP_BACKFILL} : 0;
    }
    const auto in_split = [&](Error error) {
        return std::move(error).in(
            fmt::format("splitting {} into {} partitions", state->describe(), groups.size()));
    };
    LODE_TRY_ASSIGN(const CUdevResource whole, detail::whole_of(state).map_error(in_split));
    std::vector<CUdevResource> made(groups.size());
    CUdevResource rest{};
    LODE_TRY(state
                 ->call(table.cuDevSmResourceSplit, made.data(),
                        static_cast<unsigned>(groups.size()), &whole, &rest, 0U, wishes.data())
                 .map_error(in_split));
    return detail::split_of(state, made, rest, queues).map_error(in_split);
}

Result<SmPartition> SmPartition::create(const Device& device, int multiprocessors,
                                        const std::optional<WorkQueues>& queues) {
    LODE_TRY_ASSIGN(SmSplit made,
                    split(device, multiprocessors, {.most = 1, .work_queues = queues}));
    return std::move(made.partitions.front());
}

int SmPartition::multiprocessors() const noexcept {
    return state_ == nullptr ? 0 : state_->multiprocessors;
}

Result<WorkQueues> SmPartition::work_queues() const {
    if (state_ == nullptr) return detail::fail_empty("partition");
    const auto& device = *state_->device;
    LODE_TRY(
        device.driver->require_version(detail::first_with_work_queues, "Asking for work queues"));
    CUdevResource resource{};
    LODE_TRY(state_->device->call(device.table().cuGreenCtxGetDevResource, state_->context,
                                  &resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
    return detail::queues_of(resource);
}

Result<WorkQueues> SmPartition::work_queues(const Device& device) {
    const auto& state = device.state();
    LODE_TRY(
        state->driver->require_version(detail::first_with_work_queues, "Asking for work queues"));
    LODE_TRY_ASSIGN(const CUdevResource resource, detail::resource_of_queues(state, WorkQueues{}));
    return detail::queues_of(resource);
}

Result<Stream> SmPartition::create_stream(const StreamOptions& options) const {
    if (state_ == nullptr) return detail::fail_empty("partition");
    if (options.blocking) {
        return fail(Errc::invalid_argument,
                    "A stream of a partition can't be blocking: it isn't ordered with the legacy "
                    "default stream.");
    }
    auto& device = *state_->device;
    CUstream stream = nullptr;
    LODE_TRY(device.call(device.table().cuGreenCtxStreamCreate, &stream, state_->context,
                         static_cast<unsigned>(CU_STREAM_NON_BLOCKING), options.priority));
    // The stream's owner is its device, and through it also the partition.
    const std::shared_ptr<detail::DeviceState> owner(state_, &device);
    UniqueHandle<detail::StreamTraits> handle(stream, owner);
    return Stream(std::move(handle), std::make_unique<detail::StreamState>(device));
}

Status SmPartition::record(const Event& event) const {
    if (state_ == nullptr) return detail::fail_empty("partition");
    if (!event) return detail::fail_empty("event");
    auto& device = *state_->device;
    if (event.owner() != &device) {
        return fail(Errc::invalid_argument,
                    fmt::format("The event belongs to {}, but the partition to {}.",
                                event.owner()->describe(), device.describe()));
    }
    return detail::call_in_context(device, device.table().cuGreenCtxRecordEvent, state_->context,
                                   event.native());
}

Status SmPartition::wait(const Event& event) const {
    if (state_ == nullptr) return detail::fail_empty("partition");
    if (!event) return detail::fail_empty("event");
    auto& device = *state_->device;
    return detail::call_in_context(device, device.table().cuGreenCtxWaitEvent, state_->context,
                                   event.native());
}

}  // namespace LODE_NAMESPACE
