// Functions on graphs that are those of the driver under another name.
#include "emulator/toolkit/cudart/runtime.hpp"

using namespace lode::emulator::cudart;

LODE_RUNTIME cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr, cudaHostFn_t destroy,
                                  unsigned int initialRefcount, unsigned int flags) {
    return forward(cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags);
}

LODE_RUNTIME cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
    return forward(cuUserObjectRelease, object, count);
}

LODE_RUNTIME cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
    return forward(cuUserObjectRetain, object, count);
}

LODE_RUNTIME cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t* pDependencies,
                                        size_t numDependencies, cudaGraph_t childGraph) {
    return forward(cuGraphAddChildGraphNode, pGraphNode, graph, pDependencies, numDependencies,
                   childGraph);
}

LODE_RUNTIME cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                      const cudaGraphNode_t* to, const cudaGraphEdgeData* edgeData,
                                      size_t numDependencies) {
    return forward(cuGraphAddDependencies, graph, from, to, edgeData, numDependencies);
}

LODE_RUNTIME cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t* pDependencies, size_t numDependencies) {
    return forward(cuGraphAddEmptyNode, pGraphNode, graph, pDependencies, numDependencies);
}

LODE_RUNTIME cudaGraphAddEventRecordNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                         const cudaGraphNode_t* pDependencies,
                                         size_t numDependencies, cudaEvent_t event) {
    return forward(cuGraphAddEventRecordNode, pGraphNode, graph, pDependencies, numDependencies,
                   event);
}

LODE_RUNTIME cudaGraphAddEventWaitNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                       cudaEvent_t event) {
    return forward(cuGraphAddEventWaitNode, pGraphNode, graph, pDependencies, numDependencies,
                   event);
}

LODE_RUNTIME cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                  const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                  const cudaHostNodeParams* pNodeParams) {
    return forward(cuGraphAddHostNode, pGraphNode, graph, pDependencies, numDependencies,
                   pNodeParams);
}

LODE_RUNTIME cudaGraphAddMemAllocNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                      cudaMemAllocNodeParams* nodeParams) {
    return forward(cuGraphAddMemAllocNode, pGraphNode, graph, pDependencies, numDependencies,
                   nodeParams);
}

LODE_RUNTIME cudaGraphAddMemFreeNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                     void* dptr) {
    return forward(cuGraphAddMemFreeNode, pGraphNode, graph, pDependencies, numDependencies, dptr);
}

LODE_RUNTIME cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* pGraph) {
    return forward(cuGraphChildGraphNodeGetGraph, node, pGraph);
}

LODE_RUNTIME cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) {
    return forward(cuGraphClone, pGraphClone, originalGraph);
}

LODE_RUNTIME cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) {
    return forward(cuGraphCreate, pGraph, flags);
}

LODE_RUNTIME cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
    return forward(cuGraphDebugDotPrint, graph, path, flags);
}

LODE_RUNTIME cudaGraphDestroy(cudaGraph_t graph) {
    return forward(cuGraphDestroy, graph);
}

LODE_RUNTIME cudaGraphDestroyNode(cudaGraphNode_t node) {
    return forward(cuGraphDestroyNode, node);
}

LODE_RUNTIME cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
    return forward(cuGraphEventRecordNodeGetEvent, node, event_out);
}

LODE_RUNTIME cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return forward(cuGraphEventRecordNodeSetEvent, node, event);
}

LODE_RUNTIME cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
    return forward(cuGraphEventWaitNodeGetEvent, node, event_out);
}

LODE_RUNTIME cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return forward(cuGraphEventWaitNodeSetEvent, node, event);
}

LODE_RUNTIME cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                  cudaGraph_t childGraph) {
    return forward(cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph);
}

LODE_RUNTIME cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
    return forward(cuGraphExecDestroy, graphExec);
}

LODE_RUNTIME cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                  cudaEvent_t event) {
    return forward(cuGraphExecEventRecordNodeSetEvent, hGraphExec, hNode, event);
}

LODE_RUNTIME cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                cudaEvent_t event) {
    return forward(cuGraphExecEventWaitNodeSetEvent, hGraphExec, hNode, event);
}

LODE_RUNTIME cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long* flags) {
    return forward(cuGraphExecGetFlags, graphExec, flags);
}

LODE_RUNTIME cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                            const cudaHostNodeParams* pNodeParams) {
    return forward(cuGraphExecHostNodeSetParams, hGraphExec, node, pNodeParams);
}

LODE_RUNTIME cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                 cudaGraphExecUpdateResultInfo* resultInfo) {
    return forward(cuGraphExecUpdate, hGraphExec, hGraph, resultInfo);
}

LODE_RUNTIME cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                               cudaGraphEdgeData* edgeData, size_t* numEdges) {
    return forward(cuGraphGetEdges, graph, from, to, edgeData, numEdges);
}

LODE_RUNTIME cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
    return forward(cuGraphGetNodes, graph, nodes, numNodes);
}

LODE_RUNTIME cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes,
                                   size_t* pNumRootNodes) {
    return forward(cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes);
}

LODE_RUNTIME cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* pNodeParams) {
    return forward(cuGraphHostNodeGetParams, node, pNodeParams);
}

LODE_RUNTIME cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                        const cudaHostNodeParams* pNodeParams) {
    return forward(cuGraphHostNodeSetParams, node, pNodeParams);
}

LODE_RUNTIME cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                  unsigned long long flags) {
    return forward(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
}

LODE_RUNTIME cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                           unsigned long long flags) {
    return forward(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
}

LODE_RUNTIME cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc) {
    return forward(cuGraphKernelNodeCopyAttributes, hDst, hSrc);
}

LODE_RUNTIME cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                             cudaLaunchAttributeValue* value_out) {
    return forward(cuGraphKernelNodeGetAttribute, hNode, attr, value_out);
}

LODE_RUNTIME cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                             const cudaLaunchAttributeValue* value) {
    return forward(cuGraphKernelNodeSetAttribute, hNode, attr, value);
}

LODE_RUNTIME cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                            cudaMemAllocNodeParams* params_out) {
    return forward(cuGraphMemAllocNodeGetParams, node, params_out);
}

LODE_RUNTIME cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr_out) {
    return forward(cuGraphMemFreeNodeGetParams, node, dptr_out);
}

LODE_RUNTIME cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* pNodeParams) {
    return forward(cuGraphMemsetNodeGetParams, node, pNodeParams);
}

LODE_RUNTIME cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                          const cudaMemsetParams* pNodeParams) {
    return forward(cuGraphMemsetNodeSetParams, node, pNodeParams);
}

LODE_RUNTIME cudaGraphNodeFindInClone(cudaGraphNode_t* pNode, cudaGraphNode_t originalNode,
                                      cudaGraph_t clonedGraph) {
    return forward(cuGraphNodeFindInClone, pNode, originalNode, clonedGraph);
}

LODE_RUNTIME cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies,
                                          cudaGraphEdgeData* edgeData, size_t* pNumDependencies) {
    return forward(cuGraphNodeGetDependencies, node, pDependencies, edgeData, pNumDependencies);
}

LODE_RUNTIME cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes,
                                            cudaGraphEdgeData* edgeData,
                                            size_t* pNumDependentNodes) {
    return forward(cuGraphNodeGetDependentNodes, node, pDependentNodes, edgeData,
                   pNumDependentNodes);
}

LODE_RUNTIME cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                     unsigned int* isEnabled) {
    return forward(cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled);
}

LODE_RUNTIME cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                     unsigned int isEnabled) {
    return forward(cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled);
}

LODE_RUNTIME cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                        unsigned int count) {
    return forward(cuGraphReleaseUserObject, graph, object, count);
}

LODE_RUNTIME cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned int count, unsigned int flags) {
    return forward(cuGraphRetainUserObject, graph, object, count, flags);
}

LODE_RUNTIME cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                         const cudaGraphNode_t* to,
                                         const cudaGraphEdgeData* edgeData,
                                         size_t numDependencies) {
    return forward(cuGraphRemoveDependencies, graph, from, to, edgeData, numDependencies);
}

LODE_RUNTIME cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
    return forward(cuGraphNodeGetType, node, pType);
}

LODE_RUNTIME cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
    size_t numDependencies, const cudaExternalSemaphoreSignalNodeParams* nodeParams) {
    return forward(cuGraphAddExternalSemaphoresSignalNode, pGraphNode, graph, pDependencies,
                   numDependencies, nodeParams);
}

LODE_RUNTIME cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
    size_t numDependencies, const cudaExternalSemaphoreWaitNodeParams* nodeParams) {
    return forward(cuGraphAddExternalSemaphoresWaitNode, pGraphNode, graph, pDependencies,
                   numDependencies, nodeParams);
}

LODE_RUNTIME cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const cudaExternalSemaphoreSignalNodeParams* nodeParams) {
    return forward(cuGraphExecExternalSemaphoresSignalNodeSetParams, hGraphExec, hNode, nodeParams);
}

LODE_RUNTIME cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const cudaExternalSemaphoreWaitNodeParams* nodeParams) {
    return forward(cuGraphExecExternalSemaphoresWaitNodeSetParams, hGraphExec, hNode, nodeParams);
}

LODE_RUNTIME cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t hNode, cudaExternalSemaphoreSignalNodeParams* params_out) {
    return forward(cuGraphExternalSemaphoresSignalNodeGetParams, hNode, params_out);
}

LODE_RUNTIME cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t hNode, const cudaExternalSemaphoreSignalNodeParams* nodeParams) {
    return forward(cuGraphExternalSemaphoresSignalNodeSetParams, hNode, nodeParams);
}

LODE_RUNTIME cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t hNode, cudaExternalSemaphoreWaitNodeParams* params_out) {
    return forward(cuGraphExternalSemaphoresWaitNodeGetParams, hNode, params_out);
}

LODE_RUNTIME cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t hNode, const cudaExternalSemaphoreWaitNodeParams* nodeParams) {
    return forward(cuGraphExternalSemaphoresWaitNodeSetParams, hNode, nodeParams);
}
