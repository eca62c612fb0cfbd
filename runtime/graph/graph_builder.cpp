#include "base/message_text.hpp"
#include "runtime/graph/graph_state.hpp"
#include "runtime/memory/copy_box.hpp"
#include "runtime/state/device_checks.hpp"
#include "runtime/state/empty.hpp"
#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/graph.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

Result<CUDA_KERNEL_NODE_PARAMS_v2> kernel_node_parameters(const DeviceState& device,
                                                          const UntypedKernel& kernel,
                                                          const LaunchShape& shape,
                                                          void** arguments) {
    const KernelState& state = kernel.state();
    if (state.device == nullptr) return fail_empty("kernel");
    if (state.device != &device) {
        return fail(Errc::invalid_argument,
                    fmt::format("Kernel '{}' is loaded on device {}, but the graph belongs to "
                                "device {}.",
                                shortened(state.name), state.device->properties.ordinal,
                                device.properties.ordinal));
    }
    if (shape.has_attributes()) {
        return fail(Errc::not_supported,
                    fmt::format("A node of kernel '{}' can't be added with launch attributes; "
                                "capture the launch instead.",
                                shortened(state.name)));
    }
    LODE_TRY(check_limits(state, shape));
    LODE_TRY(opt_in_to_shared(state, shape.dynamic_shared_bytes));
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    parameters.func = state.function;
    parameters.gridDimX = shape.grid.x;
    parameters.gridDimY = shape.grid.y;
    parameters.gridDimZ = shape.grid.z;
    parameters.blockDimX = shape.block.x;
    parameters.blockDimY = shape.block.y;
    parameters.blockDimZ = shape.block.z;
    parameters.sharedMemBytes = shape.dynamic_shared_bytes;
    parameters.kernelParams = arguments;
    return parameters;
}

Result<std::vector<CUgraphNode>> nodes_of(DeviceState& device, CUgraph graph) {
    const auto& entry = device.table().cuGraphGetNodes;
    std::size_t count = 0;
    LODE_TRY(call_for_graphs(device, entry, graph, static_cast<CUgraphNode*>(nullptr), &count));
    std::vector<CUgraphNode> nodes(count);
    if (count > 0) LODE_TRY(call_for_graphs(device, entry, graph, nodes.data(), &count));
    return nodes;
}

namespace {

/// A side of a copy of bytes: the host's if `host` isn't null.
BoxSide linear_side(const DeviceMemoryRef& memory, void* host) noexcept {
    BoxSide side;
    if (host != nullptr) {
        side.host = host;
    } else {
        side.type = CU_MEMORYTYPE_DEVICE;
        side.address = memory.address;
    }
    return side;
}

/// Refuses memory of another driver, and of another device if `same_device`.
Status check_graph_memory(const DeviceState& device, const DeviceMemoryRef& memory,
                          bool same_device) {
    if (memory.address == 0)
        return fail(Errc::invalid_argument, "A graph's node needs memory; the span has none.");
    if (memory.device == nullptr || memory.device == &device) return {};
    if (memory.device->driver != device.driver || same_device)
        return fail_other_device("memory", *memory.device, "graph", device);
    return {};
}

}  // namespace
}  // namespace detail

Status GraphBuilder::check_present() const {
    return state_ != nullptr ? Status() : detail::fail_empty("graph");
}

Result<GraphNode> GraphBuilder::add_kernel_node(const After& after, const UntypedKernel& kernel,
                                                const LaunchShape& shape, void** arguments) {
    LODE_TRY(check_present());
    LODE_TRY_ASSIGN(const auto parameters,
                    detail::kernel_node_parameters(device(), kernel, shape, arguments));
    state_->kept.insert(kernel.state().library);
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddKernelNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     &parameters));
    return GraphNode(node);
}

Result<GraphNode> GraphBuilder::add_copy_node(const After& after, detail::DeviceMemoryRef to,
                                              detail::DeviceMemoryRef from, void* host_to,
                                              const void* host_from, std::size_t bytes) {
    LODE_TRY(check_present());
    if (bytes == 0) return add_empty(after);
    if (host_to == nullptr) LODE_TRY(detail::check_graph_memory(device(), to, false));
    if (host_from == nullptr) LODE_TRY(detail::check_graph_memory(device(), from, false));
    const CUDA_MEMCPY3D copy = detail::describe_copy(
        detail::linear_side(to, host_to), detail::linear_side(from, const_cast<void*>(host_from)),
        {.width = bytes, .height = 1, .depth = 1});
    LODE_TRY_ASSIGN(CUcontext context, device().context());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddMemcpyNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     &copy, context));
    return GraphNode(node);
}

Result<GraphNode> GraphBuilder::add_fill_node(const After& after, detail::DeviceMemoryRef memory,
                                              const void* value, std::size_t value_bytes,
                                              std::size_t count) {
    LODE_TRY(check_present());
    if (count == 0) return add_empty(after);
    LODE_TRY(detail::check_graph_memory(device(), memory, true));
    CUDA_MEMSET_NODE_PARAMS_v1 fill{};
    fill.dst = memory.address;
    fill.elementSize = static_cast<unsigned>(value_bytes);
    std::memcpy(&fill.value, value, std::min(value_bytes, sizeof fill.value));
    fill.width = count;
    fill.height = 1;
    LODE_TRY_ASSIGN(CUcontext context, device().context());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddMemsetNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     &fill, context));
    return GraphNode(node);
}

Result<GraphNode> GraphBuilder::add_child(const After& after, const Graph& child) {
    LODE_TRY(check_present());
    LODE_TRY(child.check_present());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddChildGraphNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     child.native()));
    state_->kept.insert(child.state_->kept.begin(), child.state_->kept.end());
    return GraphNode(node);
}

Result<GraphNode> GraphBuilder::add_empty(const After& after) {
    LODE_TRY(check_present());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddEmptyNode, &node,
                                     native(), after.natives().data(), after.natives().size()));
    return GraphNode(node);
}

Status GraphBuilder::add_dependency(GraphNode first, GraphNode second) {
    LODE_TRY(check_present());
    CUgraphNode from = first.native();
    CUgraphNode to = second.native();
    return detail::call_for_graphs(device(), device().table().cuGraphAddDependencies, native(),
                                   &from, &to, std::size_t{1});
}

Result<std::size_t> GraphBuilder::node_count() const {
    LODE_TRY(check_present());
    std::size_t count = 0;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphGetNodes, native(),
                                     static_cast<CUgraphNode*>(nullptr), &count));
    return count;
}

Result<std::vector<GraphNode>> GraphBuilder::nodes() const {
    LODE_TRY(check_present());
    LODE_TRY_ASSIGN(const auto natives, detail::nodes_of(device(), native()));
    std::vector<GraphNode> nodes;
    for (CUgraphNode node : natives)
        nodes.emplace_back(node);
    return nodes;
}

}  // namespace LODE_NAMESPACE
