// cuGraphAddMemAllocNode, cuDeviceGraphMemTrim and other calls on the memory of graphs.
#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/stream/host_value.hpp"

namespace lode::emulator::driver {
namespace {

/// A device's account of its graphs' memory: body(MemoryPool&).
template <class Body>
CUresult enter_account(const char* symbol, CUdevice ordinal, const Body& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const Device* const device = driver().device(ordinal);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : body(*device->graph_memory);
    });
}

}  // namespace

LODE_ENTRY cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                  const CUgraphNode* dependencies, size_t numDependencies,
                                  CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](Graph& graph, NodeWork& work) -> CUresult {
                        return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                     : alloc_work_of(*nodeParams, &graph, work);
                    });
}

LODE_ENTRY cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                 const CUgraphNode* dependencies, size_t numDependencies,
                                 CUdeviceptr dptr) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](const Graph& graph, NodeWork& work) { return free_work_of(dptr, &graph, work); });
}

LODE_ENTRY cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
    return get_node<AllocWork>(__func__, hNode, params_out,
                               [](GraphNode&, const AllocWork& alloc) { return alloc.parameters; });
}

LODE_ENTRY cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
    return get_node<FreeWork>(__func__, hNode, dptr_out, [](GraphNode&, const FreeWork& freed) {
        return freed.memory->address;
    });
}

LODE_ENTRY cuDeviceGraphMemTrim(CUdevice device) {
    return enter_account(__func__, device, [](MemoryPool& account) {
        account.trim(0);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
    return enter_account(__func__, device, [&](MemoryPool& account) -> CUresult {
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        switch (attr) {
            case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
                return store<cuuint64_t>(value, account.used);
            case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
                return store<cuuint64_t>(value, account.used_high);
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
                return store<cuuint64_t>(value, account.reserved);
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
                return store<cuuint64_t>(value, account.reserved_high);
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
    return enter_account(__func__, device, [&](MemoryPool& account) -> CUresult {
        if (value == nullptr || load<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        if (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
            account.used_high = account.used.load();
        } else if (attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
            account.reserved_high = account.reserved.load();
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
