#include "emulator/driver/graph/graph.hpp"

#include "emulator/driver/driver.hpp"

#include <algorithm>
#include <map>

namespace lode::emulator::driver {

CUgraphNodeType type_of(const NodeWork& work) noexcept {
    constexpr CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,   CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_MEMSET,     CU_GRAPH_NODE_TYPE_HOST,     CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_GRAPH,    CU_GRAPH_NODE_TYPE_CONDITIONAL,
        CU_GRAPH_NODE_TYPE_MEM_ALLOC,  CU_GRAPH_NODE_TYPE_MEM_FREE,
    };
    static_assert(std::size(types) == std::variant_size_v<NodeWork>);
    return types[work.index()];
}

bool is_memory_node(const NodeWork& work) noexcept {
    return std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work);
}

bool is_unique(const NodeWork& work) noexcept {
    return std::holds_alternative<ConditionalWork>(work) || is_memory_node(work);
}

std::span<const std::shared_ptr<Graph>> graphs_inside(const NodeWork& work) noexcept {
    if (const auto* child = std::get_if<ChildWork>(&work)) return {&child->graph, 1};
    if (const auto* conditional = std::get_if<ConditionalWork>(&work)) return conditional->bodies;
    return {};
}

std::shared_ptr<GraphNode> Graph::add(NodeWork work, std::vector<GraphNode*> dependencies) {
    auto node = std::make_shared<GraphNode>();
    node->graph = weak_from_this();
    node->work = std::make_shared<const NodeWork>(std::move(work));
    node->dependencies = std::move(dependencies);
    nodes_.push_back(node);
    driver().graph_tables.nodes.add(node);
    return node;
}

void Graph::remove(const GraphNode& node) {
    for (const auto& other : nodes_)
        std::erase(other->dependencies, &node);
    for (const auto& inside : graphs_inside(*node.work))
        inside->forget();
    driver().graph_tables.nodes.remove(Handles<GraphNode, CUgraphNode>::native_of(node));
    std::erase_if(nodes_, [&](const auto& other) { return other.get() == &node; });
}

std::shared_ptr<Graph> Graph::clone() const {
    auto copy = std::make_shared<Graph>();
    std::map<const GraphNode*, GraphNode*> copies;
    for (const auto& node : nodes_) {
        NodeWork work = *node->work;
        if (auto* child = std::get_if<ChildWork>(&work)) {
            child->graph = child->graph->clone();
            child->graph->is_child = true;
            driver().graph_tables.graphs.add(child->graph);
        }
        const auto twin = copy->add(std::move(work), {});
        twin->original = Handles<GraphNode, CUgraphNode>::native_of(*node);
        copies.emplace(node.get(), twin.get());
    }
    for (const auto& node : nodes_)
        for (const GraphNode* dependency : node->dependencies)
            copies.at(node.get())->dependencies.push_back(copies.at(dependency));
    for (const ObjectReference& object : objects)
        copy->objects.push_back(object.share());
    return copy;
}

void Graph::forget() {
    GraphTables& tables = driver().graph_tables;
    tables.graphs.remove(Handles<Graph, CUgraph>::native_of(*this));
    for (const auto& node : nodes_) {
        tables.nodes.remove(Handles<GraphNode, CUgraphNode>::native_of(*node));
        for (const auto& inside : graphs_inside(*node->work))
            inside->forget();
    }
}

bool Graph::can_be_copied() const noexcept {
    return std::ranges::none_of(nodes_, [](const auto& node) { return is_unique(*node->work); });
}

bool Graph::can_shrink() const noexcept {
    return std::ranges::none_of(nodes_,
                                [](const auto& node) { return is_memory_node(*node->work); });
}

std::vector<std::size_t> topological_order(
    const std::vector<std::vector<std::size_t>>& dependencies) {
    std::vector<std::size_t> missing;
    std::vector<std::vector<std::size_t>> dependents(dependencies.size());
    std::vector<std::size_t> order;
    for (std::size_t node = 0; node < dependencies.size(); ++node) {
        missing.push_back(dependencies[node].size());
        for (const std::size_t dependency : dependencies[node])
            dependents[dependency].push_back(node);
        if (dependencies[node].empty()) order.push_back(node);
    }
    for (std::size_t done = 0; done < order.size(); ++done)
        for (const std::size_t dependent : dependents[order[done]])
            if (--missing[dependent] == 0) order.push_back(dependent);
    if (order.size() != dependencies.size()) order.clear();
    return order;
}

std::vector<std::vector<std::size_t>> dependency_indices(const Graph& graph) {
    std::map<const GraphNode*, std::size_t> index;
    for (const auto& node : graph.nodes())
        index.emplace(node.get(), index.size());
    std::vector<std::vector<std::size_t>> indices;
    for (const auto& node : graph.nodes()) {
        auto& of_node = indices.emplace_back();
        for (const GraphNode* dependency : node->dependencies)
            of_node.push_back(index.at(dependency));
    }
    return indices;
}

bool contains(const Graph& graph, const Graph* sought) {
    if (&graph == sought) return true;
    for (const auto& node : graph.nodes())
        for (const auto& inside : graphs_inside(*node->work))
            if (contains(*inside, sought)) return true;
    return false;
}

}  // namespace lode::emulator::driver
