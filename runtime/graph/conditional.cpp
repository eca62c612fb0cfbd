#include "runtime/graph/graph_state.hpp"
#include "runtime/state/empty.hpp"

#include <limits>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr int first_with_else = 12080;

CUgraphConditionalNodeType native_conditional(detail::ConditionalKind kind) noexcept {
    switch (kind) {
        case detail::ConditionalKind::runs_if:
            return CU_GRAPH_COND_TYPE_IF;
        case detail::ConditionalKind::runs_while:
            return CU_GRAPH_COND_TYPE_WHILE;
        case detail::ConditionalKind::runs_one:
            break;
    }
    return CU_GRAPH_COND_TYPE_SWITCH;
}

}  // namespace

Result<GraphCondition> GraphBuilder::add_condition(std::optional<std::uint32_t> at_launch) {
    LODE_TRY(check_present());
    const auto& entry = device().table().cuGraphConditionalHandleCreate;
    LODE_TRY(device().driver->require(entry, "A conditional node"));
    LODE_TRY_ASSIGN(CUcontext context, device().context());
    CUgraphConditionalHandle condition = 0;
    LODE_TRY(detail::call_in_context(device(), entry, &condition, native(), context,
                                     at_launch.value_or(0),
                                     at_launch ? unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT} : 0U));
    return GraphCondition(condition);
}

Result<ConditionalNode> GraphBuilder::add_conditional(const After& after, GraphCondition condition,
                                                      detail::ConditionalKind kind,
                                                      std::size_t bodies) {
    LODE_TRY(check_present());
    constexpr std::size_t most = std::numeric_limits<unsigned>::max();
    if (bodies == 0 || bodies > most) {
        return fail(Errc::invalid_argument,
                    fmt::format("A conditional node has 1 to {} bodies, not {}.", most, bodies));
    }
    if (bodies > 1 || kind == detail::ConditionalKind::runs_one)
        LODE_TRY(device().driver->require_version(
            first_with_else, "A conditional node that selects one of several bodies"));
    LODE_TRY(device().driver->require(device().table().cuGraphAddNode, "A conditional node"));
    LODE_TRY_ASSIGN(CUcontext context, device().context());
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = condition.native();
    parameters.conditional.type = native_conditional(kind);
    parameters.conditional.size = static_cast<unsigned>(bodies);
    parameters.conditional.ctx = context;
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_in_context(
        device(), device().table().cuGraphAddNode, &node, native(), after.natives().data(),
        static_cast<const CUgraphEdgeData*>(nullptr), after.natives().size(), &parameters));
    ConditionalNode made{GraphNode(node), {}};
    for (std::size_t i = 0; i < bodies; ++i)
        made.bodies.push_back(GraphBody(state_, parameters.conditional.phGraph_out[i]));
    return made;
}

Result<ConditionalNode> GraphBuilder::add_if(const After& after, GraphCondition condition) {
    return add_conditional(after, condition, detail::ConditionalKind::runs_if, 1);
}

Result<ConditionalNode> GraphBuilder::add_if_else(const After& after, GraphCondition condition) {
    return add_conditional(after, condition, detail::ConditionalKind::runs_if, 2);
}

Result<ConditionalNode> GraphBuilder::add_while(const After& after, GraphCondition condition) {
    return add_conditional(after, condition, detail::ConditionalKind::runs_while, 1);
}

Result<ConditionalNode> GraphBuilder::add_switch(const After& after, GraphCondition condition,
                                                 std::size_t bodies) {
    return add_conditional(after, condition, detail::ConditionalKind::runs_one, bodies);
}

}  // namespace LODE_NAMESPACE
