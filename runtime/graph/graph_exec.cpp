#include "runtime/graph/graph_state.hpp"
#include "runtime/state/device_checks.hpp"
#include "runtime/state/empty.hpp"
#include "runtime/state/kernel_state.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void GraphExecTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuGraphExecDestroy, handle);
}

namespace {

/// Why cuGraphExecUpdate refuses a graph.
std::string_view update_reason(CUgraphExecUpdateResult result) noexcept {
    switch (result) {
        case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED:
            return "the nodes or their dependencies differ";
        case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED:
            return "a node has another type";
        case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
        case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
            return "a node's kernel can't be replaced by this one";
        case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
            return "a node's parameters can't be changed in this way";
        case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
            return "a node's attributes can't be changed in this way";
        case CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED:
            return "a node can't be updated";
        default:
            return "the driver gives no reason";
    }
}

/// The stream's device must be the graph's.
Status check_graph_stream(const DeviceState& device, StreamRef stream) {
    return check_stream_of(device, stream, "graph");
}

}  // namespace
}  // namespace detail

Result<GraphExec> Graph::instantiate() const {
    LODE_TRY(check_present());
    if (const auto& unfreed = state()->unfreed; !unfreed.empty()) {
        return fail(Errc::invalid_argument,
                    fmt::format("The graph allocates the memory at {:#x}, but none of its nodes "
                                "frees it.",
                                *unfreed.begin()));
    }
    CUgraphExec exec = nullptr;
    LODE_TRY(
        detail::call_for_graphs(device(), device().table().cuGraphInstantiateWithFlags, &exec,
                                native(), 0ULL)
            .map_error([](Error error) { return std::move(error).in("instantiating a graph"); }));
    const detail::GraphState& whole = *state();
    return GraphExec(UniqueHandle<detail::GraphExecTraits>(exec, whole.handle.owner()), whole.kept);
}

Status GraphExec::check_present() const {
    if (!handle_) return detail::fail_empty("instantiated graph");
    return success();
}

Status GraphExec::launch(StreamRef stream) const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    LODE_TRY(detail::check_graph_stream(device, stream));
    const auto& entry = device.table().cuGraphLaunch;
    // Only the default streams depend on the current context.
    if (stream.state().plain_device.load(std::memory_order_relaxed) == &device)
        return device.call(&stream.state(), entry, native(), stream.native());
    return detail::call_on_stream(stream.state(), entry, native(), stream.native());
}

Status GraphExec::upload(StreamRef stream) const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    LODE_TRY(detail::check_graph_stream(device, stream));
    LODE_TRY(device.driver->require(device.table().cuGraphUpload, "GraphExec::upload()"));
    return detail::call_on_stream(stream.state(), device.table().cuGraphUpload, native(),
                                  stream.native());
}

Status GraphExec::set_kernel_node(GraphNode node, const UntypedKernel& kernel,
                                  const LaunchShape& shape, void** arguments) {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    LODE_TRY_ASSIGN(const auto parameters,
                    detail::kernel_node_parameters(device, kernel, shape, arguments));
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphExecKernelNodeSetParams,
                                     native(), node.native(), &parameters));
    // Earlier launches may still run the kernel that this one replaces, so both are kept.
    kept_.insert(kernel.state().library);
    return {};
}

Status GraphExec::set_enabled(GraphNode node, bool enabled) const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    return detail::call_for_graphs(device, device.table().cuGraphNodeSetEnabled, native(),
                                   node.native(), enabled ? 1U : 0U);
}

Result<bool> GraphExec::is_enabled(GraphNode node) const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    unsigned enabled = 0;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphNodeGetEnabled, native(),
                                     node.native(), &enabled));
    return enabled != 0;
}

Status GraphExec::update(const Graph& graph) {
    LODE_TRY(check_present());
    LODE_TRY(graph.check_present());
    auto& device = *handle_.owner();
    CUgraphExecUpdateResultInfo info{};
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR;
    if (auto done = detail::call_for_graphs(device, device.table().cuGraphExecUpdate, native(),
                                            graph.native(), &info);
        !done) {
        Error error = std::move(done).error();
        if (error.native.code == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
            error.code = Errc::invalid_argument;
            error.message = fmt::format("An instantiated graph can't be updated: {}.",
                                        detail::update_reason(info.result));
        }
        return tl::unexpected<Error>(std::move(error));
    }
    kept_.insert(graph.state()->kept.begin(), graph.state()->kept.end());
    return {};
}

}  // namespace LODE_NAMESPACE
