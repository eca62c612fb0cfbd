#include "emulator/driver/graph/graph_exec.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

/// What runs at once on a stream's thread: the nodes that a conditional body may have. Null for
/// all others.
struct Immediate {
    Stream::Work operator()(const EmptyWork&) const {
        return [] {};
    }
    Stream::Work operator()(const KernelWork& kernel) const { return kernel.run; }
    Stream::Work operator()(const CopyWork& work) const {
        return deferred_copy(work.box, work.context);
    }
    Stream::Work operator()(const FillWork& work) const {
        return deferred_fill(work.parameters, work.context);
    }
    template <class Work>
    Stream::Work operator()(const Work&) const {
        return nullptr;
    }
};

/// Whether a body consists only of nodes that may be in one, at every level.
bool can_be_body(const Graph& graph) {
    return std::ranges::all_of(graph.nodes(), [](const auto& node) {
        const auto inside = graphs_inside(*node->work);
        if (inside.empty()) return std::visit(Immediate{}, *node->work) != nullptr;
        return std::ranges::all_of(inside, [](const auto& it) { return can_be_body(*it); });
    });
}

/// Tells the check of order where the work is in a graph.
Stream::Work placed(const GraphPlace& place, Stream::Work work) {
    if (place.launch == 0) return work;
    return [place, work = std::move(work)] {
        Performing::current()->place = place;
        work();
    };
}

/// Enqueues one node on the stream of a launch.
struct Enqueue {
    const StreamUse& use;
    const GraphPlace& place;

    void operator()(const EmptyWork&) const {}
    void operator()(const KernelWork& kernel) const { submit(kernel.run); }
    void operator()(const CopyWork& work) const { submit(Immediate{}(work)); }
    void operator()(const FillWork& work) const { submit(Immediate{}(work)); }
    void operator()(const HostWork& host) const {
        submit([context = use.context, host] {
            call_host_function(*context, "a graph's node", host.function, host.user);
        });
    }
    void operator()(const EventRecordWork& record) const { record.event->record(use.stream); }
    void operator()(const EventWaitWork& wait) const {
        const auto recording = wait.event->last();
        if (recording == nullptr || recording->point.is_past()) return;
        use.context->submit(*use.stream, [] {}, {recording->point});
    }
    void operator()(const ChildWork&) const {}        // Its own executable graph is enqueued.
    void operator()(const AllocWork&) const {}        // GraphExec::claim_memory() has done it.
    void operator()(const FreeWork&) const {}         // The same.
    void operator()(const ConditionalWork&) const {}  // GraphExec::decide() is.

private:
    void submit(Stream::Work work) const { use.submit(placed(place, std::move(work))); }
};

/// The check of order takes the nodes of a larger graph as ordered.
constexpr std::size_t most_ordered_nodes = 4096;

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
        const bool decides = std::holds_alternative<ConditionalWork>(*node->work);
        for (const auto& inside : graphs_inside(*node->work)) {
            if (decides && !can_be_body(*inside)) {
                log::report(
                    "The body of a conditional node has a node that isn't a kernel, a "
                    "copy, a fill, an empty node, a child graph or a conditional node.");
                return CUDA_ERROR_INVALID_VALUE;
            }
            if (const CUresult state = create(*inside, flags, own.inside.emplace_back());
                state != CUDA_SUCCESS)
                return state;
        }
    }
    if (driver().order != nullptr && fresh->order_.size() <= most_ordered_nodes)
        fresh->node_order_ = std::make_shared<const NodeOrder>(fresh->dependencies_, fresh->order_);
    fresh->adopt(graph);
    exec = std::move(fresh);
    return CUDA_SUCCESS;
}

void GraphExec::adopt(const Graph& graph) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const GraphNode& from = *graph.nodes()[i];
        nodes_[i].original = Handles<GraphNode, CUgraphNode>::native_of(from);
        nodes_[i].work = from.work;
        const auto inside = graphs_inside(*from.work);
        for (std::size_t k = 0; k < inside.size(); ++k)
            nodes_[i].inside[k]->adopt(*inside[k]);
    }
    std::vector<ObjectReference> objects;
    for (const ObjectReference& object : graph.objects)
        objects.push_back(object.share());
    objects_.swap(objects);
}

GraphExec::Node* GraphExec::find(CUgraphNode original) {
    for (Node& node : nodes_) {
        if (node.original == original) return &node;
        for (const auto& inside : node.inside)
            if (Node* const found = inside->find(original)) return found;
    }
    return nullptr;
}

CUresult GraphExec::check() const {
    for (const Node& node : nodes_) {
        if (const CUresult state = std::visit(CheckNode{}, *node.work); state != CUDA_SUCCESS)
            return state;
        for (const auto& inside : node.inside)
            if (const CUresult state = inside->check(); state != CUDA_SUCCESS) return state;
    }
    return CUDA_SUCCESS;
}

void GraphExec::enqueue(const StreamUse& use, const GraphPlace& at) const {
    for (const std::size_t index : order_) {
        const Node& node = nodes_[index];
        GraphPlace place = at;
        if (node_order_ != nullptr) place.steps.push_back({node_order_, index});
        if (std::holds_alternative<ConditionalWork>(*node.work)) {
            use.submit(placed(place, decide(node, use.context)));
        } else if (std::holds_alternative<ChildWork>(*node.work)) {
            node.inside.front()->enqueue(use, place);
        } else if (node.enabled) {
            std::visit(Enqueue{use, place}, *node.work);
        }
    }
}

Stream::Work GraphExec::decide(const Node& node, const std::shared_ptr<Context>& context) {
    const auto& work = std::get<ConditionalWork>(*node.work);
    std::vector<Stream::Work> bodies;
    for (const auto& inside : node.inside)
        bodies.push_back(inside->body(context));
    return [condition = work.condition, type = work.type, bodies = std::move(bodies), context] {
        const auto run = [&](std::size_t index) {
            if (index < bodies.size()) bodies[index]();
        };
        switch (type) {
            case CU_GRAPH_COND_TYPE_IF:
                run(condition->value() != 0 ? 0 : 1);
                break;
            case CU_GRAPH_COND_TYPE_WHILE:
                while (context->error() == CUDA_SUCCESS && condition->value() != 0) {
                    PerformingNode::next_round();
                    run(0);
                }
                break;
            case CU_GRAPH_COND_TYPE_SWITCH:
                run(condition->value());
                break;
        }
    };
}

Stream::Work GraphExec::body(const std::shared_ptr<Context>& context) const {
    std::vector<Stream::Work> steps;
    for (const std::size_t index : order_) {
        const Node& node = nodes_[index];
        if (std::holds_alternative<ConditionalWork>(*node.work)) {
            steps.push_back(decide(node, context));
        } else if (std::holds_alternative<ChildWork>(*node.work)) {
            steps.push_back(node.inside.front()->body(context));
        } else if (node.enabled) {
            steps.push_back(std::visit(Immediate{}, *node.work));
        } else {
            continue;
        }
        if (node_order_ == nullptr) continue;
        steps.back() = [step = GraphStep{node_order_, index}, work = std::move(steps.back())] {
            const PerformingNode in(step);
            work();
        };
    }
    return [steps = std::move(steps), context] {
        for (const auto& step : steps) {
            if (context->error() != CUDA_SUCCESS) return;
            step();
        }
    };
}

void GraphExec::collect(std::vector<std::shared_ptr<Condition>>& conditions) const {
    for (const Node& node : nodes_) {
        if (const auto* work = std::get_if<ConditionalWork>(node.work.get()))
            conditions.push_back(work->condition);
        for (const auto& inside : node.inside)
            inside->collect(conditions);
    }
}

CUresult GraphExec::launch(const StreamUse& use) {
    if (const CUresult state = check(); state != CUDA_SUCCESS) return state;
    if (!last_launch_.is_past()) use.context->submit(*use.stream, [] {}, {last_launch_});
    if (const CUresult state = claim_memory(); state != CUDA_SUCCESS) return state;
    std::vector<std::shared_ptr<Condition>> conditions;
    collect(conditions);
    if (!conditions.empty()) {
        use.submit([conditions = std::move(conditions)] {
            for (const auto& condition : conditions)
                condition->begin();
        });
    }
    GraphPlace place;
    if (driver().order != nullptr) place.launch = driver().order->next_launch();
    enqueue(use, place);
    // User objects live until the last launch is done.
    last_launch_ = use.context->submit(*use.stream, [kept_alive = shared_from_this()] {});
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
        const auto* decides = std::get_if<ConditionalWork>(node.work.get());
        const auto inside = graphs_inside(*node.work);
        if (inside.size() != nodes_[i].inside.size() ||
            (decides != nullptr &&
             decides->type != std::get<ConditionalWork>(*nodes_[i].work).type)) {
            info.result = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
            return false;
        }
        for (std::size_t k = 0; k < inside.size(); ++k)
            if (!nodes_[i].inside[k]->matches(*inside[k], info)) return false;
        info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
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

long GraphTables::own_graphs() const {
    long own = 0;
    graphs.for_each([&](const Graph& graph) { own += graph.is_child ? 0 : 1; });
    return own;
}

}  // namespace lode::emulator::driver
