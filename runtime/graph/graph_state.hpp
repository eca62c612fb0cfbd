// What graphs, executable graphs and captures share.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/runtime/graph.hpp>

#include <vector>

namespace LODE_NAMESPACE::detail {

/// Calls an entry point for graphs with the device's context current; not_supported if the driver
/// doesn't have it.
template <class Function, class... Arguments>
[[nodiscard]] Status call_for_graphs(DeviceState& device, const EntryPoint<Function>& entry,
                                     Arguments... arguments) {
    LODE_TRY(device.driver->require(entry, "this use of graphs"));
    return call_in_context(device, entry, arguments...);
}

/// All nodes of a graph in the order of their creation.
[[nodiscard]] Result<std::vector<CUgraphNode>> nodes_of(DeviceState& device, CUgraph graph);

/// The driver's parameters of a launch. Checks the shape, which mustn't have attributes, and opts
/// in to its shared memory. `device` is the graph's.
[[nodiscard]] Result<CUDA_KERNEL_NODE_PARAMS_v2> kernel_node_parameters(const DeviceState& device,
                                                                        const UntypedKernel& kernel,
                                                                        const LaunchShape& shape,
                                                                        void** arguments);

}  // namespace LODE_NAMESPACE::detail
