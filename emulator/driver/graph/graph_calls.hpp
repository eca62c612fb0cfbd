// Common code of the entry points for graphs.
#pragma once

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/graph/graph_works.hpp"

#include <span>
#include <vector>

namespace lode::emulator::driver {

[[nodiscard]] inline CUgraph native_graph(const Graph& graph) noexcept {
    return Handles<Graph, CUgraph>::native_of(graph);
}
[[nodiscard]] inline CUgraphNode native_node(const GraphNode& node) noexcept {
    return Handles<GraphNode, CUgraphNode>::native_of(node);
}

/// enter() with the lock on all graphs: body(GraphTables&).
template <class Body>
CUresult enter_graphs(const char* symbol, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        GraphTables& tables = driver().graph_tables;
        const std::lock_guard lock(tables.mutex);
        return body(tables);
    });
}

/// The same with a graph: body(Graph&).
template <class Body>
CUresult enter_graph(const char* symbol, CUgraph handle, Body&& body) noexcept {
    return enter_graphs(symbol, [&](GraphTables& tables) -> CUresult {
        const auto graph = tables.graphs.find(handle);
        return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*graph);
    });
}

/// The same with a node: body(GraphNode&).
template <class Body>
CUresult enter_node(const char* symbol, CUgraphNode handle, Body&& body) noexcept {
    return enter_graphs(symbol, [&](GraphTables& tables) -> CUresult {
        const auto node = tables.nodes.find(handle);
        return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*node);
    });
}

/// The nodes that handles refer to. INVALID_VALUE unless all are different nodes of the graph.
CUresult find_dependencies(const Graph& graph, const CUgraphNode* handles, std::size_t count,
                           std::vector<GraphNode*>& nodes);
/// NOT_SUPPORTED for edges of programmatic dependent launch.
CUresult check_edges(const CUgraphEdgeData* edges, std::size_t count);
/// Copies handles to a caller's array, whose size is in `count`; a null array only counts.
CUresult give_handles(std::span<const CUgraphNode> handles, CUgraphNode* out, std::size_t* count);

/// Adds a node with the work that make(NodeWork&) describes.
template <class Make>
CUresult add_node(const char* symbol, CUgraphNode* out, CUgraph handle,
                  const CUgraphNode* dependencies, std::size_t count, Make&& make) {
    return enter_graph(symbol, handle, [&](Graph& graph) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::vector<GraphNode*> nodes;
        if (const CUresult state = find_dependencies(graph, dependencies, count, nodes);
            state != CUDA_SUCCESS)
            return state;
        NodeWork work;
        if (const CUresult state = make(graph, work); state != CUDA_SUCCESS) return state;
        *out = native_node(*graph.add(std::move(work), std::move(nodes)));
        return CUDA_SUCCESS;
    });
}

/// Replaces a node's work by one of the same type.
template <class Work, class Make>
CUresult set_node(const char* symbol, CUgraphNode handle, const Make& make) {
    return enter_node(symbol, handle, [&](GraphNode& node) -> CUresult {
        return replace_work<Work>(node.work, make);
    });
}

/// Stores what read(GraphNode&, const Work&) returns in `out`.
template <class Work, class Out, class Read>
CUresult get_node(const char* symbol, CUgraphNode handle, Out* out, Read&& read) {
    return enter_node(symbol, handle, [&](GraphNode& node) -> CUresult {
        const auto* work = std::get_if<Work>(node.work.get());
        if (work == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *out = read(node, *work);
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
