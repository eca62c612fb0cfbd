// Graphs: nodes with copies of their parameters, in an order given by dependencies.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/code/kernel_attributes.hpp"
#include "emulator/driver/graph/condition.hpp"
#include "emulator/driver/graph/graph_memory.hpp"
#include "emulator/driver/graph/user_object.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/memory/copies.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace lode::emulator::driver {

class Graph;

struct EmptyWork {};
struct KernelWork {
    CUfunction handle = nullptr;  ///< As the caller gave it: a CUfunction or a CUkernel.
    std::shared_ptr<Function> function;
    exec::GridShape shape;
    KernelAttributes attributes;
    std::shared_ptr<std::vector<std::byte>> parameters;  ///< Packed.
    Stream::Work run;
};
struct CopyWork {
    CUDA_MEMCPY3D parameters{};
    BoxCopy box;
    std::shared_ptr<Context> context;
};
struct FillWork {
    CUDA_MEMSET_NODE_PARAMS_v1 parameters{};
    std::shared_ptr<Context> context;
};
struct HostWork {
    CUhostFn function = nullptr;
    void* user = nullptr;
};
struct EventRecordWork {
    std::shared_ptr<Event> event;
};
struct EventWaitWork {
    std::shared_ptr<Event> event;
};
struct ChildWork {
    std::shared_ptr<Graph> graph;
};
struct ConditionalWork {
    std::shared_ptr<Condition> condition;
    CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
    std::vector<std::shared_ptr<Graph>> bodies;
    std::shared_ptr<std::vector<CUgraph>> handles;  ///< The bodies' handles, for the caller.
};

/// What a node does.
using NodeWork = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, EventRecordWork,
                              EventWaitWork, ChildWork, ConditionalWork, AllocWork, FreeWork>;

/// Checks a kernel node's parameters like a launch and copies them. A CUkernel is resolved in
/// `context`.
CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& node, KernelAttributes attributes,
                          Context& context, KernelWork& work);

[[nodiscard]] CUgraphNodeType type_of(const NodeWork& work) noexcept;
/// Whether the node is one that allocates or frees memory.
[[nodiscard]] bool is_memory_node(const NodeWork& work) noexcept;
/// Whether a graph with such a node can't be copied.
[[nodiscard]] bool is_unique(const NodeWork& work) noexcept;
/// A child graph, or the bodies of a conditional node; empty for other nodes.
[[nodiscard]] std::span<const std::shared_ptr<Graph>> graphs_inside(const NodeWork& work) noexcept;

/// A node of one graph. Guarded by GraphTables::mutex.
struct GraphNode : Handled {
    std::weak_ptr<Graph> graph;
    std::shared_ptr<const NodeWork> work;  ///< Replaced as a whole; executable graphs share it.
    std::vector<GraphNode*> dependencies;
    CUgraphNode original = nullptr;  ///< In the graph from which this one was cloned.
    std::vector<void*> pointers;     ///< To a kernel's parameters, for a caller.
};

/// Nodes and dependencies. Guarded by GraphTables::mutex.
class Graph : public Handled, public std::enable_shared_from_this<Graph> {
public:
    /// Adds a node and its handle. Dependencies must be nodes of this graph, each at most once.
    std::shared_ptr<GraphNode> add(NodeWork work, std::vector<GraphNode*> dependencies);
    /// Removes a node, its edges and its handle.
    void remove(const GraphNode& node);
    /// In the order of their creation.
    [[nodiscard]] const std::vector<std::shared_ptr<GraphNode>>& nodes() const noexcept {
        return nodes_;
    }

    /// A copy with nodes of its own and the same references to user objects.
    [[nodiscard]] std::shared_ptr<Graph> clone() const;
    /// Removes its handle and those of its nodes and of its child graphs.
    void forget();

    /// Whether it can be cloned, be a child, and have more than one executable graph at a time.
    [[nodiscard]] bool can_be_copied() const noexcept;
    /// Whether nodes and edges can be removed.
    [[nodiscard]] bool can_shrink() const noexcept;

    std::vector<ObjectReference> objects;
    std::vector<std::shared_ptr<Condition>> conditions;
    CUgraphExec only_exec = nullptr;  ///< The last one made, if the graph can't be copied.
    bool is_child = false;            ///< Owned by a node, not by the caller.

private:
    std::vector<std::shared_ptr<GraphNode>> nodes_;
};

/// Indices such that each node comes after its dependencies; empty if there is a cycle and nodes.
[[nodiscard]] std::vector<std::size_t> topological_order(
    const std::vector<std::vector<std::size_t>>& dependencies);
/// Each node's dependencies as indices.
[[nodiscard]] std::vector<std::vector<std::size_t>> dependency_indices(const Graph& graph);
/// Whether `sought` is the graph or anywhere inside it.
[[nodiscard]] bool contains(const Graph& graph, const Graph* sought);

}  // namespace lode::emulator::driver
