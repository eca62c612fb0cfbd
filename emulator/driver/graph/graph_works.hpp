// From the driver's node parameters to checked work with copies of them.
#pragma once

#include "emulator/driver/graph/graph.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <optional>

namespace lode::emulator::driver {

/// Each checks the parameters as the driver does when a node is added or changed.
CUresult kernel_work_of(const CUDA_KERNEL_NODE_PARAMS_v2* parameters, KernelAttributes attributes,
                        NodeWork& work);
/// The same kernel with other attributes.
CUresult with_attributes(const KernelWork& now, KernelAttributes attributes, NodeWork& work);
CUresult copy_work_of(const CUDA_MEMCPY3D* parameters, CUcontext context, NodeWork& work);
CUresult fill_work_of(const CUDA_MEMSET_NODE_PARAMS_v1* parameters, CUcontext context,
                      NodeWork& work);
CUresult host_work_of(const CUDA_HOST_NODE_PARAMS_v1* parameters, NodeWork& work);
CUresult record_work_of(CUevent event, NodeWork& work);
CUresult wait_work_of(CUevent event, NodeWork& work);
/// Clones the graph, which must not contain `parent`.
CUresult child_work_of(CUgraph graph, const Graph* parent, NodeWork& work);
/// Makes the bodies, and stores their handles in `parameters`.
CUresult conditional_work_of(CUDA_CONDITIONAL_NODE_PARAMS& parameters, const Graph* parent,
                             NodeWork& work);
/// Reserves memory, and stores its address in `parameters`.
CUresult alloc_work_of(CUDA_MEM_ALLOC_NODE_PARAMS_v1& parameters, Graph* parent, NodeWork& work);
/// The memory must be that of an allocation node that no node frees yet.
CUresult free_work_of(CUdeviceptr address, const Graph* parent, NodeWork& work);

/// Captures an allocation or a free on a capturing stream; nullopt if the stream isn't capturing.
std::optional<CUresult> capture_alloc(const StreamUse& use, CUdeviceptr* out, std::size_t bytes);
std::optional<CUresult> capture_free(const StreamUse& use, CUdeviceptr address);

/// The work that the generic calls (cuGraphAddNode, cuGraphNodeSetParams) describe. NOT_SUPPORTED
/// for other types of nodes.
CUresult work_of(CUgraphNodeParams* parameters, Graph* parent, NodeWork& work);

/// Replaces a node's work by one of the same type that make(const Work&, NodeWork&) describes.
template <class Work, class Make>
CUresult replace_work(std::shared_ptr<const NodeWork>& work, const Make& make) {
    const auto* const now = std::get_if<Work>(work.get());
    if (now == nullptr) return CUDA_ERROR_INVALID_VALUE;
    NodeWork fresh;
    const CUresult state = make(*now, fresh);
    if (state == CUDA_SUCCESS) work = std::make_shared<const NodeWork>(std::move(fresh));
    return state;
}
/// The same for the generic calls. INVALID_VALUE for nodes with graphs inside and for memory
/// nodes, whose parameters don't change.
CUresult replace_work(std::shared_ptr<const NodeWork>& work, CUgraphNodeParams* parameters);

/// The context of a node; a null handle means the current one.
CUresult node_context(CUcontext handle, std::shared_ptr<Context>& context);

/// A kernel's parameters in the layout of the first version of the call.
[[nodiscard]] CUDA_KERNEL_NODE_PARAMS_v2 current_version(
    const CUDA_KERNEL_NODE_PARAMS_v1& old) noexcept;

}  // namespace lode::emulator::driver
