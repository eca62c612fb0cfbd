// cuGraphCreate, cuGraphClone, cuGraphGetNodes and other calls on the structure of graphs.
#include "emulator/driver/graph/graph_calls.hpp"

#include "base/os/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

using Edges = std::vector<std::pair<CUgraphNode, CUgraphNode>>;

Edges edges_of(const Graph& graph) {
    Edges edges;
    for (const auto& node : graph.nodes())
        for (const GraphNode* dependency : node->dependencies)
            edges.emplace_back(native_node(*dependency), native_node(*node));
    return edges;
}

void clear_edges(CUgraphEdgeData* edges, const std::size_t* count) {
    if (edges != nullptr) std::fill_n(edges, *count, CUgraphEdgeData{});
}

CUresult get_edges(const char* symbol, CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                   CUgraphEdgeData* data, std::size_t* count) {
    return enter_graph(symbol, handle, [&](Graph& graph) -> CUresult {
        if (count == nullptr || (from == nullptr) != (to == nullptr))
            return CUDA_ERROR_INVALID_VALUE;
        std::vector<CUgraphNode> sources;
        std::vector<CUgraphNode> targets;
        for (const auto& [source, target] : edges_of(graph)) {
            sources.push_back(source);
            targets.push_back(target);
        }
        std::size_t same_count = *count;  // Read before anything is written, which may overlap it.
        std::size_t given = *count;
        if (const CUresult state = give_handles(sources, from, &same_count); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = give_handles(targets, to, &given); state != CUDA_SUCCESS)
            return state;
        if (to != nullptr) clear_edges(data, &given);
        *count = given;
        return CUDA_SUCCESS;
    });
}

CUresult get_neighbours(const char* symbol, CUgraphNode handle, CUgraphNode* nodes,
                        CUgraphEdgeData* data, std::size_t* count, bool dependents) {
    return enter_node(symbol, handle, [&](GraphNode& node) -> CUresult {
        if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::vector<CUgraphNode> found;
        if (dependents) {
            if (const auto graph = node.graph.lock()) {
                for (const auto& other : graph->nodes())
                    if (std::ranges::find(other->dependencies, &node) != other->dependencies.end())
                        found.push_back(native_node(*other));
            }
        } else {
            for (const GraphNode* dependency : node.dependencies)
                found.push_back(native_node(*dependency));
        }
        const CUresult state = give_handles(found, nodes, count);
        if (state == CUDA_SUCCESS && nodes != nullptr) clear_edges(data, count);
        return state;
    });
}

/// Adds or removes edges, or changes nothing if one of them is wrong.
CUresult change_edges(const char* symbol, CUgraph handle, const CUgraphNode* from,
                      const CUgraphNode* to, const CUgraphEdgeData* data, std::size_t count,
                      bool adds) {
    return enter_graph(symbol, handle, [&](Graph& graph) -> CUresult {
        if (count > 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
        if (!adds && !graph.can_shrink()) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult state = check_edges(data, count); state != CUDA_SUCCESS) return state;
        std::vector<std::pair<GraphNode*, GraphNode*>> changes;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<GraphNode*> ends;
            const CUgraphNode pair[] = {from[i], to[i]};
            if (const CUresult state = find_dependencies(graph, pair, std::size(pair), ends);
                state != CUDA_SUCCESS)
                return state;
            const auto& now = ends[1]->dependencies;
            const std::pair change(ends[0], ends[1]);
            const bool exists = std::ranges::find(now, ends[0]) != now.end();
            if (exists == adds || std::ranges::find(changes, change) != changes.end())
                return CUDA_ERROR_INVALID_VALUE;
            changes.push_back(change);
        }
        for (const auto& [source, target] : changes) {
            if (adds) {
                target->dependencies.push_back(source);
            } else {
                std::erase(target->dependencies, source);
            }
        }
        return CUDA_SUCCESS;
    });
}

const char* type_name(CUgraphNodeType type) noexcept {
    switch (type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return "kernel";
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return "copy";
        case CU_GRAPH_NODE_TYPE_MEMSET:
            return "fill";
        case CU_GRAPH_NODE_TYPE_HOST:
            return "host function";
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return "graph";
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return "wait for event";
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return "record event";
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return "condition";
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return "allocation";
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return "free";
        default:
            return "empty";
    }
}

/// What a debug flag shows about a node; empty if it is nothing.
std::string parameters_text(const NodeWork& work, unsigned flags) {
    const bool shows_all = (flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) != 0;
    const auto shows = [&](unsigned flag) { return shows_all || (flags & flag) != 0; };
    if (const auto* kernel = std::get_if<KernelWork>(&work);
        kernel != nullptr && shows(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) {
        const auto& [grid, block, shared, cluster] = kernel->shape;
        return fmt::format("\\n({},{},{}) blocks of ({},{},{}), {} bytes", grid.x, grid.y, grid.z,
                           block.x, block.y, block.z, shared);
    }
    if (const auto* fill = std::get_if<FillWork>(&work);
        fill != nullptr && shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
        const auto& values = fill->parameters;
        return fmt::format("\\n{:#x}: {} x {} of {:#x}, {} bytes each", values.dst, values.width,
                           values.height, values.value, values.elementSize);
    }
    return {};
}

std::string dot_text(const Graph& graph, unsigned flags) {
    std::string text = "digraph dot {\n";
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const NodeWork& work = *graph.nodes()[i]->work;
        const auto* kernel = std::get_if<KernelWork>(&work);
        text +=
            fmt::format("    node_{} [label=\"{}\\n{}{}{}\"];\n", i, i, type_name(type_of(work)),
                        kernel == nullptr ? "" : " " + kernel->function->info().name,
                        parameters_text(work, flags));
    }
    const auto dependencies = dependency_indices(graph);
    for (std::size_t i = 0; i < dependencies.size(); ++i)
        for (const std::size_t from : dependencies[i])
            text += fmt::format("    node_{} -> node_{};\n", from, i);
    return text + "}\n";
}

}  // namespace

CUresult find_dependencies(const Graph& graph, const CUgraphNode* handles, std::size_t count,
                           std::vector<GraphNode*>& nodes) {
    if (count > graph.nodes().size() || (count > 0 && handles == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
        const auto node = driver().graph_tables.nodes.find(handles[i]);
        if (node == nullptr || node->graph.lock().get() != &graph ||
            std::ranges::find(nodes, node.get()) != nodes.end())
            return CUDA_ERROR_INVALID_VALUE;
        nodes.push_back(node.get());
    }
    return CUDA_SUCCESS;
}

CUresult check_edges(const CUgraphEdgeData* edges, std::size_t count) {
    for (std::size_t i = 0; edges != nullptr && i < count; ++i)
        if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0)
            return gate::refuse("graph edges with ports");
    return CUDA_SUCCESS;
}

CUresult give_handles(std::span<const CUgraphNode> handles, CUgraphNode* out, std::size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (out == nullptr) {
        *count = handles.size();
        return CUDA_SUCCESS;
    }
    const std::size_t room = *count;  // Read once: `out` may overlap it.
    const std::size_t given = std::min(room, handles.size());
    constexpr std::size_t usual_room = 1024;
    if (room > std::max(given, usual_room)) {
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(room, sizeof(void*), &bytes) ||
            !os::may_access(out, bytes, true))
            return CUDA_ERROR_INVALID_VALUE;
    }
    std::fill_n(std::copy_n(handles.begin(), given, out), room - given, nullptr);
    *count = given;
    return CUDA_SUCCESS;
}

LODE_ENTRY cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
    return enter_graphs(__func__, [&](GraphTables& tables) -> CUresult {
        if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        *phGraph = tables.graphs.add(std::make_shared<Graph>());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphDestroy(CUgraph hGraph) {
    return enter_release(__func__, [&]() -> CUresult {
        GraphTables& tables = driver().graph_tables;
        const std::lock_guard lock(tables.mutex);
        const auto graph = tables.graphs.find(hGraph);
        if (graph == nullptr || graph->is_child) return CUDA_ERROR_INVALID_VALUE;
        graph->forget();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
    return enter_graph(__func__, originalGraph, [&](Graph& graph) -> CUresult {
        if (phGraphClone == nullptr || !graph.can_be_copied()) return CUDA_ERROR_INVALID_VALUE;
        *phGraphClone = driver().graph_tables.graphs.add(graph.clone());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode,
                                  CUgraph hClonedGraph) {
    return enter_graph(__func__, hClonedGraph, [&](Graph& graph) -> CUresult {
        if (phNode == nullptr) return CUDA_ERROR_INVALID_VALUE;
        for (const auto& node : graph.nodes()) {
            if (node->original == nullptr || node->original != hOriginalNode) continue;
            *phNode = native_node(*node);
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuGraphDestroyNode(CUgraphNode hNode) {
    return enter_release(__func__, [&]() -> CUresult {
        GraphTables& tables = driver().graph_tables;
        const std::lock_guard lock(tables.mutex);
        const auto node = tables.nodes.find(hNode);
        const auto graph = node == nullptr ? nullptr : node->graph.lock();
        if (graph == nullptr || !graph->can_shrink()) return CUDA_ERROR_INVALID_VALUE;
        tables.captures.forget(*node);
        graph->remove(*node);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
    return enter_graph(__func__, hGraph, [&](Graph& graph) {
        std::vector<CUgraphNode> all;
        for (const auto& node : graph.nodes())
            all.push_back(native_node(*node));
        return give_handles(all, nodes, numNodes);
    });
}

LODE_ENTRY cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
    return enter_graph(__func__, hGraph, [&](Graph& graph) {
        std::vector<CUgraphNode> roots;
        for (const auto& node : graph.nodes())
            if (node->dependencies.empty()) roots.push_back(native_node(*node));
        return give_handles(roots, rootNodes, numRootNodes);
    });
}

LODE_ENTRY cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
    return get_edges(__func__, hGraph, from, to, nullptr, numEdges);
}

LODE_ENTRY cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                              CUgraphEdgeData* edgeData, size_t* numEdges) {
    return get_edges(__func__, hGraph, from, to, edgeData, numEdges);
}

LODE_ENTRY cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                      size_t* numDependencies) {
    return get_neighbours(__func__, hNode, dependencies, nullptr, numDependencies, false);
}

LODE_ENTRY cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                         CUgraphEdgeData* edgeData, size_t* numDependencies) {
    return get_neighbours(__func__, hNode, dependencies, edgeData, numDependencies, false);
}

LODE_ENTRY cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                        size_t* numDependentNodes) {
    return get_neighbours(__func__, hNode, dependentNodes, nullptr, numDependentNodes, true);
}

LODE_ENTRY cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                           CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
    return get_neighbours(__func__, hNode, dependentNodes, edgeData, numDependentNodes, true);
}

LODE_ENTRY cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                  size_t numDependencies) {
    return change_edges(__func__, hGraph, from, to, nullptr, numDependencies, true);
}

LODE_ENTRY cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                     const CUgraphEdgeData* edgeData, size_t numDependencies) {
    return change_edges(__func__, hGraph, from, to, edgeData, numDependencies, true);
}

LODE_ENTRY cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                     size_t numDependencies) {
    return change_edges(__func__, hGraph, from, to, nullptr, numDependencies, false);
}

LODE_ENTRY cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                        const CUgraphNode* to, const CUgraphEdgeData* edgeData,
                                        size_t numDependencies) {
    return change_edges(__func__, hGraph, from, to, edgeData, numDependencies, false);
}

LODE_ENTRY cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
    return enter_node(__func__, hNode, [&](GraphNode& node) -> CUresult {
        if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *type = type_of(*node.work);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int flags) {
    return enter_graph(__func__, hGraph, [&](Graph& graph) -> CUresult {
        if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::FILE* const file = std::fopen(path, "w");
        if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
        const std::string text = dot_text(graph, flags);
        const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        return (std::fclose(file) == 0) && written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    });
}

}  // namespace lode::emulator::driver
