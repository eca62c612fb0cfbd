// cuGreenCtx…, cuDevResource…: green contexts.
#include "base/align_up.hpp"
#include "emulator/driver/context/primary_context.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>

namespace lode::emulator::driver {

void GreenContext::add(const std::shared_ptr<Stream>& stream) {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [](const auto& known) { return known.expired(); });
    streams_.push_back(stream);
}

bool GreenContext::has(const Stream& stream) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(streams_,
                               [&](const auto& known) { return known.lock().get() == &stream; });
}

namespace {

using GreenContexts = Handles<GreenContext, CUgreenCtx>;

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

CUresult write_whole(Device& device, CUdevResource* resource, CUdevResourceType type) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    write_range(*resource, device.profile,
                {0, device.ordinal, 0, static_cast<std::uint32_t>(device.profile.multiprocessors)});
    return CUDA_SUCCESS;
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

/// The groups that `params` ask for, one after the other; what they leave goes to `remainder`. A
/// group of 0 multiprocessors takes all that are left.
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

CUresult write_green(const GreenContext& green, CUdevResource* resource, CUdevResourceType type) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto& description = green.description();
    MultiprocessorRange range = description.ranges.front();
    range.split = 0;  // It can be split again.
    // Several ranges count as one here: which multiprocessors they are has no meaning.
    range.count = 0;
    for (const auto& part : description.ranges) {
        range.first = std::min(range.first, part.first);
        range.count += part.count;
    }
    write_range(*resource, driver().device(description.device)->profile, range);
    return CUDA_SUCCESS;
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

/// enter() with a green context.
template <class Body>
CUresult enter_green(const char* symbol, CUgreenCtx handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto green = driver().green_contexts.find(handle);
        return green == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(green);
    });
}

}  // namespace

LODE_ENTRY cuDeviceGetDevResource(CUdevice dev, CUdevResource* resource, CUdevResourceType type) {
    return enter(__func__, [&]() -> CUresult {
        Device* device = driver().device(dev);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : write_whole(*device, resource, type);
    });
}

LODE_ENTRY cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
    return enter(__func__, [&]() -> CUresult {
        const auto context = driver().contexts.find(hCtx);
        return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                  : write_whole(context->device(), resource, type);
    });
}

LODE_ENTRY cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* nbGroups,
                                       const CUdevResource* input, CUdevResource* remaining,
                                       unsigned int useFlags, unsigned int minCount) {
    return enter(__func__, [&] {
        return split_range(result, nbGroups, input, remaining, useFlags, minCount);
    });
}

LODE_ENTRY cuDevSmResourceSplit(CUdevResource* result, unsigned int nbGroups,
                                const CUdevResource* input, CUdevResource* remainder,
                                unsigned int flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS* groupParams) {
    return enter(__func__, [&] {
        return split_groups(result, nbGroups, input, remainder, flags, groupParams);
    });
}

LODE_ENTRY cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources,
                                     unsigned int nbResources) {
    return enter(__func__, [&]() -> CUresult {
        if (phDesc == nullptr || resources == nullptr || nbResources == 0)
            return CUDA_ERROR_INVALID_VALUE;
        auto description = std::make_shared<ResourceDescription>();
        for (unsigned i = 0; i < nbResources; ++i) {
            if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
                return CUDA_ERROR_INVALID_RESOURCE_TYPE;
            const auto range = read_range(resources[i]);
            if (!range) return CUDA_ERROR_INVALID_VALUE;
            description->ranges.push_back(*range);
        }
        if (!belong_together(description->ranges)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        description->device = description->ranges.front().device;
        *phDesc = driver().resource_descriptions.add(std::move(description));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev,
                            unsigned int flags) {
    return enter(__func__, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        const auto description = driver().resource_descriptions.find(desc);
        if (phCtx == nullptr || description == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM)
            return CUDA_ERROR_INVALID_VALUE;
        if (description->device != device->ordinal) return CUDA_ERROR_INVALID_DEVICE;
        auto green = std::make_shared<GreenContext>(description);
        retain_primary(*device);
        *phCtx = driver().green_contexts.add(std::move(green));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxDestroy(CUgreenCtx hCtx) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto green = driver().green_contexts.remove(hCtx);
        if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        return release_primary(*driver().device(green->description().device));
    });
}

LODE_ENTRY cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource,
                                    CUdevResourceType type) {
    return enter_green(__func__, hCtx, [&](const auto& green) -> CUresult {
        return write_green(*green, resource, type);
    });
}

LODE_ENTRY_TWINS(cuStreamGetDevResource, _ptsz,
                 (CUstream hStream, CUdevResource* resource, CUdevResourceType type), {
                     return enter_stream(
                         __func__, hStream, default_stream, [&](const StreamUse& use) -> CUresult {
                             std::optional<CUresult> state;
                             driver().green_contexts.for_each([&](const GreenContext& green) {
                                 if (green.has(*use.stream))
                                     state = write_green(green, resource, type);
                             });
                             return state ? *state
                                          : write_whole(use.context->device(), resource, type);
                         });
                 })

LODE_ENTRY cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long* greenCtxId) {
    return enter_green(__func__, greenCtx, [&](const auto& green) -> CUresult {
        if (greenCtxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *greenCtxId = green->handle();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags,
                                  int priority) {
    return enter_green(__func__, greenCtx, [&](const auto& green) -> CUresult {
        if (phStream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
        Context& context = *driver().device(green->description().device)->primary;
        if (const CUresult error = context.error(); error != CUDA_SUCCESS) return error;
        auto stream = context.create_stream(
            Stream::Kind::non_blocking, std::clamp(priority, greatest_priority, least_priority));
        green->add(stream);
        *phStream = driver().streams.add(std::move(stream));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
    return enter(__func__, [&]() -> CUresult {
        if (phCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
        StreamUse use;
        if (const CUresult state = resolve_stream(hStream, DefaultStream::legacy, use);
            state != CUDA_SUCCESS)
            return state;
        *phCtx = nullptr;
        driver().green_contexts.for_each([&](const GreenContext& green) {
            if (green.has(*use.stream)) *phCtx = GreenContexts::native_of(green);
        });
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
