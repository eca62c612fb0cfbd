// From the driver's node parameters to checked work with copies of them.
#pragma once

#include "emulator/driver/graph.hpp"

namespace lode::emulator::driver {

/// Each checks the parameters as the driver does when a node is added or changed.
CUresult kernel_work_of(const CUDA_KERNEL_NODE_PARAMS_v2* parameters, bool cooperative,
                        NodeWork& work);
CUresult copy_work_of(const CUDA_MEMCPY3D* parameters, CUcontext context, NodeWork& work);
CUresult fill_work_of(const CUDA_MEMSET_NODE_PARAMS_v1* parameters, CUcontext context,
                      NodeWork& work);
CUresult host_work_of(const CUDA_HOST_NODE_PARAMS_v1* parameters, NodeWork& work);
CUresult record_work_of(CUevent event, NodeWork& work);
CUresult wait_work_of(CUevent event, NodeWork& work);
/// Clones the graph, which must not contain `parent`.
CUresult child_work_of(CUgraph graph, const Graph* parent, NodeWork& work);

/// The work that the generic calls (cuGraphAddNode, cuGraphNodeSetParams) describe. NOT_SUPPORTED
/// for other types of nodes.
CUresult work_of(const CUgraphNodeParams* parameters, const Graph* parent, NodeWork& work);

/// A kernel's parameters in the layout of the first version of the call.
[[nodiscard]] CUDA_KERNEL_NODE_PARAMS_v2 current_version(
    const CUDA_KERNEL_NODE_PARAMS_v1& old) noexcept;

}  // namespace lode::emulator::driver
