/// \file
/// The driver's handle types, forward-declared: including lode doesn't need cuda.h, and a host that
/// includes both sees the same types.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUlib_st;
struct CUkern_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUarray_st;
struct CUmipmappedArray_st;
struct CUmemPoolHandle_st;
struct CUextMemory_st;
struct CUextSemaphore_st;

LODE_API_BEGIN

namespace LODE_NAMESPACE {

using NativeDevice = int;                              ///< CUdevice
using NativeContext = ::CUctx_st*;                     ///< CUcontext
using NativeStream = ::CUstream_st*;                   ///< CUstream, also cudaStream_t
using NativeEvent = ::CUevent_st*;                     ///< CUevent, also cudaEvent_t
using NativeLibrary = ::CUlib_st*;                     ///< CUlibrary
using NativeKernel = ::CUkern_st*;                     ///< CUkernel
using NativeFunction = ::CUfunc_st*;                   ///< CUfunction
using NativeGraph = ::CUgraph_st*;                     ///< CUgraph, also cudaGraph_t
using NativeGraphNode = ::CUgraphNode_st*;             ///< CUgraphNode, also cudaGraphNode_t
using NativeGraphExec = ::CUgraphExec_st*;             ///< CUgraphExec, also cudaGraphExec_t
using NativeGraphCondition = unsigned long long;       ///< CUgraphConditionalHandle
using NativeDevicePointer = unsigned long long;        ///< CUdeviceptr
using NativeMemoryPool = ::CUmemPoolHandle_st*;        ///< CUmemoryPool, also cudaMemPool_t
using NativeExternalMemory = ::CUextMemory_st*;        ///< CUexternalMemory
using NativeExternalSemaphore = ::CUextSemaphore_st*;  ///< CUexternalSemaphore
using NativeArray = ::CUarray_st*;                     ///< CUarray, also cudaArray_t
using NativeMipmappedArray = ::CUmipmappedArray_st*;   ///< CUmipmappedArray
using NativeTexture = unsigned long long;              ///< CUtexObject, also cudaTextureObject_t
using NativeSurface = unsigned long long;              ///< CUsurfObject, also cudaSurfaceObject_t

}  // namespace LODE_NAMESPACE

LODE_API_END
