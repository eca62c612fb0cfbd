#include "runtime/empty.hpp"
#include "runtime/graph/graph_state.hpp"
#include "runtime/kernel_state.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/graph.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include <fmt/format.h>

namespace lode {
namespace detail {

void GraphTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuGraphDestroy, handle);
}

Result<CUDA_KERNEL_NODE_PARAMS_v2> kernel_node_parameters(const DeviceState& device,
                                                          const UntypedKernel& kernel,
                                                          const LaunchShape& shape,
                                                          void** arguments) {
    const KernelState& state = kernel.state();
    if (state.device == nullptr) return fail_empty("kernel");
    if (state.device != &device) {
        return fail(
            Errc::invalid_argument,
            fmt::format("Kernel '{}' is loaded on device {}, but the graph belongs to "
                        "device {}.",
                        state.name, state.device->properties.ordinal, device.properties.ordinal));
    }
    if (shape.has_attributes()) {
        return fail(Errc::not_supported,
                    fmt::format("A node of kernel '{}' can't be added with launch attributes; "
                                "capture the launch instead.",
                                state.name));
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

namespace {

/// A host function in a graph; its user object owns it.
struct GraphHostCall {
    std::function<void()> function;
    Log log;

    static void CUDA_CB run(void* argument) noexcept {
        const auto* const call = static_cast<const GraphHostCall*>(argument);
        try {
            call->function();
        } catch (const std::exception& thrown) {
            call->log.write(LogLevel::error,
                            std::string("A host function in a graph throws: ") + thrown.what());
        } catch (...) {
            call->log.write(LogLevel::error, "A host function in a graph throws.");
        }
    }
    static void CUDA_CB destroy(void* argument) noexcept {
        delete static_cast<GraphHostCall*>(argument);
    }
};

/// A side of a copy node.
struct CopySide {
    DeviceMemoryRef device;
    const void* host = nullptr;
    [[nodiscard]] bool is_host() const noexcept { return host != nullptr; }
};

CUDA_MEMCPY3D linear_copy(const CopySide& to, const CopySide& from, std::size_t bytes) noexcept {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = from.is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.srcHost = from.host;
    copy.srcDevice = from.device.address;
    copy.dstMemoryType = to.is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstHost = const_cast<void*>(to.host);
    copy.dstDevice = to.device.address;
    copy.WidthInBytes = bytes;
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
}

/// Refuses memory of another driver, and of another device if `same_device`.
Status check_graph_memory(const DeviceState& device, const DeviceMemoryRef& memory,
                          bool same_device) {
    if (memory.address == 0)
        return fail(Errc::invalid_argument, "A graph's node needs memory; the span has none.");
    if (memory.device == nullptr || memory.device == &device) return {};
    if (memory.device->driver != device.driver || same_device) {
        return fail(
            Errc::invalid_argument,
            fmt::format("The memory belongs to device {}, but the graph belongs to device {}.",
                        memory.device->properties.ordinal, device.properties.ordinal));
    }
    return {};
}

}  // namespace
}  // namespace detail

Result<Graph> Graph::create(const Device& device) {
    const auto& state = device.state();
    CUgraph graph = nullptr;
    LODE_TRY(detail::call_for_graphs(*state, state->table().cuGraphCreate, &graph, 0U));
    return Graph(UniqueHandle<detail::GraphTraits>(graph, state), {});
}

Status Graph::check_present() const {
    return handle_ ? Status() : detail::fail_empty("graph");
}

Result<GraphNode> Graph::add_kernel_node(const After& after, const UntypedKernel& kernel,
                                         const LaunchShape& shape, void** arguments) {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    LODE_TRY_ASSIGN(const auto parameters,
                    detail::kernel_node_parameters(device, kernel, shape, arguments));
    kept_.push_back(std::make_shared<UntypedKernel>(kernel));
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddKernelNode, &node, native(),
                                     after.natives().data(), after.natives().size(), &parameters));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_copy_node(const After& after, detail::DeviceMemoryRef to,
                                       detail::DeviceMemoryRef from, void* host_to,
                                       const void* host_from, std::size_t bytes) {
    LODE_TRY(check_present());
    if (bytes == 0) return add_empty(after);
    auto& device = *handle_.owner();
    if (host_to == nullptr) LODE_TRY(detail::check_graph_memory(device, to, false));
    if (host_from == nullptr) LODE_TRY(detail::check_graph_memory(device, from, false));
    const CUDA_MEMCPY3D copy = detail::linear_copy({to, host_to}, {from, host_from}, bytes);
    LODE_TRY_ASSIGN(CUcontext context, device.context());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddMemcpyNode, &node, native(),
                                     after.natives().data(), after.natives().size(), &copy,
                                     context));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_fill_node(const After& after, detail::DeviceMemoryRef memory,
                                       const void* value, std::size_t value_bytes,
                                       std::size_t count) {
    LODE_TRY(check_present());
    if (count == 0) return add_empty(after);
    auto& device = *handle_.owner();
    LODE_TRY(detail::check_graph_memory(device, memory, true));
    CUDA_MEMSET_NODE_PARAMS_v1 fill{};
    fill.dst = memory.address;
    fill.elementSize = static_cast<unsigned>(value_bytes);
    std::memcpy(&fill.value, value, std::min(value_bytes, sizeof fill.value));
    fill.width = count;
    fill.height = 1;
    LODE_TRY_ASSIGN(CUcontext context, device.context());
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddMemsetNode, &node, native(),
                                     after.natives().data(), after.natives().size(), &fill,
                                     context));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_host_function(const After& after, std::function<void()> function) {
    LODE_TRY(check_present());
    if (!function)
        return fail(Errc::invalid_argument, "A host function in a graph must not be empty.");
    auto& device = *handle_.owner();
    const auto& table = device.table();
    LODE_TRY(device.driver->require(table.cuGraphRetainUserObject, "a host function in a graph"));
    auto call = std::make_unique<detail::GraphHostCall>(
        detail::GraphHostCall{std::move(function), device.driver->log});
    const CUDA_HOST_NODE_PARAMS_v1 parameters{&detail::GraphHostCall::run, call.get()};
    CUuserObject object = nullptr;
    LODE_TRY(detail::call_for_graphs(
        device, table.cuUserObjectCreate, &object, static_cast<void*>(call.get()),
        &detail::GraphHostCall::destroy, 1U, unsigned{CU_USER_OBJECT_NO_DESTRUCTOR_SYNC}));
    (void)call.release();  // The user object owns it.
    if (auto moved = detail::call_for_graphs(device, table.cuGraphRetainUserObject, native(),
                                             object, 1U, unsigned{CU_GRAPH_USER_OBJECT_MOVE});
        !moved) {
        device.report_destroy(table.cuUserObjectRelease.name,
                              table.cuUserObjectRelease(object, 1U));
        return tl::unexpected<Error>(std::move(moved).error());
    }
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, table.cuGraphAddHostNode, &node, native(),
                                     after.natives().data(), after.natives().size(), &parameters));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_child(const After& after, const Graph& child) {
    LODE_TRY(check_present());
    LODE_TRY(child.check_present());
    auto& device = *handle_.owner();
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddChildGraphNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     child.native()));
    const detail::KeptObjects more = child.kept_;
    kept_.insert(kept_.end(), more.begin(), more.end());
    return GraphNode(node);
}

Result<GraphNode> Graph::add_empty(const After& after) {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddEmptyNode, &node, native(),
                                     after.natives().data(), after.natives().size()));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_record(const After& after, const Event& event) {
    LODE_TRY(check_present());
    if (!event) return detail::fail_empty("event");
    auto& device = *handle_.owner();
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddEventRecordNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     event.native()));
    return GraphNode(node);
}

Result<GraphNode> Graph::add_wait(const After& after, const Event& event) {
    LODE_TRY(check_present());
    if (!event) return detail::fail_empty("event");
    auto& device = *handle_.owner();
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphAddEventWaitNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     event.native()));
    return GraphNode(node);
}

Status Graph::add_dependency(GraphNode first, GraphNode second) {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    CUgraphNode from = first.native();
    CUgraphNode to = second.native();
    return detail::call_for_graphs(device, device.table().cuGraphAddDependencies, native(), &from,
                                   &to, std::size_t{1});
}

Result<std::size_t> Graph::node_count() const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    std::size_t count = 0;
    LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphGetNodes, native(),
                                     static_cast<CUgraphNode*>(nullptr), &count));
    return count;
}

Result<std::vector<GraphNode>> Graph::nodes() const {
    LODE_TRY_ASSIGN(std::size_t count, node_count());
    auto& device = *handle_.owner();
    std::vector<CUgraphNode> natives(count);
    if (count > 0) {
        LODE_TRY(detail::call_for_graphs(device, device.table().cuGraphGetNodes, native(),
                                         natives.data(), &count));
    }
    std::vector<GraphNode> nodes;
    for (CUgraphNode node : natives)
        nodes.emplace_back(node);
    return nodes;
}

Status Graph::write_dot(const std::filesystem::path& file) const {
    LODE_TRY(check_present());
    auto& device = *handle_.owner();
    return detail::call_for_graphs(device, device.table().cuGraphDebugDotPrint, native(),
                                   file.c_str(), 0U)
        .map_error([&](Error error) {
            return std::move(error).in(fmt::format("writing a graph to {}", file.string()));
        });
}

}  // namespace lode
