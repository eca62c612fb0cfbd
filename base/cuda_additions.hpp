// What lode uses of cuda.h and cudaTypedefs.h of CUDA 13.5 beyond those of the older toolkits with
// which it builds, too.
#pragma once

#include <lode/base/api.hpp>

#include <bit>
#include <cstddef>
#include <cstring>

#include <cuda.h>

namespace LODE_NAMESPACE {

/// CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE and CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE.
inline constexpr auto launch_attribute_cluster_mode = static_cast<CUlaunchAttributeID>(17);
inline constexpr auto launch_attribute_shared_memory_mode = static_cast<CUlaunchAttributeID>(18);

/// CU_JIT_BINARY_LOADER_THREAD_COUNT.
inline constexpr auto jit_binary_loader_threads = static_cast<CUjit_option>(35);

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

typedef enum {
    CU_WORKQUEUE_SCOPE_DEVICE_CTX = 0,
    CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED = 1
} CUdevWorkqueueConfigScope;
typedef struct CUdevWorkqueueConfigResource_st {
    CUdevice device;
    unsigned int wqConcurrencyLimit;
    CUdevWorkqueueConfigScope sharingScope;
} CUdevWorkqueueConfigResource;
typedef struct CUdevWorkqueueResource_st {
    unsigned char reserved[40];
} CUdevWorkqueueResource;
// The older enumeration has too few bits for a static_cast.
inline const auto CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG = std::bit_cast<CUdevResourceType>(1000);
inline const auto CU_DEV_RESOURCE_TYPE_WORKQUEUE = std::bit_cast<CUdevResourceType>(10000);

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

namespace LODE_NAMESPACE {

/// What a resource holds: a CUdevWorkqueueConfigResource or another of the structs that share its
/// place. Older headers name only CUdevSmResource.
template <class Contents>
Contents contents_of(const CUdevResource& resource) noexcept {
    static_assert(sizeof(Contents) <= sizeof(CUdevWorkqueueResource));
    Contents contents;
    std::memcpy(static_cast<void*>(&contents), &resource.sm, sizeof(contents));
    return contents;
}
template <class Contents>
CUdevResource resource_of(CUdevResourceType type, const Contents& contents) noexcept {
    static_assert(sizeof(Contents) <= sizeof(CUdevWorkqueueResource));
    CUdevResource resource{};
    resource.type = type;
    std::memcpy(static_cast<void*>(&resource.sm), &contents, sizeof(contents));
    return resource;
}

}  // namespace LODE_NAMESPACE
