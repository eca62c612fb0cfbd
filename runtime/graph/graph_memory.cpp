#include "runtime/graph/graph_state.hpp"
#include "runtime/memory/size.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE {

Result<GraphNode> Graph::add_alloc_node(const After& after, std::size_t count, std::size_t size,
                                        detail::DeviceMemoryRef& memory) {
    LODE_TRY(check_present());
    LODE_TRY_ASSIGN(const std::size_t bytes, detail::bytes_of(count, size));
    memory = {0, &device()};
    if (bytes == 0) return add_empty(after);
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.poolProps.location.id = device().device;
    parameters.bytesize = bytes;
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddMemAllocNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     &parameters)
                 .map_error([&](Error error) {
                     return std::move(error).in(
                         fmt::format("adding an allocation of {} bytes to a graph", bytes));
                 }));
    memory.address = parameters.dptr;
    state()->unfreed.insert(parameters.dptr);
    return GraphNode(node);
}

Result<GraphNode> Graph::add_free_node(const After& after, NativeDevicePointer address,
                                       std::size_t count) {
    LODE_TRY(check_present());
    if (count == 0 && address == 0) return add_empty(after);
    const auto found = state()->unfreed.find(address);
    if (found == state()->unfreed.end()) {
        return fail(Errc::invalid_argument,
                    fmt::format("The graph can't free the memory at {:#x}: none of its nodes "
                                "allocates it, or one frees it already.",
                                address));
    }
    CUgraphNode node = nullptr;
    LODE_TRY(detail::call_for_graphs(device(), device().table().cuGraphAddMemFreeNode, &node,
                                     native(), after.natives().data(), after.natives().size(),
                                     address));
    state()->unfreed.erase(found);
    return GraphNode(node);
}

}  // namespace LODE_NAMESPACE
