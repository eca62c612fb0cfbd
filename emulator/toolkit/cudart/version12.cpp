// Functions that the runtime API of CUDA 12 has and that of CUDA 13 hasn't. Compiled twice, for the
// two kinds of default stream.
#include "emulator/toolkit/cudart/runtime.hpp"

using namespace lode::emulator::cudart;

#ifdef LODE_PER_THREAD_STREAM
#define LODE_OLD_STREAM(name) LODE_SYMBOL(name "_ptsz")
#define LODE_OLD_NAME(name) name##_of_thread
#else
#define LODE_OLD_STREAM(name) LODE_SYMBOL(name)
#define LODE_OLD_NAME(name) name
#endif

/// Defines a function under the symbol `name`: its parameters follow, then its body.
#define LODE_OLD(function, name, ...)                                        \
    LODE_RUNTIME LODE_OLD_NAME(function)(__VA_ARGS__) LODE_OLD_STREAM(name); \
    LODE_RUNTIME LODE_OLD_NAME(function)(__VA_ARGS__)

namespace {

/// Where the old functions' device number says.
cudaMemLocation LODE_OLD_NAME(location_of)(int device) noexcept {
    return device == cudaCpuDeviceId ? cudaMemLocation{cudaMemLocationTypeHost, 0}
                                     : cudaMemLocation{cudaMemLocationTypeDevice, device};
}

}  // namespace

LODE_OLD(prefetch_to_device, "cudaMemPrefetchAsync", const void* pointer, size_t count, int device,
         cudaStream_t stream) {
    return cudaMemPrefetchAsync(pointer, count, LODE_OLD_NAME(location_of)(device), 0, stream);
}

LODE_OLD(capture_info, "cudaStreamGetCaptureInfo", cudaStream_t stream,
         cudaStreamCaptureStatus* status, unsigned long long* id) {
    return cudaStreamGetCaptureInfo(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

LODE_OLD(capture_info_without_edges, "cudaStreamGetCaptureInfo_v2", cudaStream_t stream,
         cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
         const cudaGraphNode_t** dependencies, size_t* count) {
    return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

LODE_OLD(update_capture, "cudaStreamUpdateCaptureDependencies", cudaStream_t stream,
         cudaGraphNode_t* dependencies, size_t count, unsigned flags) {
    return cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags);
}

#ifndef LODE_PER_THREAD_STREAM

LODE_OLD(advise_device, "cudaMemAdvise", const void* pointer, size_t count, cudaMemoryAdvise advice,
         int device) {
    return cudaMemAdvise(pointer, count, advice, location_of(device));
}

LODE_OLD(elapsed_time, "cudaEventElapsedTime_v2", float* ms, cudaEvent_t start, cudaEvent_t end) {
    return cudaEventElapsedTime(ms, start, end);
}

LODE_OLD(add_dependencies, "cudaGraphAddDependencies", cudaGraph_t graph,
         const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
    return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

LODE_OLD(remove_dependencies, "cudaGraphRemoveDependencies", cudaGraph_t graph,
         const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
    return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}

LODE_OLD(edges, "cudaGraphGetEdges", cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
         size_t* count) {
    return cudaGraphGetEdges(graph, from, to, nullptr, count);
}

LODE_OLD(dependencies, "cudaGraphNodeGetDependencies", cudaGraphNode_t node,
         cudaGraphNode_t* dependencies, size_t* count) {
    return cudaGraphNodeGetDependencies(node, dependencies, nullptr, count);
}

LODE_OLD(dependent_nodes, "cudaGraphNodeGetDependentNodes", cudaGraphNode_t node,
         cudaGraphNode_t* dependents, size_t* count) {
    return cudaGraphNodeGetDependentNodes(node, dependents, nullptr, count);
}

LODE_OLD(add_node, "cudaGraphAddNode", cudaGraphNode_t* added, cudaGraph_t graph,
         const cudaGraphNode_t* dependencies, size_t count, cudaGraphNodeParams* parameters) {
    return cudaGraphAddNode(added, graph, dependencies, nullptr, count, parameters);
}

LODE_OLD(thread_exit, "cudaThreadExit", ) {
    return cudaDeviceReset();
}

LODE_OLD(thread_synchronize, "cudaThreadSynchronize", ) {
    return cudaDeviceSynchronize();
}

LODE_OLD(thread_set_limit, "cudaThreadSetLimit", cudaLimit limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}

LODE_OLD(thread_get_limit, "cudaThreadGetLimit", size_t* value, cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}

LODE_OLD(thread_get_cache, "cudaThreadGetCacheConfig", cudaFuncCache* cache) {
    return cudaDeviceGetCacheConfig(cache);
}

LODE_OLD(thread_set_cache, "cudaThreadSetCacheConfig", cudaFuncCache cache) {
    return cudaDeviceSetCacheConfig(cache);
}

// They convert for devices without doubles, of which CUDA 12 knows none.
LODE_OLD(double_for_device, "cudaSetDoubleForDevice", double*) {
    return cudaSuccess;
}

LODE_OLD(double_for_host, "cudaSetDoubleForHost", double*) {
    return cudaSuccess;
}

#endif
