#include "emulator/driver/graph/capture.hpp"

#include "emulator/driver/code/symbols.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

#include <algorithm>
#include <iterator>

namespace lode::emulator::driver {
namespace {

/// Calls that a capture forbids unless the thread or the capture is in the relaxed mode
/// (cuThreadExchangeStreamCaptureMode).
constexpr std::string_view unsafe_in_captures[] = {
    "cuArray3DCreate",
    "cuArrayCreate",
    "cuArrayDestroy",
    "cuCtxDisablePeerAccess",
    "cuCtxSetCacheConfig",
    "cuCtxSetLimit",
    "cuCtxSetSharedMemConfig",
    "cuDestroyExternalMemory",
    "cuDestroyExternalSemaphore",
    "cuDeviceSetMemPool",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuGraphExecDestroy",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
    "cuImportExternalMemory",
    "cuImportExternalSemaphore",
    "cuLaunch",
    "cuLaunchGrid",
    "cuLaunchGridAsync",
    "cuLibraryUnload",
    "cuMemAdvise",
    "cuMemAlloc",
    "cuMemAllocHost",
    "cuMemAllocManaged",
    "cuMemAllocPitch",
    "cuMemFree",
    "cuMemFreeHost",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolExportPointer",
    "cuMemPoolExportToShareableHandle",
    "cuMemPoolGetAccess",
    "cuMemPoolGetAttribute",
    "cuMemPoolImportFromShareableHandle",
    "cuMemPoolImportPointer",
    "cuMemPoolSetAccess",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemSetMemPool",
    "cuMipmappedArrayCreate",
    "cuModuleUnload",
    "cuPointerSetAttribute",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuSurfObjectCreate",
    "cuSurfObjectDestroy",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
};

/// Calls that no capturing stream takes, whatever the mode. cuStreamAddCallback is another one,
/// which examines its arguments first.
constexpr std::string_view refused_by_captures[] = {
    "cuGraphLaunch",     "cuGraphUpload",          "cuMemPrefetchAsync",  "cuMemcpy3DPeerAsync",
    "cuMemcpyPeerAsync", "cuStreamGetDevice",      "cuStreamGetFlags",    "cuStreamGetId",
    "cuStreamQuery",     "cuStreamAttachMemAsync", "cuStreamSynchronize",
};

/// Locks every graph and capture.
std::lock_guard<std::recursive_mutex> capture_lock() {
    return std::lock_guard(driver().graph_tables.mutex);
}

/// Adds each node once.
void merge(std::vector<GraphNode*>& into, const std::vector<GraphNode*>& more) {
    for (GraphNode* const node : more)
        if (std::ranges::find(into, node) == into.end()) into.push_back(node);
}

/// Whether every node that the capture added is one of `ends` or comes before one.
bool joined(const Capture& capture, const std::vector<GraphNode*>& ends) {
    std::set<const GraphNode*> reached;
    std::vector<const GraphNode*> left(ends.begin(), ends.end());
    while (!left.empty()) {
        const GraphNode* const node = left.back();
        left.pop_back();
        if (!reached.insert(node).second) continue;
        left.insert(left.end(), node->dependencies.begin(), node->dependencies.end());
    }
    return std::ranges::includes(reached, capture.captured);
}

}  // namespace

CUstreamCaptureMode& thread_capture_mode() noexcept {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

void Captures::note_change() {
    any_.store(!streams_.empty() || !events_.empty(), std::memory_order_release);
}

CUresult Captures::begin(const StreamUse& use, CUstreamCaptureMode mode,
                         std::shared_ptr<Graph> into, std::vector<GraphNode*> dependencies) {
    const auto lock = capture_lock();
    static std::uint64_t last_id = 0;
    if (use.stream->kind() == Stream::Kind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (streams_.contains(use.stream->handle())) return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->to_existing = into != nullptr;
    capture->graph = into != nullptr ? std::move(into) : std::make_shared<Graph>();
    if (!capture->to_existing) capture->graph->is_child = true;
    driver().graph_tables.graphs.add(capture->graph);
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->id = ++last_id;
    capture->origin = use.stream->handle();
    streams_[use.stream->handle()] =
        CapturePoint{std::move(capture), std::move(dependencies), use.stream};
    note_change();
    return CUDA_SUCCESS;
}

CUresult Captures::end(const StreamUse& use, std::shared_ptr<Graph>& graph) {
    const auto lock = capture_lock();
    const auto found = streams_.find(use.stream->handle());
    if (found == streams_.end()) return CUDA_ERROR_ILLEGAL_STATE;
    const std::shared_ptr<Capture> capture = found->second.capture;
    if (capture->origin != use.stream->handle()) {
        capture->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = CUDA_SUCCESS;
    CUgraph own = Handles<Graph, CUgraph>::native_of(*capture->graph);
    if (!capture->valid || driver().graph_tables.graphs.find(own) == nullptr) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (!joined(*capture, found->second.nodes)) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    std::erase_if(streams_, [&](const auto& entry) { return entry.second.capture == capture; });
    // Events stay captured until they are recorded again, without the nodes.
    for (auto& [event, point] : events_)
        if (point.capture == capture) point.nodes.clear();
    capture->valid = false;
    note_change();
    if (result == CUDA_SUCCESS) {
        graph = capture->graph;
        if (!capture->to_existing) graph->is_child = false;
    } else if (!capture->to_existing) {
        capture->graph->forget();
    }
    return result;
}

bool Captures::has_graph(const Stream& stream) {
    const auto lock = capture_lock();
    const CapturePoint* const point = find(stream);
    return point != nullptr && point->capture->to_existing;
}

CapturePoint* Captures::find(const Stream& stream) {
    const auto found = streams_.find(stream.handle());
    return found == streams_.end() ? nullptr : &found->second;
}

CUresult Captures::check_legacy(const StreamUse& use) const {
    if (use.stream->kind() != Stream::Kind::legacy) return CUDA_SUCCESS;
    for (const auto& [handle, other] : streams_) {
        if (other.stream->kind() == Stream::Kind::blocking &&
            &other.stream->context() == use.context.get())
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

CUresult Captures::enter(const StreamUse& use, CapturePoint*& point) {
    if (const CUresult state = check_legacy(use); state != CUDA_SUCCESS) {
        for (const auto& [handle, other] : streams_) {
            if (other.stream->kind() == Stream::Kind::blocking &&
                &other.stream->context() == use.context.get())
                other.capture->valid = false;
        }
        return state;
    }
    point = find(*use.stream);
    return point == nullptr || point->capture->valid ? CUDA_SUCCESS
                                                     : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

std::optional<CUresult> Captures::add(const StreamUse& use, const std::function<NodeWork()>& make) {
    if (!any()) return std::nullopt;
    const auto lock = capture_lock();
    CapturePoint* point = nullptr;
    if (const CUresult state = enter(use, point); state != CUDA_SUCCESS) return state;
    if (point == nullptr) return std::nullopt;
    GraphNode* const node = point->capture->graph->add(make(), point->nodes).get();
    point->capture->captured.insert(node);
    point->nodes.assign(1, node);
    return CUDA_SUCCESS;
}

std::optional<CUresult> Captures::refuse(const StreamUse& use) {
    if (!any()) return std::nullopt;
    const auto lock = capture_lock();
    CapturePoint* point = nullptr;
    if (const CUresult state = enter(use, point); state != CUDA_SUCCESS) return state;
    if (point == nullptr) return std::nullopt;
    point->capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

std::optional<CUresult> Captures::refuse_by_name(const StreamUse& use, const char* what) {
    const auto refused = refuse(use);
    return refused == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? gate::refuse(what) : refused;
}

std::optional<CUresult> Captures::record(const StreamUse& use, const std::shared_ptr<Event>& event,
                                         bool external) {
    if (!any()) return std::nullopt;
    if (external) return add(use, [&] { return EventRecordWork{event}; });
    const auto lock = capture_lock();
    CapturePoint* point = nullptr;
    if (const CUresult state = enter(use, point); state != CUDA_SUCCESS) return state;
    if (point == nullptr) {
        forget(*event);
        return std::nullopt;
    }
    events_[event->handle()] = CapturePoint{point->capture, point->nodes, nullptr};
    return CUDA_SUCCESS;
}

std::optional<CUresult> Captures::wait(const StreamUse& use, const std::shared_ptr<Event>& event,
                                       bool external) {
    if (!any()) return std::nullopt;
    if (external) return add(use, [&] { return EventWaitWork{event}; });
    const auto lock = capture_lock();
    CapturePoint* point = nullptr;
    if (const CUresult state = enter(use, point); state != CUDA_SUCCESS) return state;
    const auto recorded = events_.find(event->handle());
    if (recorded == events_.end()) {
        if (point == nullptr) return std::nullopt;
        point->capture->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    const CapturePoint& source = recorded->second;
    if (!source.capture->valid)
        return point == nullptr ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (point != nullptr && point->capture != source.capture) {
        point->capture->valid = false;
        source.capture->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (use.stream->kind() == Stream::Kind::legacy) {
        source.capture->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (point == nullptr) {
        streams_[use.stream->handle()] = CapturePoint{source.capture, source.nodes, use.stream};
        return CUDA_SUCCESS;
    }
    merge(point->nodes, source.nodes);
    return CUDA_SUCCESS;
}

CUresult Captures::check_event(const Event& event) {
    if (!any()) return CUDA_SUCCESS;
    const auto lock = capture_lock();
    const auto found = events_.find(event.handle());
    if (found == events_.end()) return CUDA_SUCCESS;
    found->second.capture->valid = false;
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult Captures::check_call(std::string_view name) {
    if (!any()) return CUDA_SUCCESS;
    const bool waits_for_all = name == "cuCtxSynchronize";
    const bool is_unsafe =
        std::ranges::find(unsafe_in_captures, name) != std::end(unsafe_in_captures);
    if (!waits_for_all && !is_unsafe) return CUDA_SUCCESS;
    const CUstreamCaptureMode thread_mode = thread_capture_mode();
    if (!waits_for_all && thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    const auto lock = capture_lock();
    CUresult result = CUDA_SUCCESS;
    for (const auto& [handle, point] : streams_) {
        Capture& capture = *point.capture;
        const bool own = capture.thread == std::this_thread::get_id();
        const bool forbids = waits_for_all ? &point.stream->context() == current::top()
                             : own         ? capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                           : capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                         thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbids) continue;
        capture.valid = false;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

void Captures::forget(const Stream& stream) {
    if (!any()) return;
    const auto lock = capture_lock();
    const auto found = streams_.find(stream.handle());
    if (found == streams_.end()) return;
    const std::shared_ptr<Capture> capture = found->second.capture;
    if (capture->origin == stream.handle()) {
        capture->valid = false;
        std::erase_if(streams_, [&](const auto& entry) { return entry.second.capture == capture; });
        if (!capture->to_existing) capture->graph->forget();
    } else {
        streams_.erase(found);
    }
    note_change();
}

void Captures::forget(const Context& context) {
    if (!any()) return;
    const auto lock = capture_lock();
    std::vector<std::shared_ptr<Stream>> ours;
    for (const auto& [handle, point] : streams_)
        if (&point.stream->context() == &context) ours.push_back(point.stream);
    for (const auto& stream : ours)
        forget(*stream);
}

void Captures::forget(const Event& event) {
    if (!any()) return;
    const auto lock = capture_lock();
    events_.erase(event.handle());
    note_change();
}

void Captures::forget(const GraphNode& node) {
    if (!any()) return;
    const auto lock = capture_lock();
    for (auto* const points : {&streams_, &events_}) {
        for (auto& [handle, point] : *points) {
            std::erase(point.nodes, &node);
            point.capture->captured.erase(&node);
        }
    }
}

CUresult allowed_on(const StreamUse& use, const char* symbol) noexcept {
    Captures& captures = driver().graph_tables.captures;
    if (!captures.any()) [[likely]]
        return CUDA_SUCCESS;
    const auto name = symbols::unversioned(symbol);
    if (std::ranges::find(refused_by_captures, name) == std::end(refused_by_captures))
        return CUDA_SUCCESS;
    return gate::guarded([&] { return captures.refuse(use).value_or(CUDA_SUCCESS); });
}

}  // namespace lode::emulator::driver
