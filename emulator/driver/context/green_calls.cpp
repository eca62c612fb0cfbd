// cuGreenCtx…, cuDevResource…: green contexts.
#include "emulator/driver/context/dev_resource.hpp"
#include "emulator/driver/context/primary_context.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/streams.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace lode::emulator::driver {

GreenContext::GreenContext(std::shared_ptr<const ResourceDescription> description) noexcept
    : description_(std::move(description)) {
    static std::atomic<std::uint64_t> last_queues{0};
    queues_ = description_->queues.value_or(WorkQueues{.device = description_->device});
    if (description_->makes_queues) queues_.id = ++last_queues;
}

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

std::vector<std::shared_ptr<Stream>> GreenContext::streams() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Stream>> live;
    for (const auto& known : streams_)
        if (auto stream = known.lock()) live.push_back(std::move(stream));
    return live;
}

void GreenContext::wait_for(Point point) {
    const std::lock_guard lock(mutex_);
    awaited_.push_back(std::move(point));
}

std::vector<Point> GreenContext::awaited() {
    const std::lock_guard lock(mutex_);
    std::erase_if(awaited_, [](const Point& point) { return point.is_past(); });
    return awaited_;
}

namespace {

using GreenContexts = Handles<GreenContext, CUgreenCtx>;

}  // namespace

CUcontext ContextUse::native() const noexcept {
    if (green != nullptr) return green->converted();
    return context == nullptr ? nullptr : Handles<Context, CUcontext>::native_of(*context);
}

ContextUse find_context(CUcontext handle) {
    if (auto context = driver().contexts.find(handle)) return {std::move(context), nullptr};
    if (auto green = driver().green_contexts.find_if(
            [&](const GreenContext& one) { return one.converted() == handle; })) {
        return {driver().device(green->description().device)->primary, green};
    }
    return {};
}

CUgreenCtx green_context_of(const Stream& stream) {
    CUgreenCtx found = nullptr;
    driver().green_contexts.for_each([&](const GreenContext& green) {
        if (green.has(stream)) found = GreenContexts::native_of(green);
    });
    return found;
}

namespace {

/// enter() with a green context.
template <class Body>
CUresult enter_green(const char* symbol, CUgreenCtx handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto green = driver().green_contexts.find(handle);
        return green == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(green);
    });
}

Context& context_of(const GreenContext& green) {
    return *driver().device(green.description().device)->primary;
}

/// Refuses a call while a stream of the green context captures, whose capture becomes invalid.
CUresult refuse_capture(const GreenContext& green) {
    CUresult state = CUDA_SUCCESS;
    for (auto& stream : green.streams()) {
        const StreamUse use{stream, context_of(green).shared_from_this()};
        if (const auto refused = driver().graph_tables.captures.refuse(use)) state = *refused;
    }
    return state;
}

}  // namespace

std::shared_ptr<Stream> create_stream(GreenContext& green, Stream::Kind kind, int priority) {
    Context& context = context_of(green);
    auto stream =
        context.create_stream(kind, std::clamp(priority, greatest_priority, least_priority));
    if (auto points = green.awaited(); !points.empty())
        context.submit(
            *stream, [] {}, std::move(points));
    green.add(stream);
    return stream;
}

LODE_ENTRY cuDeviceGetDevResource(CUdevice dev, CUdevResource* resource, CUdevResourceType type) {
    return enter(__func__, [&]() -> CUresult {
        Device* device = driver().device(dev);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                 : write_resource(*device, ResourceOwner::device, resource, type);
    });
}

LODE_ENTRY cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
    return enter(__func__, [&]() -> CUresult {
        const auto [context, green] = find_context(hCtx);
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        return green != nullptr
                   ? write_resource(*green, ResourceOwner::context, resource, type)
                   : write_resource(context->device(), ResourceOwner::context, resource, type);
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
        if (const CUresult state = describe_resources({resources, nbResources}, *description);
            state != CUDA_SUCCESS)
            return state;
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
        constexpr int first_without_stream = 13030;  // CU_GREEN_CTX_NONE
        const bool flags_fit = flags == CU_GREEN_CTX_DEFAULT_STREAM ||
                               (flags == 0 && reported_version() >= first_without_stream);
        if (phCtx == nullptr || description == nullptr || !flags_fit)
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
        green->close();
        return release_primary(*driver().device(green->description().device));
    });
}

LODE_ENTRY cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
    return enter_green(__func__, hCtx, [&](const auto& green) -> CUresult {
        if (pContext == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *pContext = green->converted();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource,
                                    CUdevResourceType type) {
    return enter_green(__func__, hCtx, [&](const auto& green) -> CUresult {
        return write_resource(*green, ResourceOwner::context, resource, type);
    });
}

LODE_ENTRY_TWINS(cuStreamGetDevResource, _ptsz,
                 (CUstream hStream, CUdevResource* resource, CUdevResourceType type), {
                     return enter_stream(
                         __func__, hStream, default_stream, [&](const StreamUse& use) -> CUresult {
                             std::optional<CUresult> state;
                             driver().green_contexts.for_each([&](const GreenContext& green) {
                                 if (green.has(*use.stream))
                                     state = write_resource(green, ResourceOwner::stream, resource,
                                                            type);
                             });
                             return state ? *state
                                          : write_resource(use.context->device(),
                                                           ResourceOwner::stream, resource, type);
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
        Context& context = context_of(*green);
        if (const CUresult error = context.error(); error != CUDA_SUCCESS) return error;
        *phStream =
            driver().streams.add(create_stream(*green, Stream::Kind::non_blocking, priority));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    return enter_green(__func__, hCtx, [&](const auto& green) -> CUresult {
        Context& context = context_of(*green);
        const auto event = driver().events.find(hEvent);
        if (event == nullptr || &event->context() != &context) return CUDA_ERROR_INVALID_HANDLE;
        if (const CUresult state = refuse_capture(*green); state != CUDA_SUCCESS) return state;
        std::vector<Point> ends;
        for (const auto& stream : green->streams())
            ends.push_back(stream->submitted());
        // A stream for nothing else joins the others.
        const auto joint = context.create_stream(Stream::Kind::non_blocking, least_priority);
        context.submit(
            *joint, [] {}, std::move(ends));
        event->record(joint);
        joint->close(CUDA_ERROR_INVALID_HANDLE);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    return enter_green(__func__, hCtx, [&](const auto& green) -> CUresult {
        const auto event = driver().events.find(hEvent);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (const CUresult state = refuse_capture(*green); state != CUDA_SUCCESS) return state;
        if (driver().graph_tables.captures.check_event(*event) != CUDA_SUCCESS)
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        const auto recording = event->last();
        if (recording == nullptr || recording->point.is_past()) return CUDA_SUCCESS;
        for (const auto& stream : green->streams())
            if (!stream->closed()) context_of(*green).submit(*stream, [] {}, {recording->point});
        green->wait_for(recording->point);
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
        *phCtx = green_context_of(*use.stream);
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
