// What lode uses of cuda.h and cudaTypedefs.h of CUDA 13.5 beyond those of the older toolkits with
// which it builds, too.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>

#include <cuda.h>

namespace LODE_NAMESPACE {

/// CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE and CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE.
inline constexpr auto launch_attribute_cluster_mode = static_cast<CUlaunchAttributeID>(17);
inline constexpr auto launch_attribute_shared_memory_mode = static_cast<CUlaunchAttributeID>(18);

}  // namespace LODE_NAMESPACE

#if CUDA_VERSION < 13010
// NOLINTBEGIN(readability-identifier-naming,modernize-use-using): the names are CUDA's.
typedef struct CU_DEV_SM_RESOURCE_GROUP_PARAMS_st {
    unsigned int smCount;
    unsigned int coscheduledSmCount;
    unsigned int preferredCoscheduledSmCount;
    unsigned int flags;
    unsigned int reserved[12];
} CU_DEV_SM_RESOURCE_GROUP_PARAMS;
inline constexpr unsigned CU_DEV_SM_RESOURCE_GROUP_BACKFILL = 1;

extern "C" {
CUresult CUDAAPI cuDevSmResourceSplit(CUdevResource* result, unsigned int nbGroups,
                                      const CUdevResource* input, CUdevResource* remainder,
                                      unsigned int flags,
                                      CU_DEV_SM_RESOURCE_GROUP_PARAMS* groupParams);
CUresult CUDAAPI cuStreamGetDevResource(CUstream hStream, CUdevResource* resource,
                                        CUdevResourceType type);
CUresult CUDAAPI cuStreamGetDevResource_ptsz(CUstream hStream, CUdevResource* resource,
                                             CUdevResourceType type);
CUresult CUDAAPI cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void* userData,
                                     unsigned int syncMode);
CUresult CUDAAPI cuLaunchHostFunc_v2_ptsz(CUstream hStream, CUhostFn fn, void* userData,
                                          unsigned int syncMode);
}
using PFN_cuDevSmResourceSplit_v13010 = decltype(&cuDevSmResourceSplit);
using PFN_cuStreamGetDevResource_v13010 = decltype(&cuStreamGetDevResource);
using PFN_cuLaunchHostFunc_v13010 = decltype(&cuLaunchHostFunc_v2);
// NOLINTEND(readability-identifier-naming,modernize-use-using)
#endif

#if CUDA_VERSION < 13020
// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's.
extern "C" {
CUresult CUDAAPI cuKernelGetParamCount(CUkernel kernel, std::size_t* paramCount);
CUresult CUDAAPI cuFuncGetParamCount(CUfunction func, std::size_t* paramCount);
}
using PFN_cuKernelGetParamCount_v13020 = decltype(&cuKernelGetParamCount);
using PFN_cuFuncGetParamCount_v13020 = decltype(&cuFuncGetParamCount);
// NOLINTEND(readability-identifier-naming)
#endif

#if CUDA_VERSION < 13040
// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's.
extern "C" {
CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* dependencyData,
                                   std::size_t numDependencies, CUgraphNodeParams* nodeParams);
CUresult CUDAAPI cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams* nodeParams);
}
// NOLINTEND(readability-identifier-naming)
#endif
