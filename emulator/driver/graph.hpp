// Graphs: nodes with copies of their parameters, in an order given by dependencies.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/code.hpp"
#include "emulator/driver/copies.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/stream.hpp"
#include "emulator/driver/user_object.hpp"

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace lode::emulator::driver {

class Graph;

struct EmptyWork {};
struct KernelWork {
    CUfunction handle = nullptr;  ///< As the caller gave it: a CUfunction or a CUkernel.
    std::shared_ptr<Function> function;
    exec::LaunchShape shape;
    bool cooperative = false;
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

/// What a node does.
using NodeWork = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, EventRecordWork,
                              EventWaitWork, ChildWork>;

/// Checks a kernel node's parameters like a launch and copies them. A CUkernel is resolved in
/// `context`.
CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& node, bool cooperative,
                          Context& context, KernelWork& work);

[[nodiscard]] CUgraphNodeType type_of(const NodeWork& work) noexcept;

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
    [[nodiscard]] std::size_t index_of(const GraphNode& node) const noexcept;

    /// A copy with nodes of its own and the same references to user objects.
    [[nodiscard]] std::shared_ptr<Graph> clone() const;
    /// Removes its handle and those of its nodes and of its child graphs.
    void forget();

    std::vector<ObjectReference> objects;
    bool is_child = false;  ///< Owned by a node, not by the caller.

private:
    std::vector<std::shared_ptr<GraphNode>> nodes_;
};

/// Indices such that each node comes after its dependencies; empty if there is a cycle and nodes.
[[nodiscard]] std::vector<std::size_t> topological_order(
    const std::vector<std::vector<std::size_t>>& dependencies);
/// Each node's dependencies as indices.
[[nodiscard]] std::vector<std::vector<std::size_t>> dependency_indices(const Graph& graph);

}  // namespace lode::emulator::driver
