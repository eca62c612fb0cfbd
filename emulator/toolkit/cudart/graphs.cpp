// Graph nodes whose parameters have another form in the driver: kernels, copies and fills.
#include "emulator/toolkit/cudart/arrays.hpp"
#include "emulator/toolkit/cudart/binaries.hpp"

#include <cstring>

using namespace lode::emulator::cudart;

namespace {

CUcontext current_context() noexcept {
    CUcontext context = nullptr;
    (void)cuCtxGetCurrent(&context);
    return context;
}

/// `Params` is cudaKernelNodeParams or the form with uint3.
template <class Native, class Params>
cudaError_t native_kernel(const Params& node, Native& found) noexcept {
    found = Native{};
    found.gridDimX = node.gridDim.x;
    found.gridDimY = node.gridDim.y;
    found.gridDimZ = node.gridDim.z;
    found.blockDimX = node.blockDim.x;
    found.blockDimY = node.blockDim.y;
    found.blockDimZ = node.blockDim.z;
    found.sharedMemBytes = node.sharedMemBytes;
    found.kernelParams = node.kernelParams;
    found.extra = node.extra;
    return kernel_of(node.func, found.kern);
}

cudaMemcpy3DParms line_copy(void* to, const void* from, size_t count,
                            cudaMemcpyKind kind) noexcept {
    cudaMemcpy3DParms copy{};
    copy.dstPtr = {to, count, count, 1};
    copy.srcPtr = {const_cast<void*>(from), count, count, 1};
    copy.extent = {count, 1, 1};
    copy.kind = kind;
    return copy;
}

/// A copy to or from a variable: the body gets the address of the variable's part.
template <class Body>
cudaError_t with_part(const void* symbol, size_t offset, size_t count, Body&& body) {
    CUdeviceptr part = 0;
    const cudaError_t wrong = part_of(symbol, offset, count, part);
    return wrong != cudaSuccess ? remember(wrong) : body(reinterpret_cast<void*>(part));
}

static_assert(sizeof(cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS));
static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams) &&
              offsetof(cudaGraphNodeParams, alloc) == offsetof(CUgraphNodeParams, alloc));
static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));

/// Any node's parameters. Those of most kinds have the same layout.
cudaError_t native_node(const cudaGraphNodeParams& node, CUgraphNodeParams& found) noexcept {
    std::memcpy(&found, &node, sizeof(found));
    if (node.type == cudaGraphNodeTypeKernel) {
        std::memset(found.reserved1, 0, sizeof(found.reserved1));
        return native_kernel(node.kernel, found.kernel);
    }
    if (node.type == cudaGraphNodeTypeMemcpy) {
        std::memset(found.reserved1, 0, sizeof(found.reserved1));
        found.memcpy.flags = node.memcpy.flags;
        found.memcpy.copyCtx = current_context();
        return native_copy(node.memcpy.copyParams, found.memcpy.copyParams);
    }
    if (node.type == cudaGraphNodeTypeMemset) found.memset.ctx = current_context();
    if (node.type == cudaGraphNodeTypeConditional) found.conditional.ctx = current_context();
    return cudaSuccess;
}

/// Copies what the driver has written back: addresses and graphs.
void take_results(const CUgraphNodeParams& from, cudaGraphNodeParams& to) noexcept {
    if (to.type == cudaGraphNodeTypeMemAlloc)
        to.alloc.dptr = reinterpret_cast<void*>(from.alloc.dptr);
    if (to.type == cudaGraphNodeTypeConditional)
        to.conditional.phGraph_out = as<cudaGraph_t*>(from.conditional.phGraph_out);
}

}  // namespace

LODE_RUNTIME cudaGraphAddNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                              const cudaGraphNode_t* pDependencies,
                              const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                              cudaGraphNodeParams* nodeParams) {
    return run([&]() -> cudaError_t {
        CUgraphNodeParams node{};
        if (nodeParams == nullptr) return cudaErrorInvalidValue;
        if (const cudaError_t wrong = native_node(*nodeParams, node); wrong != cudaSuccess)
            return wrong;
        const CUresult state =
            cuGraphAddNode(pGraphNode, graph, pDependencies,
                           as<const CUgraphEdgeData*>(dependencyData), numDependencies, &node);
        if (state == CUDA_SUCCESS) take_results(node, *nodeParams);
        return error_of(state);
    });
}

LODE_RUNTIME cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
    return run([&]() -> cudaError_t {
        CUgraphNodeParams changed{};
        if (nodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_node(*nodeParams, changed);
        return wrong != cudaSuccess ? wrong : error_of(cuGraphNodeSetParams(node, &changed));
    });
}

LODE_RUNTIME cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                        cudaGraphNodeParams* nodeParams) {
    return run([&]() -> cudaError_t {
        CUgraphNodeParams changed{};
        if (nodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_node(*nodeParams, changed);
        return wrong != cudaSuccess ? wrong
                                    : error_of(cuGraphExecNodeSetParams(graphExec, node, &changed));
    });
}

LODE_RUNTIME cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                    const cudaKernelNodeParams* pNodeParams) {
    return run([&]() -> cudaError_t {
        CUDA_KERNEL_NODE_PARAMS node{};
        if (pNodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_kernel(*pNodeParams, node);
        return wrong != cudaSuccess
                   ? wrong
                   : error_of(cuGraphAddKernelNode(pGraphNode, graph, pDependencies,
                                                   numDependencies, &node));
    });
}

LODE_RUNTIME cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* pNodeParams) {
    return run([&]() -> CUresult {
        CUDA_KERNEL_NODE_PARAMS found{};
        if (pNodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult state = cuGraphKernelNodeGetParams(node, &found);
        if (state != CUDA_SUCCESS) return state;
        pNodeParams->func = const_cast<void*>(host_of(found.kern));
        pNodeParams->gridDim = {found.gridDimX, found.gridDimY, found.gridDimZ};
        pNodeParams->blockDim = {found.blockDimX, found.blockDimY, found.blockDimZ};
        pNodeParams->sharedMemBytes = found.sharedMemBytes;
        pNodeParams->kernelParams = found.kernelParams;
        pNodeParams->extra = found.extra;
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                          const cudaKernelNodeParams* pNodeParams) {
    return run([&]() -> cudaError_t {
        CUDA_KERNEL_NODE_PARAMS changed{};
        if (pNodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_kernel(*pNodeParams, changed);
        return wrong != cudaSuccess ? wrong : error_of(cuGraphKernelNodeSetParams(node, &changed));
    });
}

LODE_RUNTIME cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                              const cudaKernelNodeParams* pNodeParams) {
    return run([&]() -> cudaError_t {
        CUDA_KERNEL_NODE_PARAMS changed{};
        if (pNodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_kernel(*pNodeParams, changed);
        return wrong != cudaSuccess
                   ? wrong
                   : error_of(cuGraphExecKernelNodeSetParams(hGraphExec, node, &changed));
    });
}

LODE_RUNTIME cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                    const cudaMemcpy3DParms* pCopyParams) {
    return run([&]() -> cudaError_t {
        CUDA_MEMCPY3D copy{};
        if (pCopyParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_copy(*pCopyParams, copy);
        return wrong != cudaSuccess
                   ? wrong
                   : error_of(cuGraphAddMemcpyNode(pGraphNode, graph, pDependencies,
                                                   numDependencies, &copy, current_context()));
    });
}

LODE_RUNTIME cudaGraphAddMemcpyNode1D(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                      void* dst, const void* src, size_t count,
                                      cudaMemcpyKind kind) {
    const auto copy = line_copy(dst, src, count, kind);
    return cudaGraphAddMemcpyNode(pGraphNode, graph, pDependencies, numDependencies, &copy);
}

LODE_RUNTIME cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t* pDependencies,
                                            size_t numDependencies, const void* symbol,
                                            const void* src, size_t count, size_t offset,
                                            cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies, numDependencies, part,
                                        src, count, kind);
    });
}

LODE_RUNTIME cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t* pDependencies,
                                              size_t numDependencies, void* dst, const void* symbol,
                                              size_t count, size_t offset, cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies, numDependencies, dst,
                                        part, count, kind);
    });
}

LODE_RUNTIME cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* pNodeParams) {
    return run([&]() -> CUresult {
        CUDA_MEMCPY3D copy{};
        if (pNodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult state = cuGraphMemcpyNodeGetParams(node, &copy);
        if (state == CUDA_SUCCESS) *pNodeParams = runtime_copy(copy);
        return state;
    });
}

LODE_RUNTIME cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                          const cudaMemcpy3DParms* pNodeParams) {
    return run([&]() -> cudaError_t {
        CUDA_MEMCPY3D copy{};
        if (pNodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_copy(*pNodeParams, copy);
        return wrong != cudaSuccess ? wrong : error_of(cuGraphMemcpyNodeSetParams(node, &copy));
    });
}

LODE_RUNTIME cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src,
                                            size_t count, cudaMemcpyKind kind) {
    const auto copy = line_copy(dst, src, count, kind);
    return cudaGraphMemcpyNodeSetParams(node, &copy);
}

LODE_RUNTIME cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol,
                                                  const void* src, size_t count, size_t offset,
                                                  cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphMemcpyNodeSetParams1D(node, part, src, count, kind);
    });
}

LODE_RUNTIME cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* dst,
                                                    const void* symbol, size_t count, size_t offset,
                                                    cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphMemcpyNodeSetParams1D(node, dst, part, count, kind);
    });
}

LODE_RUNTIME cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                              const cudaMemcpy3DParms* pNodeParams) {
    return run([&]() -> cudaError_t {
        CUDA_MEMCPY3D copy{};
        if (pNodeParams == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_copy(*pNodeParams, copy);
        return wrong != cudaSuccess ? wrong
                                    : error_of(cuGraphExecMemcpyNodeSetParams(
                                          hGraphExec, node, &copy, current_context()));
    });
}

LODE_RUNTIME cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                void* dst, const void* src, size_t count,
                                                cudaMemcpyKind kind) {
    const auto copy = line_copy(dst, src, count, kind);
    return cudaGraphExecMemcpyNodeSetParams(hGraphExec, node, &copy);
}

LODE_RUNTIME cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                      cudaGraphNode_t node, const void* symbol,
                                                      const void* src, size_t count, size_t offset,
                                                      cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, part, src, count, kind);
    });
}

LODE_RUNTIME cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                        cudaGraphNode_t node, void* dst,
                                                        const void* symbol, size_t count,
                                                        size_t offset, cudaMemcpyKind kind) {
    return with_part(symbol, offset, count, [&](void* part) {
        return cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, part, count, kind);
    });
}

LODE_RUNTIME cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                    const cudaMemsetParams* pMemsetParams) {
    return run([&] {
        return cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies,
                                    as<const CUDA_MEMSET_NODE_PARAMS*>(pMemsetParams),
                                    current_context());
    });
}

LODE_RUNTIME cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                              const cudaMemsetParams* pNodeParams) {
    return run([&] {
        return cuGraphExecMemsetNodeSetParams(
            hGraphExec, node, as<const CUDA_MEMSET_NODE_PARAMS*>(pNodeParams), current_context());
    });
}

LODE_RUNTIME cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* pHandle_out,
                                              cudaGraph_t graph, unsigned defaultLaunchValue,
                                              unsigned flags) {
    return run([&] {
        return cuGraphConditionalHandleCreate(as<CUgraphConditionalHandle*>(pHandle_out), graph,
                                              current_context(), defaultLaunchValue, flags);
    });
}
