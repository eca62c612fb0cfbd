// The resources of devices and of green contexts, as their CUdevResource stores them.
#include "emulator/driver/context/dev_resource.hpp"

#include "base/align_up.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>

namespace lode::emulator::driver {
namespace {

constexpr int first_with_work_queues = 13010;

/// The emulator's part of a CUdevResource, in the driver's private bytes. The caller may have
/// changed it, so it is checked whenever it is read.
struct StoredRange {
    std::uint64_t mark;
    MultiprocessorRange range;
};
static_assert(sizeof(StoredRange) <= sizeof(CUdevResource::_internal_padding));
constexpr std::uint64_t range_mark = 0x6c6f6465'534d7273;

/// The smallest group of multiprocessors and the number that each is a multiple of.
struct Granularity {
    unsigned least;
    unsigned unit;
};

/// Programming Guide, "Green Contexts": per compute capability; `alone` is without co-scheduling.
Granularity granularity_of(const Profile& profile, bool alone) noexcept {
    constexpr int ampere = 8;
    constexpr int hopper = 9;
    if (alone) return {2, 2};
    if (profile.cc.cc_major() >= hopper) return {8, 8};
    return profile.cc.cc_major() >= ampere ? Granularity{4, 2} : Granularity{2, 2};
}

void write_range(CUdevResource& resource, const Profile& profile,
                 const MultiprocessorRange& range) {
    resource = {};
    if (range.count == 0) return;  // CU_DEV_RESOURCE_TYPE_INVALID
    const Granularity granularity = granularity_of(profile, false);
    resource.type = CU_DEV_RESOURCE_TYPE_SM;
    resource.sm.smCount = range.count;
    resource.sm.minSmPartitionSize = granularity.least;
    resource.sm.smCoscheduledAlignment = granularity.unit;
    const StoredRange stored{range_mark, range};
    std::memcpy(&resource._internal_padding[0], &stored, sizeof(stored));
}

/// nullopt unless write_range() made the resource for a device of this machine.
std::optional<MultiprocessorRange> read_range(const CUdevResource& resource) {
    StoredRange stored{};
    std::memcpy(&stored, &resource._internal_padding[0], sizeof(stored));
    const Device* device = driver().device(stored.range.device);
    if (stored.mark != range_mark || device == nullptr) return std::nullopt;
    const auto all = static_cast<std::uint64_t>(device->profile.multiprocessors);
    const MultiprocessorRange& range = stored.range;
    if (range.count == 0 || std::uint64_t{range.first} + range.count > all) return std::nullopt;
    return range;
}

/// The emulator's part of a CUdevResource of work queues, in the driver's bytes.
struct StoredQueues {
    std::uint64_t mark;
    WorkQueues queues;
};
constexpr std::uint64_t queues_mark = 0x6c6f6465'71756575;

bool has_work_queues(CUdevResourceType type) noexcept {
    return reported_version() >= first_with_work_queues &&
           (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG ||
            type == CU_DEV_RESOURCE_TYPE_WORKQUEUE);
}

CUdevResource resource_of_queues(CUdevResourceType type, const WorkQueues& queues) noexcept {
    if (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE)
        return resource_of(type, StoredQueues{queues_mark, queues});
    return resource_of(
        type, CUdevWorkqueueConfigResource{queues.device, queues.concurrency,
                                           static_cast<CUdevWorkqueueConfigScope>(queues.scope)});
}

/// Existing queues that resource_of_queues() stored, or the configuration of new ones, which the
/// caller may write; nullopt for wrong values.
std::optional<WorkQueues> read_queues(const CUdevResource& resource) {
    WorkQueues queues;
    if (resource.type == CU_DEV_RESOURCE_TYPE_WORKQUEUE) {
        const auto stored = contents_of<StoredQueues>(resource);
        if (stored.mark != queues_mark) return std::nullopt;
        queues = stored.queues;
    } else {
        const auto config = contents_of<CUdevWorkqueueConfigResource>(resource);
        queues.device = config.device;
        queues.concurrency = config.wqConcurrencyLimit;
        std::memcpy(&queues.scope, &config.sharingScope, sizeof(queues.scope));
    }
    const bool valid = driver().device(queues.device) != nullptr && queues.concurrency != 0 &&
                       queues.scope <= CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
    return valid ? std::optional(queues) : std::nullopt;
}

/// The size of each group in a split.
unsigned group_size(const Profile& profile, unsigned flags, unsigned wanted) {
    constexpr unsigned largest_cluster = 16;
    const Granularity granularity =
        granularity_of(profile, (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0);
    unsigned least = std::max(wanted, granularity.least);
    if ((flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) != 0)
        least = std::max(least, largest_cluster);
    return align_up(least, granularity.unit);
}

/// A green context's multiprocessors. Several ranges count as one here: which multiprocessors they
/// are has no meaning.
void write_ranges(CUdevResource& resource, const ResourceDescription& description) {
    MultiprocessorRange range = description.ranges.front();
    range.split = 0;  // It can be split again.
    range.count = 0;
    for (const auto& part : description.ranges) {
        range.first = std::min(range.first, part.first);
        range.count += part.count;
    }
    write_range(resource, driver().device(description.device)->profile, range);
}

/// Whether several ranges may form one description: parts of one split, each at most once.
bool belong_together(const std::vector<MultiprocessorRange>& ranges) {
    std::set<std::uint32_t> firsts;
    for (const auto& range : ranges) {
        if (range.device != ranges.front().device || range.split != ranges.front().split ||
            !firsts.insert(range.first).second)
            return false;
    }
    return ranges.size() == 1 || ranges.front().split != 0;
}

MultiprocessorRange whole_range(const Device& device) noexcept {
    return {0, device.ordinal, 0, static_cast<std::uint32_t>(device.profile.multiprocessors)};
}

/// Adds one resource; the devices are compared at the end.
CUresult add_resource(ResourceDescription& description, const CUdevResource& resource) {
    if (resource.type == CU_DEV_RESOURCE_TYPE_SM) {
        const auto range = read_range(resource);
        if (!range) return CUDA_ERROR_INVALID_VALUE;
        description.ranges.push_back(*range);
        return CUDA_SUCCESS;
    }
    if (!has_work_queues(resource.type)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (description.queues) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    description.queues = read_queues(resource);
    description.makes_queues = resource.type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG;
    return description.queues ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult write_resource(const Device& device, ResourceOwner owner, CUdevResource* resource,
                        CUdevResourceType type) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_DEV_RESOURCE_TYPE_SM) {
        write_range(*resource, device.profile, whole_range(device));
        return CUDA_SUCCESS;
    }
    const bool has_queues =
        owner == ResourceOwner::context ||
        (owner == ResourceOwner::device && type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG);
    if (!has_queues || !has_work_queues(type)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = resource_of_queues(type, WorkQueues{.device = device.ordinal});
    return CUDA_SUCCESS;
}

CUresult write_resource(const GreenContext& green, ResourceOwner owner, CUdevResource* resource,
                        CUdevResourceType type) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_DEV_RESOURCE_TYPE_SM) {
        write_ranges(*resource, green.description());
        return CUDA_SUCCESS;
    }
    if (owner == ResourceOwner::stream || !has_work_queues(type))
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = resource_of_queues(type, green.queues());
    return CUDA_SUCCESS;
}

CUresult split_range(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                     CUdevResource* remaining, unsigned flags, unsigned least) {
    constexpr unsigned known_flags = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                                     CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if (groups == nullptr || input == nullptr || (flags & ~known_flags) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto whole = read_range(*input);
    if (!whole || whole->split != 0 || least > whole->count) return CUDA_ERROR_INVALID_VALUE;
    const Profile& profile = driver().device(whole->device)->profile;
    const unsigned size = group_size(profile, flags, least);
    const unsigned possible = whole->count / size;
    if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const unsigned made = result == nullptr ? possible : std::min(*groups, possible);
    if (made == 0) return CUDA_ERROR_INVALID_VALUE;

    static std::atomic<std::uint64_t> last_split{0};
    const std::uint64_t id = ++last_split;
    for (unsigned i = 0; result != nullptr && i < made; ++i)
        write_range(result[i], profile, {id, whole->device, whole->first + i * size, size});
    if (remaining != nullptr) {
        write_range(*remaining, profile,
                    {id, whole->device, whole->first + made * size, whole->count - made * size});
    }
    *groups = made;
    return CUDA_SUCCESS;
}

CUresult split_groups(CUdevResource* result, unsigned groups, const CUdevResource* input,
                      CUdevResource* remainder, unsigned flags,
                      CU_DEV_SM_RESOURCE_GROUP_PARAMS* params) {
    constexpr unsigned most_coscheduled = 32;
    if (groups == 0 || input == nullptr || flags != 0 || params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto whole = read_range(*input);
    if (!whole) return CUDA_ERROR_INVALID_VALUE;
    const Profile& profile = driver().device(whole->device)->profile;
    const unsigned usual = granularity_of(profile, false).unit;
    std::vector<unsigned> counts;
    unsigned left = whole->count;
    for (unsigned i = 0; i < groups; ++i) {
        const auto& wish = params[i];
        if ((wish.flags & ~unsigned{CU_DEV_SM_RESOURCE_GROUP_BACKFILL}) != 0)
            return gate::refuse("groups of multiprocessors in locality domains");
        const bool fills = wish.flags != 0;
        const unsigned unit = wish.coscheduledSmCount == 0 ? usual : wish.coscheduledSmCount;
        if (unit > std::max(usual, usual == 2 ? 2 : most_coscheduled) || unit % 2 != 0 ||
            wish.smCount % 2 != 0 || wish.smCount > whole->count ||
            (!fills && wish.smCount % unit != 0))
            return CUDA_ERROR_INVALID_VALUE;
        const unsigned most = fills ? left : left / unit * unit;
        const unsigned count = wish.smCount == 0 ? most : wish.smCount;
        if (count > most || (result != nullptr && (count == 0 || count < unit)))
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        counts.push_back(count);
        left -= count;
    }
    static std::atomic<std::uint64_t> last_split{std::uint64_t{1} << 63};
    const std::uint64_t id = ++last_split;
    std::uint32_t first = whole->first;
    for (unsigned i = 0; i < groups; ++i) {
        params[i].smCount = counts[i];
        if (result != nullptr)
            write_range(result[i], profile, {id, whole->device, first, counts[i]});
        first += counts[i];
    }
    if (remainder != nullptr) write_range(*remainder, profile, {id, whole->device, first, left});
    return CUDA_SUCCESS;
}

CUresult describe_resources(std::span<const CUdevResource> resources,
                            ResourceDescription& description) {
    for (const CUdevResource& resource : resources) {
        if (const CUresult state = add_resource(description, resource); state != CUDA_SUCCESS)
            return state;
    }
    auto& ranges = description.ranges;
    // Work queues alone are used by all multiprocessors.
    if (ranges.empty()) ranges.push_back(whole_range(*driver().device(description.queues->device)));
    description.device = ranges.front().device;
    const bool same_device =
        !description.queues || description.queues->device == description.device;
    return same_device && belong_together(ranges) ? CUDA_SUCCESS
                                                  : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

}  // namespace lode::emulator::driver
