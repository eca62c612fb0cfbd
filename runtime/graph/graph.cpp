#include "runtime/graph/graph_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/graph.hpp>

#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void GraphTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuGraphDestroy, handle);
}

namespace {

/// A host function in a graph; its user object owns it.
struct GraphHostCall {
    std::function<void()> function;
    Log log;

    static void CUDA_CB run(void* argument) noexcept {
        const auto* const call = static_cast<const GraphHostCall*>(argument);
        call_logged(call->function, call->log, "A host function in a graph");
    }
    static void CUDA_CB destroy(void* argument) noexcept {
        delete static_cast<GraphHostCall*>(argument);
    }
};

}  // namespace
}  // namespace detail

Result<Graph> Graph::create(const Device& device) {
    const auto& state = device.state();
    CUgraph graph = nullptr;
    LODE_TRY(detail::call_for_graphs(*state, state->table().cuGraphCreate, &graph, 0U));
    return Graph(UniqueHandle<detail::GraphTraits>(graph, state));
}

Result<GraphNode> Graph::add_host_function(const After& after, std::function<void()> function) {
    LODE_TRY(check_present());
    if (!function)
        return fail(Errc::invalid_argument, "A host function in a graph must not be empty.");
    const auto& table = device().table();
    LODE_TRY(device().driver->require(table.cuGraphRetainUserObject, "a host function in a graph"));
    auto call = std::make_unique<detail::GraphHostCall>(
        detail::GraphHostCall{std::move(function), device().driver->log});
    const CUDA_HOST_NODE_PARAMS_v1 parameters{&detail::GraphHostCall::run, call.get()};
    CUuserObject object = nullptr;
    LODE_TRY(detail::call_for_graphs(
        device(), table.cuUserObjectCreate, &object, static_cast<void*>(call.get()),
        &detail::GraphHostCall::destroy, 1U, unsigned{CU_USER_OBJECT_NO_DESTRUCTOR_SYNC}));
    (void)call.release();  // The user object owns it.
    if (auto moved = detail::call_for_graphs(device(), table.cuGraphRetainUserObject, native(),
                                             object, 1U, unsigned{CU_GRAPH_USER_OBJECT_MOVE});
        !moved) {
        device().report_destroy(table.cuUserObjectRelease.name,
                                table.cuUserObjectRelease(object, 1U));
        return tl::unexpected<Error>(std::move(moved).error());
    }
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), table.cuGraphAddHostNode, &node, native(),
                                     after.natives().data(), after.natives().size(), &parameters));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_record(const After& after, const Event& event) {
    LODE_TRY(check_present());
    if (!event) return detail::fail_empty("event");
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddEventRecordNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     event.native()));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_wait(const After& after, const Event& event) {
    LODE_TRY(check_present());
    if (!event) return detail::fail_empty("event");
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddEventWaitNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     event.native()));
    return GraphNode(node);
}

Status Graph::write_dot(const std::filesystem::path& file) const {
    LODE_TRY(check_present());
    return detail::call_for_graphs(device(), device().table().cuGraphDebugDotPrint, native(),
                                   file.string().c_str(), 0U)
        .map_error([&](Error error) {
            return std::move(error).in(fmt::format("writing a graph to {}", file.string()));
        });
}

}  // namespace LODE_NAMESPACE
