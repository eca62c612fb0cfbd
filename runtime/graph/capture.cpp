#include "runtime/graph/graph_state.hpp"
#include "runtime/state/empty.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

CUstreamCaptureMode native_capture_mode(CaptureMode mode) noexcept {
    switch (mode) {
        case CaptureMode::every_thread:
            return CU_STREAM_CAPTURE_MODE_GLOBAL;
        case CaptureMode::this_thread:
            return CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        case CaptureMode::relaxed:
            break;
    }
    return CU_STREAM_CAPTURE_MODE_RELAXED;
}

/// Keeps the libraries of a graph's kernels as far as lode has loaded them on the device. A node
/// that the driver doesn't describe isn't one of lode's. Adds the nodes that allocate to `unfreed`,
/// and subtracts those that free.
Status read_nodes(detail::DeviceState& device, CUgraph graph, detail::KeptObjects& kept,
                  int& unfreed) {
    const detail::DriverTable& table = device.table();
    LODE_TRY_ASSIGN(const auto nodes, detail::nodes_of(device, graph));
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type{};
        LODE_TRY(detail::call_for_graphs(device, table.cuGraphNodeGetType, node, &type));
        if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraph child = nullptr;
            LODE_TRY(
                detail::call_for_graphs(device, table.cuGraphChildGraphNodeGetGraph, node, &child));
            LODE_TRY(read_nodes(device, child, kept, unfreed));
        } else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS_v2 launch{};
            if (const auto described = detail::call_for_graphs(
                    device, table.cuGraphKernelNodeGetParams, node, &launch);
                !described) {
                device.report(described.error());
                continue;
            }
            const void* const handle = launch.func != nullptr
                                           ? static_cast<const void*>(launch.func)
                                           : static_cast<const void*>(launch.kern);
            if (auto library = device.library_of(handle)) kept.insert(std::move(library));
        } else if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            ++unfreed;
        } else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
            --unfreed;
        }
    }
    return {};
}

/// Ends a capture of a device with its scope.
class EndOfCapture {
public:
    explicit EndOfCapture(detail::DeviceState& device) noexcept : device_(device) {}
    ~EndOfCapture() { device_.end_capture(); }
    EndOfCapture(const EndOfCapture&) = delete;
    EndOfCapture& operator=(const EndOfCapture&) = delete;

private:
    detail::DeviceState& device_;
};

}  // namespace

Result<Capture> Capture::begin(StreamRef stream, CaptureMode mode) {
    const detail::StreamState& state = stream.state();
    if (state.device == nullptr) return detail::fail_empty("stream");
    if (stream.native() == nullptr)
        return fail(Errc::invalid_argument, "The default stream can't be captured.");
    LODE_TRY_ASSIGN(const bool capturing, stream.is_capturing());
    if (capturing) return fail(Errc::capture_active, "The stream is being captured already.");
    LODE_TRY(state.device->driver->require(state.device->table().cuStreamBeginCapture,
                                           "the capture of a stream"));
    LODE_TRY(detail::call_on_stream(state, state.device->table().cuStreamBeginCapture,
                                    stream.native(), native_capture_mode(mode)));
    state.device->begin_capture();
    return Capture(stream);
}

Capture::~Capture() {
    if (!active_) return;
    auto& device = *stream_.state().device;
    // An invalid capture's error says nothing new: the graph is discarded in any case.
    auto discarded = finish();
    if (!discarded && discarded.error().code != Errc::capture_active) {
        device.driver->log.write(
            LogLevel::error, "An unfinished capture can't be ended: " + discarded.error().message);
    }
}

Result<Graph> Capture::finish() {
    if (!std::exchange(active_, false))
        return fail(Errc::invalid_argument, "The capture has already ended.");
    const detail::StreamState& state = stream_.state();
    const EndOfCapture end(*state.device);
    CUgraph graph = nullptr;
    LODE_TRY(detail::call_on_stream(state, state.device->table().cuStreamEndCapture,
                                    stream_.native(), &graph));
    Graph made(UniqueHandle<detail::GraphTraits>(graph, state.device->shared_from_this()));
    int unfreed = 0;
    LODE_TRY(read_nodes(*state.device, graph, made.state()->kept, unfreed));
    if (unfreed > 0) {
        return fail(Errc::capture_active,
                    fmt::format("Buffers that were allocated in the capture ({}) still exist. "
                                "Destroy them before it ends.",
                                unfreed));
    }
    return made;
}

}  // namespace LODE_NAMESPACE
