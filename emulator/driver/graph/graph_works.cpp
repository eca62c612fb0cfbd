#include "emulator/driver/graph/graph_works.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

namespace lode::emulator::driver {

CUresult node_context(CUcontext handle, std::shared_ptr<Context>& context) {
    if (handle == nullptr) {
        Context* top = nullptr;
        const CUresult state = current::open_context(top);
        if (state == CUDA_SUCCESS) context = top->shared_from_this();
        return state;
    }
    context = find_context(handle).context;
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return context->is_open() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

namespace {

CUresult event_of(CUevent handle, std::shared_ptr<Event>& event) {
    event = driver().events.find(handle);
    return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

CUDA_KERNEL_NODE_PARAMS_v2 current_version(const CUDA_KERNEL_NODE_PARAMS_v1& old) noexcept {
    return {old.func,         old.gridDimX,  old.gridDimY,  old.gridDimZ,
            old.blockDimX,    old.blockDimY, old.blockDimZ, old.sharedMemBytes,
            old.kernelParams, old.extra,     nullptr,       nullptr};
}

CUresult kernel_work_of(const CUDA_KERNEL_NODE_PARAMS_v2* parameters, KernelAttributes attributes,
                        NodeWork& work) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 node = *parameters;
    std::shared_ptr<Context> context;
    const bool has_function = node.func != nullptr;
    if (!has_function) node.func = reinterpret_cast<CUfunction>(node.kern);
    if (const CUresult state = node_context(has_function ? nullptr : node.ctx, context);
        state != CUDA_SUCCESS)
        return state;
    KernelWork kernel;
    const CUresult state = make_kernel_work(node, std::move(attributes), *context, kernel);
    if (state == CUDA_SUCCESS) work = std::move(kernel);
    return state;
}

CUresult with_attributes(const KernelWork& now, KernelAttributes attributes, NodeWork& work) {
    const auto& [grid, block, shared, cluster] = now.shape;
    std::size_t bytes = now.parameters->size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, now.parameters->data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const CUDA_KERNEL_NODE_PARAMS_v2 node{now.handle, grid.x, grid.y,  grid.z, block.x, block.y,
                                          block.z,    shared, nullptr, extra,  nullptr, nullptr};
    KernelWork kernel;
    const CUresult state =
        make_kernel_work(node, std::move(attributes), now.function->module().context(), kernel);
    if (state == CUDA_SUCCESS) work = std::move(kernel);
    return state;
}

CUresult copy_work_of(const CUDA_MEMCPY3D* parameters, CUcontext handle, NodeWork& work) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CopyWork copy;
    copy.parameters = *parameters;
    if (const CUresult state = node_context(handle, copy.context); state != CUDA_SUCCESS)
        return state;
    if (const CUresult state = box_of(*parameters, copy.box); state != CUDA_SUCCESS) return state;
    if (const CUresult state = check_copy(copy.box); state != CUDA_SUCCESS) return state;
    work = std::move(copy);
    return CUDA_SUCCESS;
}

CUresult fill_work_of(const CUDA_MEMSET_NODE_PARAMS_v1* parameters, CUcontext handle,
                      NodeWork& work) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const unsigned size = parameters->elementSize;
    if (size != 1 && size != 2 && size != 4) return CUDA_ERROR_INVALID_VALUE;
    FillWork fill;
    fill.parameters = *parameters;
    if (const CUresult state = node_context(handle, fill.context); state != CUDA_SUCCESS)
        return state;
    if (const CUresult state = check_fill(*parameters); state != CUDA_SUCCESS) return state;
    work = std::move(fill);
    return CUDA_SUCCESS;
}

CUresult host_work_of(const CUDA_HOST_NODE_PARAMS_v1* parameters, NodeWork& work) {
    if (parameters == nullptr || parameters->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    work = HostWork{parameters->fn, parameters->userData};
    return CUDA_SUCCESS;
}

CUresult record_work_of(CUevent event, NodeWork& work) {
    EventRecordWork record;
    const CUresult state = event_of(event, record.event);
    if (state == CUDA_SUCCESS) work = std::move(record);
    return state;
}

CUresult wait_work_of(CUevent event, NodeWork& work) {
    EventWaitWork wait;
    const CUresult state = event_of(event, wait.event);
    if (state == CUDA_SUCCESS) work = std::move(wait);
    return state;
}

CUresult child_work_of(CUgraph handle, const Graph* parent, NodeWork& work) {
    GraphTables& tables = driver().graph_tables;
    const auto graph = tables.graphs.find(handle);
    if (graph == nullptr || contains(*graph, parent) || !graph->can_be_copied())
        return CUDA_ERROR_INVALID_VALUE;
    ChildWork child{graph->clone()};
    child.graph->is_child = true;
    tables.graphs.add(child.graph);
    work = std::move(child);
    return CUDA_SUCCESS;
}

CUresult work_of(CUgraphNodeParams* parameters, Graph* parent, NodeWork& work) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (parameters->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            const CUDA_KERNEL_NODE_PARAMS_v3& k = parameters->kernel;
            const CUDA_KERNEL_NODE_PARAMS_v2 kernel{
                k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
                k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    k.kern,      k.ctx};
            return kernel_work_of(&kernel, {}, work);
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            if (parameters->memcpy.flags != 0 || parameters->memcpy.reserved != 0)
                return CUDA_ERROR_INVALID_VALUE;
            return copy_work_of(&parameters->memcpy.copyParams, parameters->memcpy.copyCtx, work);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS_v2& m = parameters->memset;
            const CUDA_MEMSET_NODE_PARAMS_v1 fill{m.dst,         m.pitch, m.value,
                                                  m.elementSize, m.width, m.height};
            return fill_work_of(&fill, m.ctx, work);
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            const CUDA_HOST_NODE_PARAMS_v1 host{parameters->host.fn, parameters->host.userData};
            return host_work_of(&host, work);
        }
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (parameters->graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
                return gate::refuse("child graphs that move into their parent");
            return child_work_of(parameters->graph.graph, parent, work);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            work = EmptyWork{};
            return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return wait_work_of(parameters->eventWait.event, work);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return record_work_of(parameters->eventRecord.event, work);
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
            return gate::refuse("graph nodes for external semaphores");
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
            CUDA_MEM_ALLOC_NODE_PARAMS_v2& a = parameters->alloc;
            CUDA_MEM_ALLOC_NODE_PARAMS_v1 alloc{a.poolProps, a.accessDescs, a.accessDescCount,
                                                a.bytesize, 0};
            const CUresult state = alloc_work_of(alloc, parent, work);
            a.dptr = alloc.dptr;
            return state;
        }
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return free_work_of(parameters->free.dptr, parent, work);
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            return gate::refuse("graph nodes for batches of memory operations");
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return conditional_work_of(parameters->conditional, parent, work);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult replace_work(std::shared_ptr<const NodeWork>& work, CUgraphNodeParams* parameters) {
    if (parameters == nullptr || parameters->type != type_of(*work) ||
        !graphs_inside(*work).empty() || is_memory_node(*work))
        return CUDA_ERROR_INVALID_VALUE;
    NodeWork fresh;
    CUresult state = work_of(parameters, nullptr, fresh);
    // A kernel's attributes aren't parameters: they stay.
    if (const auto* now = std::get_if<KernelWork>(work.get());
        now != nullptr && state == CUDA_SUCCESS && !now->attributes.empty()) {
        const auto kernel = std::get<KernelWork>(fresh);
        state = with_attributes(kernel, now->attributes, fresh);
    }
    if (state == CUDA_SUCCESS) work = std::make_shared<const NodeWork>(std::move(fresh));
    return state;
}

}  // namespace lode::emulator::driver
