#include "emulator/driver/graph_exec.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

/// Enqueues one node on the stream of a launch.
struct Enqueue {
    const StreamUse& use;

    void operator()(const EmptyWork&) const {}
    void operator()(const KernelWork& kernel) const { use.submit(kernel.run); }
    void operator()(const CopyWork& work) const {
        use.submit(deferred_copy(work.box, work.context));
    }
    void operator()(const FillWork& work) const {
        use.submit(deferred_fill(work.parameters, work.context));
    }
    void operator()(const HostWork& host) const {
        use.submit([context = use.context, host] {
            call_host_function(*context, "a graph's node", host.function, host.user);
        });
    }
    void operator()(const EventRecordWork& record) const { record.event->record(use.stream); }
    void operator()(const EventWaitWork& wait) const {
        const auto recording = wait.event->last();
        if (recording == nullptr || recording->point.reached()) return;
        use.context->submit(*use.stream, [] {}, {recording->point});
    }
    void operator()(const ChildWork&) const {}  // Its own executable graph is enqueued.
};

/// What must still exist when a node is launched.
struct CheckNode {
    static CUresult check(const std::shared_ptr<Context>& context) {
        return context->is_open() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    CUresult operator()(const KernelWork& kernel) const {
        CUfunction function = Handles<Function, CUfunction>::native_of(*kernel.function);
        if (driver().functions.find(function) == nullptr) {
            log::report("The code of a kernel in a graph has been unloaded before the launch.");
            return CUDA_ERROR_INVALID_HANDLE;
        }
        return kernel.function->module().context().is_open() ? CUDA_SUCCESS
                                                             : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    CUresult operator()(const CopyWork& work) const { return check(work.context); }
    CUresult operator()(const FillWork& work) const { return check(work.context); }
    template <class Work>
    CUresult operator()(const Work&) const {
        return CUDA_SUCCESS;
    }
};

}  // namespace

CUresult GraphExec::create(const Graph& graph, unsigned long long flags,
                           std::shared_ptr<GraphExec>& exec) {
    auto fresh = std::make_shared<GraphExec>();
    fresh->flags_ = flags;
    fresh->dependencies_ = dependency_indices(graph);
    fresh->order_ = topological_order(fresh->dependencies_);
    if (fresh->order_.size() != graph.nodes().size()) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : graph.nodes()) {
        Node& own = fresh->nodes_.emplace_back();
        const auto* child = std::get_if<ChildWork>(node->work.get());
        if (child == nullptr) continue;
        if (const CUresult state = create(*child->graph, flags, own.child); state != CUDA_SUCCESS)
            return state;
    }
    fresh->adopt(graph);
    exec = std::move(fresh);
    return CUDA_SUCCESS;
}

void GraphExec::adopt(const Graph& graph) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const GraphNode& from = *graph.nodes()[i];
        nodes_[i].original = Handles<GraphNode, CUgraphNode>::native_of(from);
        nodes_[i].work = from.work;
        if (const auto* child = std::get_if<ChildWork>(from.work.get()))
            nodes_[i].child->adopt(*child->graph);
    }
    std::vector<ObjectReference> objects;
    for (const ObjectReference& object : graph.objects)
        objects.push_back(object.share());
    objects_.swap(objects);
}

GraphExec::Node* GraphExec::find(CUgraphNode original) {
    for (Node& node : nodes_) {
        if (node.original == original) return &node;
        if (node.child == nullptr) continue;
        if (Node* const inside = node.child->find(original)) return inside;
    }
    return nullptr;
}

CUresult GraphExec::check() const {
    for (const Node& node : nodes_) {
        const CUresult state =
            node.child != nullptr ? node.child->check() : std::visit(CheckNode{}, *node.work);
        if (state != CUDA_SUCCESS) return state;
    }
    return CUDA_SUCCESS;
}

void GraphExec::enqueue(const StreamUse& use) const {
    for (const std::size_t index : order_) {
        const Node& node = nodes_[index];
        if (node.child != nullptr) {
            node.child->enqueue(use);
        } else if (node.enabled) {
            std::visit(Enqueue{use}, *node.work);
        }
    }
}

CUresult GraphExec::launch(const StreamUse& use) {
    if (const CUresult state = check(); state != CUDA_SUCCESS) return state;
    if (!last_launch_.reached()) use.context->submit(*use.stream, [] {}, {last_launch_});
    enqueue(use);
    // User objects live until the last launch is done.
    const std::uint64_t ticket =
        use.context->submit(*use.stream, [kept_alive = shared_from_this()] {});
    last_launch_ = Point{use.stream, ticket};
    return CUDA_SUCCESS;
}

bool GraphExec::matches(const Graph& graph, CUgraphExecUpdateResultInfo& info) const {
    const auto native = [](const GraphNode& node) {
        return Handles<GraphNode, CUgraphNode>::native_of(node);
    };
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (graph.nodes().size() != nodes_.size()) return false;
    const auto dependencies = dependency_indices(graph);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const GraphNode& node = *graph.nodes()[i];
        info.errorNode = native(node);
        auto theirs = dependencies[i];
        auto ours = dependencies_[i];
        std::ranges::sort(theirs);
        std::ranges::sort(ours);
        if (theirs != ours) return false;
        if (type_of(*node.work) != type_of(*nodes_[i].work)) {
            info.result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
            return false;
        }
        if (const auto* child = std::get_if<ChildWork>(node.work.get());
            child != nullptr && !nodes_[i].child->matches(*child->graph, info))
            return false;
    }
    info = CUgraphExecUpdateResultInfo{};
    return true;
}

CUresult GraphExec::update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
    info = CUgraphExecUpdateResultInfo{};
    if (!matches(graph, info)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    adopt(graph);
    return CUDA_SUCCESS;
}

std::shared_ptr<Graph> GraphExec::as_graph() const {
    auto graph = std::make_shared<Graph>();
    for (const Node& node : nodes_) {
        NodeWork work = node.enabled ? *node.work : NodeWork(EmptyWork{});
        if (node.child != nullptr) {
            const auto child = node.child->as_graph();
            child->is_child = true;
            driver().graph_tables.graphs.add(child);
            work = ChildWork{child};
        }
        graph->add(std::move(work), {});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        for (const std::size_t dependency : dependencies_[i])
            graph->nodes()[i]->dependencies.push_back(graph->nodes()[dependency].get());
    for (const ObjectReference& object : objects_)
        graph->objects.push_back(object.share());
    return graph;
}

long GraphTables::own_graphs() const {
    long own = 0;
    graphs.for_each([&](const Graph& graph) { own += graph.is_child ? 0 : 1; });
    return own;
}

}  // namespace lode::emulator::driver
