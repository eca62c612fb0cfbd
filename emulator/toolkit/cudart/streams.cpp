// Functions on streams that are those of the driver under another name. Compiled twice: see
// LODE_PER_THREAD_STREAM.
#include "emulator/toolkit/cudart/runtime.hpp"

namespace {
using namespace lode::emulator::cudart;
}

LODE_RUNTIME cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return forward(cuEventRecord, event, stream);
}

LODE_RUNTIME cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return forward(cuEventRecordWithFlags, event, stream, flags);
}

LODE_RUNTIME cudaStreamQuery(cudaStream_t stream) {
    return forward(cuStreamQuery, stream);
}

LODE_RUNTIME cudaStreamSynchronize(cudaStream_t stream) {
    return forward(cuStreamSynchronize, stream);
}

LODE_RUNTIME cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return forward(cuStreamWaitEvent, stream, event, flags);
}

LODE_RUNTIME cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return forward(cuStreamBeginCapture, stream, mode);
}

LODE_RUNTIME cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies,
                                           const cudaGraphEdgeData* dependencyData,
                                           size_t numDependencies, cudaStreamCaptureMode mode) {
    return forward(cuStreamBeginCaptureToGraph, stream, graph, dependencies, dependencyData,
                   numDependencies, mode);
}

LODE_RUNTIME cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
    return forward(cuStreamEndCapture, stream, pGraph);
}

LODE_RUNTIME cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
    return forward(cuStreamIsCapturing, stream, pCaptureStatus);
}

LODE_RUNTIME cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                 const cudaGraphEdgeData* dependencyData,
                                                 size_t numDependencies, unsigned int flags) {
    return forward(cuStreamUpdateCaptureDependencies, stream, dependencies, dependencyData,
                   numDependencies, flags);
}

LODE_RUNTIME cudaStreamGetCaptureInfo(cudaStream_t stream,
                                      cudaStreamCaptureStatus* captureStatus_out,
                                      unsigned long long* id_out, cudaGraph_t* graph_out,
                                      const cudaGraphNode_t** dependencies_out,
                                      const cudaGraphEdgeData** edgeData_out,
                                      size_t* numDependencies_out) {
    return forward(cuStreamGetCaptureInfo, stream, captureStatus_out, id_out, graph_out,
                   dependencies_out, edgeData_out, numDependencies_out);
}

LODE_RUNTIME cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
    return forward(cuStreamGetFlags, hStream, flags);
}

LODE_RUNTIME cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
    return forward(cuStreamGetPriority, hStream, priority);
}

LODE_RUNTIME cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
    return forward(cuStreamGetId, hStream, streamId);
}

LODE_RUNTIME cudaStreamGetDevice(cudaStream_t hStream, int* device) {
    return forward(cuStreamGetDevice, hStream, device);
}

LODE_RUNTIME cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length,
                                      unsigned int flags) {
    return forward(cuStreamAttachMemAsync, stream, devPtr, length, flags);
}

LODE_RUNTIME cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
    return forward(cuStreamCopyAttributes, dst, src);
}

LODE_RUNTIME cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                    cudaLaunchAttributeValue* value_out) {
    return forward(cuStreamGetAttribute, hStream, attr, value_out);
}

LODE_RUNTIME cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                    const cudaLaunchAttributeValue* value) {
    return forward(cuStreamSetAttribute, hStream, attr, value);
}

LODE_RUNTIME cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
    return forward(cuLaunchHostFunc, stream, fn, userData);
}

LODE_RUNTIME cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
    return forward(cuMemAllocAsync, devPtr, size, hStream);
}

LODE_RUNTIME cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                     cudaStream_t stream) {
    return forward(cuMemAllocFromPoolAsync, ptr, size, memPool, stream);
}

/// Does nothing for a null pointer, as programs expect (Warp). The driver's function refuses it.
LODE_RUNTIME cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
    if (devPtr == nullptr) return cudaSuccess;
    return forward(cuMemFreeAsync, devPtr, hStream);
}

LODE_RUNTIME cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location,
                                  unsigned int flags, cudaStream_t stream) {
    return forward(cuMemPrefetchAsync, devPtr, count, location, flags, stream);
}

LODE_RUNTIME cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                            cudaGraphInstantiateParams* instantiateParams) {
    return forward(cuGraphInstantiateWithParams, pGraphExec, graph, instantiateParams);
}

LODE_RUNTIME cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return forward(cuGraphLaunch, graphExec, stream);
}

LODE_RUNTIME cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return forward(cuGraphUpload, graphExec, stream);
}

LODE_RUNTIME cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t* extSemArray,
                                               const cudaExternalSemaphoreSignalParams* paramsArray,
                                               unsigned int numExtSems, cudaStream_t stream) {
    return forward(cuSignalExternalSemaphoresAsync, extSemArray, paramsArray, numExtSems, stream);
}

LODE_RUNTIME cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t* extSemArray,
                                             const cudaExternalSemaphoreWaitParams* paramsArray,
                                             unsigned int numExtSems, cudaStream_t stream) {
    return forward(cuWaitExternalSemaphoresAsync, extSemArray, paramsArray, numExtSems, stream);
}
