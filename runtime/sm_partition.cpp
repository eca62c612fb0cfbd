#include "base/try.hpp"
#include "runtime/state/device_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/sm_partition.hpp>

#include <algorithm>
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

/// Makes a green context of one resource; an empty partition if there is nothing in it.
Result<SmPartition> partition_of(const std::shared_ptr<DeviceState>& device,
                                 CUdevResource& resource) {
    if (resource.type != CU_DEV_RESOURCE_TYPE_SM || resource.sm.smCount == 0) return SmPartition();
    const DriverTable& table = device->table();
    CUdevResourceDesc description = nullptr;
    LODE_TRY(device->call(table.cuDevResourceGenerateDesc, &description, &resource, 1U));
    CUgreenCtx context = nullptr;
    LODE_TRY(device->call(table.cuGreenCtxCreate, &context, description, device->device,
                          static_cast<unsigned>(CU_GREEN_CTX_DEFAULT_STREAM)));
    return SmPartition(
        std::make_shared<SmPartitionState>(device, context, static_cast<int>(resource.sm.smCount)));
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
    if (options.most == 0)
        return fail(Errc::invalid_argument, "A split into 0 partitions has no meaning.");
    // Each green context refers to the primary context, which is best retained once and for all.
    LODE_TRY_ASSIGN([[maybe_unused]] CUcontext primary, state->context());
    const detail::DriverTable& table = state->table();
    const auto in_split = [&](Error error) {
        return std::move(error).in(fmt::format("splitting {} into partitions of {} multiprocessors",
                                               state->describe(), multiprocessors));
    };
    CUdevResource whole{};
    LODE_TRY(
        state->call(table.cuDeviceGetDevResource, state->device, &whole, CU_DEV_RESOURCE_TYPE_SM)
            .map_error(in_split));
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
    SmSplit made;
    for (unsigned i = 0; i < count; ++i) {
        LODE_TRY_ASSIGN(auto partition, detail::partition_of(state, groups[i]).map_error(in_split));
        made.partitions.push_back(std::move(partition));
    }
    LODE_TRY_ASSIGN(made.rest, detail::partition_of(state, rest).map_error(in_split));
    return made;
}

Result<SmPartition> SmPartition::create(const Device& device, int multiprocessors) {
    LODE_TRY_ASSIGN(SmSplit made, split(device, multiprocessors, {.most = 1}));
    return std::move(made.partitions.front());
}

int SmPartition::multiprocessors() const noexcept {
    return state_ == nullptr ? 0 : state_->multiprocessors;
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

}  // namespace LODE_NAMESPACE
