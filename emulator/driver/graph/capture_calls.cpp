// cuStreamBeginCapture and other calls on stream captures.
#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

/// enter_graphs() with a stream: body(const StreamUse&, Captures&).
template <class Body>
CUresult enter_capture(const char* symbol, CUstream handle, DefaultStream null_means,
                       Body&& body) noexcept {
    return enter_graphs(symbol, [&](GraphTables& tables) -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(handle, null_means, use); state != CUDA_SUCCESS)
            return state;
        return body(use, tables.captures);
    });
}

bool is_capture_mode(CUstreamCaptureMode mode) noexcept {
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
           mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin_capture(const char* symbol, CUstream handle, DefaultStream null_means,
                       CUstreamCaptureMode mode) {
    return enter_capture(symbol, handle, null_means,
                         [&](const StreamUse& use, Captures& captures) -> CUresult {
                             if (!is_capture_mode(mode)) return CUDA_ERROR_INVALID_VALUE;
                             return captures.begin(use, mode, nullptr, {});
                         });
}

CUresult begin_capture_to(const char* symbol, CUstream handle, DefaultStream null_means,
                          CUgraph into, const CUgraphNode* dependencies,
                          const CUgraphEdgeData* edges, std::size_t count,
                          CUstreamCaptureMode mode) {
    return enter_capture(
        symbol, handle, null_means, [&](const StreamUse& use, Captures& captures) -> CUresult {
            auto graph = driver().graph_tables.graphs.find(into);
            if (!is_capture_mode(mode) || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
            std::vector<GraphNode*> nodes;
            if (const CUresult state = find_dependencies(*graph, dependencies, count, nodes);
                state != CUDA_SUCCESS)
                return state;
            if (const CUresult state = check_edges(edges, count); state != CUDA_SUCCESS)
                return state;
            return captures.begin(use, mode, std::move(graph), std::move(nodes));
        });
}

CUresult end_capture(const char* symbol, CUstream handle, DefaultStream null_means, CUgraph* out) {
    return enter_capture(symbol, handle, null_means,
                         [&](const StreamUse& use, Captures& captures) -> CUresult {
                             if (out == nullptr && !captures.has_graph(*use.stream))
                                 return CUDA_ERROR_INVALID_VALUE;
                             if (out != nullptr) *out = nullptr;
                             std::shared_ptr<Graph> graph;
                             const CUresult result = captures.end(use, graph);
                             if (result == CUDA_SUCCESS && out != nullptr)
                                 *out = native_graph(*graph);
                             return result;
                         });
}

CUstreamCaptureStatus status_of(const CapturePoint* point) noexcept {
    if (point == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
    return point->capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                 : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUresult capture_status(const char* symbol, CUstream handle, DefaultStream null_means,
                        CUstreamCaptureStatus* status) {
    return enter_capture(
        symbol, handle, null_means, [&](const StreamUse& use, Captures& captures) -> CUresult {
            if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
            if (const CUresult state = captures.check_legacy(use); state != CUDA_SUCCESS)
                return state;
            *status = status_of(captures.find(*use.stream));
            return CUDA_SUCCESS;
        });
}

CUresult capture_info(const char* symbol, CUstream handle, DefaultStream null_means,
                      CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                      const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                      std::size_t* count) {
    return enter_capture(
        symbol, handle, null_means, [&](const StreamUse& use, Captures& captures) -> CUresult {
            if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
            if (const CUresult state = captures.check_legacy(use); state != CUDA_SUCCESS)
                return state;
            CapturePoint* const point = captures.find(*use.stream);
            *status = status_of(point);
            if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
            if (id != nullptr) *id = point->capture->id;
            if (graph != nullptr) *graph = native_graph(*point->capture->graph);
            point->handles.clear();
            for (const GraphNode* node : point->nodes)
                point->handles.push_back(native_node(*node));
            point->edges.assign(point->handles.size(), {});
            if (dependencies != nullptr) *dependencies = point->handles.data();
            if (edges != nullptr) *edges = point->edges.data();
            if (count != nullptr) *count = point->handles.size();
            return CUDA_SUCCESS;
        });
}

CUresult update_dependencies(const char* symbol, CUstream handle, DefaultStream null_means,
                             const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                             std::size_t count, unsigned flags) {
    return enter_capture(
        symbol, handle, null_means, [&](const StreamUse& use, Captures& captures) -> CUresult {
            CapturePoint* const point = captures.find(*use.stream);
            if (point == nullptr || !point->capture->valid) return CUDA_ERROR_ILLEGAL_STATE;
            if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES &&
                flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
                return CUDA_ERROR_INVALID_VALUE;
            std::vector<GraphNode*> nodes;
            if (const CUresult state =
                    find_dependencies(*point->capture->graph, dependencies, count, nodes);
                state != CUDA_SUCCESS)
                return state;
            if (const CUresult state = check_edges(edges, count); state != CUDA_SUCCESS)
                return state;
            if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) {
                for (GraphNode* const node : point->nodes)
                    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
            }
            point->nodes = std::move(nodes);
            return CUDA_SUCCESS;
        });
}

}  // namespace

LODE_ENTRY_TWINS(cuStreamBeginCapture, _ptsz, (CUstream hStream), {
    return begin_capture(__func__, hStream, default_stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
})

LODE_ENTRY_TWINS(cuStreamBeginCapture_v2, _ptsz, (CUstream hStream, CUstreamCaptureMode mode),
                 { return begin_capture(__func__, hStream, default_stream, mode); })

LODE_ENTRY_TWINS(cuStreamBeginCaptureToGraph, _ptsz,
                 (CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                  const CUgraphEdgeData* dependencyData, size_t numDependencies,
                  CUstreamCaptureMode mode),
                 {
                     return begin_capture_to(__func__, hStream, default_stream, hGraph,
                                             dependencies, dependencyData, numDependencies, mode);
                 })

LODE_ENTRY_TWINS(cuStreamEndCapture, _ptsz, (CUstream hStream, CUgraph* phGraph),
                 { return end_capture(__func__, hStream, default_stream, phGraph); })

LODE_ENTRY_TWINS(cuStreamIsCapturing, _ptsz, (CUstream hStream, CUstreamCaptureStatus* status),
                 { return capture_status(__func__, hStream, default_stream, status); })

LODE_ENTRY_TWINS(cuStreamGetCaptureInfo, _ptsz,
                 (CUstream hStream, CUstreamCaptureStatus* status, cuuint64_t* id), {
                     return capture_info(__func__, hStream, default_stream, status, id, nullptr,
                                         nullptr, nullptr, nullptr);
                 })

LODE_ENTRY_TWINS(cuStreamGetCaptureInfo_v2, _ptsz,
                 (CUstream hStream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, size_t* count),
                 {
                     return capture_info(__func__, hStream, default_stream, status, id, graph,
                                         dependencies, nullptr, count);
                 })

LODE_ENTRY_TWINS(cuStreamGetCaptureInfo_v3, _ptsz,
                 (CUstream hStream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count),
                 {
                     return capture_info(__func__, hStream, default_stream, status, id, graph,
                                         dependencies, edges, count);
                 })

LODE_ENTRY_TWINS(cuStreamUpdateCaptureDependencies, _ptsz,
                 (CUstream hStream, CUgraphNode* dependencies, size_t numDependencies,
                  unsigned int flags),
                 {
                     return update_dependencies(__func__, hStream, default_stream, dependencies,
                                                nullptr, numDependencies, flags);
                 })

LODE_ENTRY_TWINS(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                 (CUstream hStream, CUgraphNode* dependencies,
                  const CUgraphEdgeData* dependencyData, size_t numDependencies,
                  unsigned int flags),
                 {
                     return update_dependencies(__func__, hStream, default_stream, dependencies,
                                                dependencyData, numDependencies, flags);
                 })

LODE_ENTRY cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return enter(__func__, [&]() -> CUresult {
        if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::swap(*mode, thread_capture_mode());
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
