// Include this before Thrust, with NVRTC's flag -default-device: then the algorithms with
// thrust::seq and thrust::device run in the calling thread. Thrust of CUDA 13.0 (CCCL 3.0) or newer.
#pragma once
#if defined(__has_include) && !__has_include(<thrust/detail/config.h>)
#error "<lode/thrust.h> needs Thrust, which lode can't find. Install NVIDIA's cuda-cccl package or its wheel nvidia-cuda-cccl, or set CUDA_HOME to a toolkit that has include/cccl."
#endif

// A kernel can't use Thrust's own launches.
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#include <cuda/std/iterator>
#include <stdexcept>
#include <type_traits>

// NVRTC refuses functions that are marked for the host, whether or not they are used.
#undef __host__
#define __host__

#include <thrust/detail/config.h>

#if THRUST_MAJOR_VERSION < 3
#error "<lode/thrust.h> needs the Thrust of CUDA 13.0 (CCCL 3.0) or newer."
#endif
#ifndef _CCCL_NVTX_RANGE_SCOPE
#define _CCCL_NVTX_RANGE_SCOPE(...)
#define _CCCL_NVTX_RANGE_SCOPE_IF(...)
#endif

// Thrust specialises std::iterator_traits, and libcu++ reads its own.
namespace std {
template <class Iterator>
struct iterator_traits : cuda::std::iterator_traits<Iterator> {};
}  // namespace std

THRUST_NAMESPACE_BEGIN
template <class Element, class Tag, class Reference, class Derived>
class pointer;
THRUST_NAMESPACE_END

#ifdef _CCCL_BEGIN_NAMESPACE_CUDA_STD
_CCCL_BEGIN_NAMESPACE_CUDA_STD
#else
_LIBCUDACXX_BEGIN_NAMESPACE_STD
#endif
template <class Element, class Tag, class Reference, class Derived>
struct iterator_traits<THRUST_NS_QUALIFIER::pointer<Element, Tag, Reference, Derived>>
    : ::std::iterator_traits<THRUST_NS_QUALIFIER::pointer<Element, Tag, Reference, Derived>> {};
#ifdef _CCCL_END_NAMESPACE_CUDA_STD
_CCCL_END_NAMESPACE_CUDA_STD
#else
_LIBCUDACXX_END_NAMESPACE_STD
#endif
