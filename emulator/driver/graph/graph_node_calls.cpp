// cuGraphAdd…Node, cuGraph…NodeGetParams and cuGraph…NodeSetParams.
#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/graph/graph_works.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

/// A kernel node's parameters, with pointers to the node's copies of the arguments.
CUDA_KERNEL_NODE_PARAMS_v2 parameters_of(GraphNode& node, const KernelWork& kernel) {
    node.pointers.clear();
    for (const auto& parameter : kernel.function->info().parameters)
        node.pointers.push_back(kernel.parameters->data() + parameter.offset);
    CUDA_KERNEL_NODE_PARAMS_v2 p{};
    if (driver().functions.find(kernel.handle) != nullptr) {
        p.func = kernel.handle;
    } else {
        p.kern = reinterpret_cast<CUkernel>(kernel.handle);
        p.ctx = Handles<Context, CUcontext>::native_of(kernel.function->module().context());
    }
    const auto& [grid, block, shared, cluster] = kernel.shape;
    p.gridDimX = grid.x;
    p.gridDimY = grid.y;
    p.gridDimZ = grid.z;
    p.blockDimX = block.x;
    p.blockDimY = block.y;
    p.blockDimZ = block.z;
    p.sharedMemBytes = shared;
    p.kernelParams = node.pointers.empty() ? nullptr : node.pointers.data();
    return p;
}

CUevent native_event(const std::shared_ptr<Event>& event) {
    return Handles<Event, CUevent>::native_of(*event);
}

}  // namespace

LODE_ENTRY cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](const Graph&, NodeWork& work) -> CUresult {
                        if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
                        const auto now = current_version(*nodeParams);
                        return kernel_work_of(&now, {}, work);
                    });
}

LODE_ENTRY cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies,
                                   const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](const Graph&, NodeWork& work) { return kernel_work_of(nodeParams, {}, work); });
}

LODE_ENTRY cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](const Graph&, NodeWork& work) { return copy_work_of(copyParams, ctx, work); });
}

LODE_ENTRY cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](const Graph&, NodeWork& work) { return fill_work_of(memsetParams, ctx, work); });
}

LODE_ENTRY cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_HOST_NODE_PARAMS* nodeParams) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](const Graph&, NodeWork& work) { return host_work_of(nodeParams, work); });
}

LODE_ENTRY cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                    const CUgraphNode* dependencies, size_t numDependencies,
                                    CUgraph childGraph) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](Graph& graph, NodeWork& work) { return child_work_of(childGraph, &graph, work); });
}

LODE_ENTRY cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                               const CUgraphNode* dependencies, size_t numDependencies) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [](const Graph&, NodeWork&) { return CUDA_SUCCESS; });
}

LODE_ENTRY cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                     const CUgraphNode* dependencies, size_t numDependencies,
                                     CUevent event) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](const Graph&, NodeWork& work) { return record_work_of(event, work); });
}

LODE_ENTRY cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies,
                                   CUevent event) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](const Graph&, NodeWork& work) { return wait_work_of(event, work); });
}

LODE_ENTRY cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                          size_t numDependencies, CUgraphNodeParams* nodeParams) {
    return add_node(
        __func__, phGraphNode, hGraph, dependencies, numDependencies,
        [&](Graph& graph, NodeWork& work) { return work_of(nodeParams, &graph, work); });
}

LODE_ENTRY cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                             const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                             size_t numDependencies, CUgraphNodeParams* nodeParams) {
    return add_node(__func__, phGraphNode, hGraph, dependencies, numDependencies,
                    [&](Graph& graph, NodeWork& work) {
                        const CUresult state = check_edges(dependencyData, numDependencies);
                        return state == CUDA_SUCCESS ? work_of(nodeParams, &graph, work) : state;
                    });
}

LODE_ENTRY cuGraphAddNode_v3(CUgraphNode* phGraphNode, CUgraph hGraph,
                             const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                             size_t numDependencies, CUgraphNodeParams* nodeParams) {
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
                             nodeParams);
}

LODE_ENTRY cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return get_node<KernelWork>(
        __func__, hNode, nodeParams, [](GraphNode& node, const KernelWork& kernel) {
            const CUDA_KERNEL_NODE_PARAMS_v2 p = parameters_of(node, kernel);
            return CUDA_KERNEL_NODE_PARAMS_v1{
                Handles<Function, CUfunction>::native_of(*kernel.function),
                p.gridDimX,
                p.gridDimY,
                p.gridDimZ,
                p.blockDimX,
                p.blockDimY,
                p.blockDimZ,
                p.sharedMemBytes,
                p.kernelParams,
                p.extra};
        });
}

LODE_ENTRY cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return get_node<KernelWork>(__func__, hNode, nodeParams, parameters_of);
}

LODE_ENTRY cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                      const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return set_node<KernelWork>(__func__, hNode,
                                [&](const KernelWork& now, NodeWork& work) -> CUresult {
                                    if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
                                    const auto latest = current_version(*nodeParams);
                                    return kernel_work_of(&latest, now.attributes, work);
                                });
}

LODE_ENTRY cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                         const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return set_node<KernelWork>(__func__, hNode, [&](const KernelWork& now, NodeWork& work) {
        return kernel_work_of(nodeParams, now.attributes, work);
    });
}

LODE_ENTRY cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                         CUkernelNodeAttrValue* value_out) {
    return enter_node(__func__, hNode, [&](GraphNode& node) -> CUresult {
        const auto* kernel = std::get_if<KernelWork>(node.work.get());
        if (kernel == nullptr || value_out == nullptr || !is_kernel_attribute(attr))
            return CUDA_ERROR_INVALID_VALUE;
        const auto found = kernel->attributes.find(attr);
        *value_out = found != kernel->attributes.end() ? found->second : CUkernelNodeAttrValue{};
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                         const CUkernelNodeAttrValue* value) {
    return set_node<KernelWork>(
        __func__, hNode, [&](const KernelWork& now, NodeWork& work) -> CUresult {
            if (value == nullptr || !is_kernel_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
            KernelAttributes attributes = now.attributes;
            CUkernelNodeAttrValue& kept = attributes[attr] = *value;
            if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
                kept.priority = std::clamp(kept.priority, greatest_priority, least_priority);
            return with_attributes(now, std::move(attributes), work);
        });
}

LODE_ENTRY cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    return enter_node(__func__, src, [&](GraphNode& node) -> CUresult {
        const auto* from = std::get_if<KernelWork>(node.work.get());
        const auto target = driver().graph_tables.nodes.find(dst);
        if (from == nullptr || target == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return replace_work<KernelWork>(target->work, [&](const KernelWork& now, NodeWork& work) {
            if (&now.function->module().context() != &from->function->module().context())
                return CUDA_ERROR_INVALID_VALUE;
            return with_attributes(now, from->attributes, work);
        });
    });
}

LODE_ENTRY cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
    return get_node<CopyWork>(__func__, hNode, nodeParams,
                              [](GraphNode&, const CopyWork& copy) { return copy.parameters; });
}

LODE_ENTRY cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
    return set_node<CopyWork>(__func__, hNode, [&](const CopyWork& now, NodeWork& work) {
        return copy_work_of(nodeParams, Handles<Context, CUcontext>::native_of(*now.context), work);
    });
}

LODE_ENTRY cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
    return get_node<FillWork>(__func__, hNode, nodeParams,
                              [](GraphNode&, const FillWork& fill) { return fill.parameters; });
}

LODE_ENTRY cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                      const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
    return set_node<FillWork>(__func__, hNode, [&](const FillWork& now, NodeWork& work) {
        return fill_work_of(nodeParams, Handles<Context, CUcontext>::native_of(*now.context), work);
    });
}

LODE_ENTRY cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
    return get_node<HostWork>(__func__, hNode, nodeParams, [](GraphNode&, const HostWork& host) {
        return CUDA_HOST_NODE_PARAMS_v1{host.function, host.user};
    });
}

LODE_ENTRY cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
    return set_node<HostWork>(__func__, hNode, [&](const HostWork&, NodeWork& work) {
        return host_work_of(nodeParams, work);
    });
}

LODE_ENTRY cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
    return get_node<ChildWork>(__func__, hNode, phGraph, [](GraphNode&, const ChildWork& child) {
        return native_graph(*child.graph);
    });
}

LODE_ENTRY cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
    return get_node<EventRecordWork>(
        __func__, hNode, event_out,
        [](GraphNode&, const EventRecordWork& record) { return native_event(record.event); });
}

LODE_ENTRY cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
    return set_node<EventRecordWork>(__func__, hNode, [&](const EventRecordWork&, NodeWork& work) {
        return record_work_of(event, work);
    });
}

LODE_ENTRY cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
    return get_node<EventWaitWork>(
        __func__, hNode, event_out,
        [](GraphNode&, const EventWaitWork& wait) { return native_event(wait.event); });
}

LODE_ENTRY cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
    return set_node<EventWaitWork>(__func__, hNode, [&](const EventWaitWork&, NodeWork& work) {
        return wait_work_of(event, work);
    });
}

LODE_ENTRY cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
    return enter_node(__func__, hNode,
                      [&](GraphNode& node) { return replace_work(node.work, nodeParams); });
}

LODE_ENTRY cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
    return cuGraphNodeSetParams(hNode, nodeParams);
}

}  // namespace lode::emulator::driver
