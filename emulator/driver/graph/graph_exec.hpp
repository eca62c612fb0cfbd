// Executable graphs, and the tables of everything about graphs.
#pragma once

#include "emulator/driver/graph/capture.hpp"
#include "emulator/driver/graph/graph.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace lode::emulator::driver {

/// A snapshot of a graph that runs as a whole. Guarded by GraphTables::mutex.
class GraphExec : public Handled, public std::enable_shared_from_this<GraphExec> {
public:
    struct Node {
        CUgraphNode original = nullptr;
        std::shared_ptr<const NodeWork> work;
        bool enabled = true;
        std::vector<std::shared_ptr<GraphExec>>
            inside;  ///< Executable graphs of graphs_inside(*work).
    };

    /// INVALID_VALUE for a cycle, and for a node that a conditional body can't have.
    static CUresult create(const Graph& graph, unsigned long long flags,
                           std::shared_ptr<GraphExec>& exec);

    /// Runs all nodes after the stream's work and after the last launch of this graph. Errors:
    /// INVALID_HANDLE if a kernel's code has been unloaded; CONTEXT_IS_DESTROYED.
    CUresult launch(const StreamUse& use);
    /// The node made from a graph's node, also in child graphs; nullptr if there is none.
    [[nodiscard]] Node* find(CUgraphNode original);
    /// Takes over all parameters of a graph with the same structure.
    CUresult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);
    [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

private:
    [[nodiscard]] CUresult check() const;
    [[nodiscard]] bool matches(const Graph& graph, CUgraphExecUpdateResultInfo& info) const;
    void adopt(const Graph& graph);
    void enqueue(const StreamUse& use, const GraphPlace& at) const;
    /// Adds the work of one conditional node, or of all nodes; it runs on a stream's thread.
    [[nodiscard]] static Stream::Work decide(const Node& node,
                                             const std::shared_ptr<Context>& context);
    [[nodiscard]] Stream::Work body(const std::shared_ptr<Context>& context) const;
    void collect(std::vector<std::shared_ptr<Condition>>& conditions) const;
    /// Allocates and frees what the nodes of this launch do. INVALID_VALUE, without an effect, for
    /// memory that is still allocated, unless launches free it, and for a free of other memory.
    [[nodiscard]] CUresult claim_memory() const;

    std::vector<Node> nodes_;  ///< In the order of the graph's nodes.
    std::vector<std::vector<std::size_t>> dependencies_;
    std::vector<std::size_t> order_;
    std::shared_ptr<const NodeOrder> node_order_;  ///< For the check of order; else null.
    std::vector<ObjectReference> objects_;
    unsigned long long flags_ = 0;
    Point last_launch_;
};

/// Graphs, their nodes, executable graphs, user objects and captures in progress.
struct GraphTables {
    /// Guards the structure of all graphs and captures. Recursive, because the function that
    /// destroys a user object may call the driver.
    std::recursive_mutex mutex;
    Handles<Graph, CUgraph> graphs;
    Handles<GraphNode, CUgraphNode> nodes;
    Handles<GraphExec, CUgraphExec> execs;
    Handles<UserObject, CUuserObject> objects;
    Conditions conditions;
    GraphMemories memories;
    Captures captures;

    /// Graphs that the caller owns.
    [[nodiscard]] long own_graphs() const;
};

}  // namespace lode::emulator::driver
