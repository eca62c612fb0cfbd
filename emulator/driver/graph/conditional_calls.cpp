// cuGraphConditionalHandleCreate, and conditional nodes.
#include "emulator/driver/graph/graph_calls.hpp"
#include "emulator/driver/graph/graph_works.hpp"
#include "emulator/driver/log.hpp"

namespace lode::emulator::driver {
namespace {

bool is_allowed_size(CUgraphConditionalNodeType type, unsigned size) noexcept {
    switch (type) {
        case CU_GRAPH_COND_TYPE_IF:
            return size == 1 || size == 2;
        case CU_GRAPH_COND_TYPE_WHILE:
            return size == 1;
        case CU_GRAPH_COND_TYPE_SWITCH:
            return size > 0;
        default:
            return false;
    }
}

}  // namespace

void Condition::begin() noexcept {
    value_ = at_launch_ ? *at_launch_ : undefined;
}

unsigned Condition::value() const noexcept {
    const std::uint64_t value = value_;
    if (value != undefined) return static_cast<unsigned>(value);
    log::report(
        "A conditional node runs before any kernel of the launch has set its value, which "
        "has no default. It counts as 0 here; a GPU may take any value.");
    return 0;
}

CUgraphConditionalHandle Conditions::add(const std::shared_ptr<Condition>& condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(conditions_, [](const auto& entry) { return entry.second.expired(); });
    const CUgraphConditionalHandle handle = condition->handle();
    conditions_.emplace(handle, condition);
    return handle;
}

std::shared_ptr<Condition> Conditions::find(CUgraphConditionalHandle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = conditions_.find(handle);
    return found == conditions_.end() ? nullptr : found->second.lock();
}

CUresult conditional_work_of(CUDA_CONDITIONAL_NODE_PARAMS& parameters, const Graph* parent,
                             NodeWork& work) {
    GraphTables& tables = driver().graph_tables;
    const auto condition = tables.conditions.find(parameters.handle);
    const auto owner = condition == nullptr ? nullptr : condition->graph();
    if (owner == nullptr || parent == nullptr || condition->used || !contains(*owner, parent) ||
        !is_allowed_size(parameters.type, parameters.size))
        return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Context> context;
    if (const CUresult state = node_context(parameters.ctx, context); state != CUDA_SUCCESS)
        return state;
    if (context.get() != &condition->context()) return CUDA_ERROR_INVALID_CONTEXT;
    ConditionalWork node;
    node.condition = condition;
    node.type = parameters.type;
    node.handles = std::make_shared<std::vector<CUgraph>>();
    for (unsigned i = 0; i < parameters.size; ++i) {
        const auto& body = node.bodies.emplace_back(std::make_shared<Graph>());
        body->is_child = true;
        node.handles->push_back(tables.graphs.add(body));
    }
    parameters.phGraph_out = node.handles->data();
    condition->used = true;
    work = std::move(node);
    return CUDA_SUCCESS;
}

LODE_ENTRY cuGraphConditionalHandleCreate(CUgraphConditionalHandle* pHandle_out, CUgraph hGraph,
                                          CUcontext ctx, unsigned int defaultLaunchValue,
                                          unsigned int flags) {
    return enter_graph(__func__, hGraph, [&](Graph& graph) -> CUresult {
        constexpr unsigned known = CU_GRAPH_COND_ASSIGN_DEFAULT;
        if (pHandle_out == nullptr || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Context> context;
        if (const CUresult state = node_context(ctx, context); state != CUDA_SUCCESS) return state;
        std::optional<unsigned> at_launch;
        if ((flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0) at_launch = defaultLaunchValue;
        graph.conditions.push_back(
            std::make_shared<Condition>(graph.shared_from_this(), std::move(context), at_launch));
        *pHandle_out = driver().graph_tables.conditions.add(graph.conditions.back());
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
