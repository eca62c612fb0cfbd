// cuGraphInstantiate, cuGraphLaunch and other calls on executable graphs.
#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/graph/graph_works.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

/// enter_graphs() with an executable graph: body(GraphExec&).
template <class Body>
CUresult enter_exec(const char* symbol, CUgraphExec handle, Body&& body) noexcept {
    return enter_graphs(symbol, [&](GraphTables& tables) -> CUresult {
        const auto exec = tables.execs.find(handle);
        return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*exec);
    });
}

/// The same with one of its nodes: body(GraphExec::Node&).
template <class Body>
CUresult enter_exec_node(const char* symbol, CUgraphExec handle, CUgraphNode original,
                         Body&& body) noexcept {
    return enter_exec(symbol, handle, [&](GraphExec& exec) -> CUresult {
        GraphExec::Node* const node = exec.find(original);
        return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*node);
    });
}

/// Replaces a node's work by one of the same type.
template <class Work, class Make>
CUresult set_exec_node(const char* symbol, CUgraphExec handle, CUgraphNode original,
                       const Make& make) {
    return enter_exec_node(symbol, handle, original, [&](GraphExec::Node& node) -> CUresult {
        return replace_work<Work>(node.work, make);
    });
}

/// Why a graph can't be instantiated; success if it can.
CUgraphInstantiateResult check_structure(const Graph& graph) {
    const bool exists = driver().graph_tables.execs.find(graph.only_exec) != nullptr;
    if (exists && !graph.can_be_copied()) {
        log::report(
            "A graph with conditional or memory nodes is instantiated again before the "
            "first executable graph has been destroyed.");
        return CUDA_GRAPH_INSTANTIATE_ERROR;
    }
    const bool unused =
        std::ranges::any_of(graph.conditions, [](const auto& it) { return !it->used; });
    return unused ? CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED
                  : CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

CUresult instantiate(const char* symbol, CUgraphExec* out, CUgraph handle, unsigned long long flags,
                     CUgraphInstantiateResult* why = nullptr) {
    return enter_graph(symbol, handle, [&](Graph& graph) -> CUresult {
        constexpr unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        if (out == nullptr || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
        if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
            return gate::refuse("graphs that kernels launch");
        const CUgraphInstantiateResult structure = check_structure(graph);
        if (why != nullptr) *why = structure;
        if (structure != CUDA_GRAPH_INSTANTIATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<GraphExec> exec;
        if (const CUresult state = GraphExec::create(graph, flags, exec); state != CUDA_SUCCESS)
            return state;
        *out = driver().graph_tables.execs.add(std::move(exec));
        graph.only_exec = *out;
        return CUDA_SUCCESS;
    });
}

CUresult instantiate_logged(const char* symbol, CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* error_node, char* log, std::size_t room) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && room > 0) *log = '\0';
    return instantiate(symbol, exec, graph, 0);
}

CUresult instantiate_with(const char* symbol, CUgraphExec* exec, CUgraph graph,
                          CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    if (parameters == nullptr) return enter(symbol, [] { return CUDA_ERROR_INVALID_VALUE; });
    CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    const CUresult state = instantiate(symbol, exec, graph, parameters->flags, &why);
    parameters->hErrNode_out = nullptr;
    parameters->result_out = state != CUDA_SUCCESS && why == CUDA_GRAPH_INSTANTIATE_SUCCESS
                                 ? CUDA_GRAPH_INSTANTIATE_ERROR
                                 : why;
    return state;
}

CUresult launch_graph(const char* symbol, CUgraphExec handle, CUstream stream,
                      DefaultStream null_means, bool only_upload) {
    StreamUse use;
    const CUresult launched = enter_exec(symbol, handle, [&](GraphExec& exec) -> CUresult {
        if (const CUresult state = resolve_stream(stream, null_means, use); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = allowed_on(use, symbol); state != CUDA_SUCCESS) return state;
        return only_upload ? CUDA_SUCCESS : exec.launch(use);
    });
    if (launched != CUDA_SUCCESS || only_upload) return launched;
    // The graph's work may need the tables, which are locked above.
    return gate::answer(symbol, gate::guarded([&] { return use.wait_if_blocking(); }));
}

CUresult update_graph(const char* symbol, CUgraphExec handle, CUgraph from,
                      CUgraphExecUpdateResultInfo& info) {
    return enter_exec(symbol, handle, [&](GraphExec& exec) -> CUresult {
        info = CUgraphExecUpdateResultInfo{};
        info.result = CU_GRAPH_EXEC_UPDATE_ERROR;
        const auto graph = driver().graph_tables.graphs.find(from);
        if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return exec.update(*graph, info);
    });
}

bool can_be_disabled(const NodeWork& work) noexcept {
    return std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
           std::holds_alternative<FillWork>(work);
}

}  // namespace

LODE_ENTRY cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                              char* logBuffer, size_t bufferSize) {
    return instantiate_logged(__func__, phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

LODE_ENTRY cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                                 char* logBuffer, size_t bufferSize) {
    return instantiate_logged(__func__, phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

LODE_ENTRY cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                       unsigned long long flags) {
    return instantiate(__func__, phGraphExec, hGraph, flags);
}

LODE_ENTRY_TWINS(cuGraphInstantiateWithParams, _ptsz,
                 (CUgraphExec * phGraphExec, CUgraph hGraph,
                  CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams),
                 { return instantiate_with(__func__, phGraphExec, hGraph, instantiateParams); })

LODE_ENTRY cuGraphExecDestroy(CUgraphExec hGraphExec) {
    return enter_release(__func__, [&]() -> CUresult {
        GraphTables& tables = driver().graph_tables;
        const std::lock_guard lock(tables.mutex);
        return tables.execs.remove(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
    return enter_exec(__func__, hGraphExec, [&](GraphExec& exec) -> CUresult {
        if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *flags = exec.flags();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY_TWINS(cuGraphLaunch, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
                 { return launch_graph(__func__, hGraphExec, hStream, default_stream, false); })

// The graph is already where it runs.
LODE_ENTRY_TWINS(cuGraphUpload, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
                 { return launch_graph(__func__, hGraphExec, hStream, default_stream, true); })

LODE_ENTRY cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                             CUgraphExecUpdateResult* updateResult_out) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult state = update_graph(__func__, hGraphExec, hGraph, info);
    if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
    if (updateResult_out != nullptr) *updateResult_out = info.result;
    return state;
}

LODE_ENTRY cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                CUgraphExecUpdateResultInfo* resultInfo) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult state = update_graph(__func__, hGraphExec, hGraph, info);
    if (resultInfo != nullptr) *resultInfo = info;
    return state;
}

LODE_ENTRY cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return set_exec_node<KernelWork>(__func__, hGraphExec, hNode,
                                     [&](const KernelWork& now, NodeWork& work) -> CUresult {
                                         if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
                                         const auto latest = current_version(*nodeParams);
                                         return kernel_work_of(&latest, now.attributes, work);
                                     });
}

LODE_ENTRY cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                             const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return set_exec_node<KernelWork>(__func__, hGraphExec, hNode,
                                     [&](const KernelWork& now, NodeWork& work) {
                                         return kernel_work_of(nodeParams, now.attributes, work);
                                     });
}

LODE_ENTRY cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
    return set_exec_node<CopyWork>(
        __func__, hGraphExec, hNode,
        [&](const CopyWork&, NodeWork& work) { return copy_work_of(copyParams, ctx, work); });
}

LODE_ENTRY cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                                          CUcontext ctx) {
    return set_exec_node<FillWork>(
        __func__, hGraphExec, hNode,
        [&](const FillWork&, NodeWork& work) { return fill_work_of(memsetParams, ctx, work); });
}

LODE_ENTRY cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_HOST_NODE_PARAMS* nodeParams) {
    return set_exec_node<HostWork>(
        __func__, hGraphExec, hNode,
        [&](const HostWork&, NodeWork& work) { return host_work_of(nodeParams, work); });
}

LODE_ENTRY cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              CUgraph childGraph) {
    return enter_exec_node(__func__, hGraphExec, hNode, [&](GraphExec::Node& node) -> CUresult {
        const auto graph = driver().graph_tables.graphs.find(childGraph);
        if (graph == nullptr || !std::holds_alternative<ChildWork>(*node.work))
            return CUDA_ERROR_INVALID_VALUE;
        CUgraphExecUpdateResultInfo info{};
        return node.inside.front()->update(*graph, info) == CUDA_SUCCESS ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              CUevent event) {
    return set_exec_node<EventRecordWork>(
        __func__, hGraphExec, hNode,
        [&](const EventRecordWork&, NodeWork& work) { return record_work_of(event, work); });
}

LODE_ENTRY cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event) {
    return set_exec_node<EventWaitWork>(
        __func__, hGraphExec, hNode,
        [&](const EventWaitWork&, NodeWork& work) { return wait_work_of(event, work); });
}

LODE_ENTRY cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                    CUgraphNodeParams* nodeParams) {
    return enter_exec_node(__func__, hGraphExec, hNode, [&](GraphExec::Node& node) {
        return replace_work(node.work, nodeParams);
    });
}

LODE_ENTRY cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                 unsigned int isEnabled) {
    return enter_exec_node(__func__, hGraphExec, hNode, [&](GraphExec::Node& node) -> CUresult {
        if (!can_be_disabled(*node.work)) return CUDA_ERROR_INVALID_VALUE;
        node.enabled = isEnabled != 0;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                 unsigned int* isEnabled) {
    return enter_exec_node(__func__, hGraphExec, hNode, [&](GraphExec::Node& node) -> CUresult {
        if (isEnabled == nullptr || !can_be_disabled(*node.work)) return CUDA_ERROR_INVALID_VALUE;
        *isEnabled = node.enabled ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
