// Allocation, pointers, streams and events that have no form for the per-thread stream.
#include "emulator/toolkit/cudart/arrays.hpp"

#include <algorithm>
#include <iterator>

using namespace lode::emulator::cudart;

LODE_RUNTIME cudaMalloc(void** devPtr, size_t size) {
    return run([&]() -> CUresult {
        if (devPtr == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *devPtr = nullptr;
        // The runtime API allows an empty allocation, the driver doesn't.
        return size == 0 ? CUDA_SUCCESS : cuMemAlloc(as<CUdeviceptr*>(devPtr), size);
    });
}

LODE_RUNTIME cudaFree(void* devPtr) {
    return run([&] { return devPtr == nullptr ? CUDA_SUCCESS : cuMemFree(address(devPtr)); });
}

LODE_RUNTIME cudaMallocHost(void** ptr, size_t size) {
    return run([&]() -> CUresult {
        if (ptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *ptr = nullptr;
        return size == 0 ? CUDA_SUCCESS : cuMemHostAlloc(ptr, size, CU_MEMHOSTALLOC_PORTABLE);
    });
}

LODE_RUNTIME cudaFreeHost(void* ptr) {
    return run([&] { return ptr == nullptr ? CUDA_SUCCESS : cuMemFreeHost(ptr); });
}

LODE_RUNTIME cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
    return run([&]() -> CUresult {
        if (devPtr == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *devPtr = nullptr;
        if (width == 0 || height == 0) {
            *pitch = 0;
            return CUDA_SUCCESS;
        }
        constexpr unsigned element = 4;  // The pitch is the same for all sizes.
        return cuMemAllocPitch(as<CUdeviceptr*>(devPtr), pitch, width, height, element);
    });
}

LODE_RUNTIME cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
    if (pitchedDevPtr == nullptr) return remember(cudaErrorInvalidValue);
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return cudaMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width,
                           extent.height * extent.depth);
}

LODE_RUNTIME cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
    return run([&]() -> CUresult {
        if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
        cudaPointerAttributes found{};
        found.device = cudaInvalidDeviceId;
        unsigned type = 0;
        unsigned managed = 0;
        CUdeviceptr on_device = 0;
        void* on_host = nullptr;
        int device = 0;
        CUpointer_attribute which[] = {
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
        void* values[] = {&type, &managed, &on_device, &on_host, &device};
        constexpr unsigned count = std::size(which);
        const CUresult state = cuPointerGetAttributes(count, which, values, address(ptr));
        if (state != CUDA_SUCCESS) return state;
        if (type == 0) {  // Memory that the driver doesn't know.
            found.hostPointer = const_cast<void*>(ptr);
            to_program(attributes, found);
            return CUDA_SUCCESS;
        }
        found.type = managed != 0                 ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeDevice;
        found.device = device;
        found.devicePointer = reinterpret_cast<void*>(on_device);
        found.hostPointer = on_host;
        to_program(attributes, found);
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                 size_t count, cudaStream_t stream) {
    return run([&]() -> CUresult {
        CUcontext to = nullptr;
        CUcontext from = nullptr;
        CUresult state = primary_context(dstDevice, to);
        if (state == CUDA_SUCCESS) state = primary_context(srcDevice, from);
        if (state != CUDA_SUCCESS) return state;
        return cuMemcpyPeerAsync(address(dst), to, address(src), from, count, stream);
    });
}

LODE_RUNTIME cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                            size_t count) {
    const cudaError_t state = cudaMemcpyPeerAsync(dst, dstDevice, src, srcDevice, count, nullptr);
    return state == cudaSuccess ? forward(cuStreamSynchronize, cudaStream_t{}) : state;
}

LODE_RUNTIME cudaStreamCreate(cudaStream_t* pStream) {
    return forward(cuStreamCreate, pStream, CU_STREAM_DEFAULT);
}

LODE_RUNTIME cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned flags) {
    return forward(cuStreamCreate, pStream, flags);
}

LODE_RUNTIME cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned flags, int priority) {
    return forward(cuStreamCreateWithPriority, pStream, flags, priority);
}

LODE_RUNTIME cudaEventCreate(cudaEvent_t* event) {
    return forward(cuEventCreate, event, CU_EVENT_DEFAULT);
}

LODE_RUNTIME cudaDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements,
                                                  const cudaChannelFormatDesc* fmtDesc,
                                                  int device) {
    return run([&]() -> cudaError_t {
        if (fmtDesc == nullptr) return cudaErrorInvalidValue;
        const auto format = format_of(*fmtDesc);
        if (!format) return cudaErrorInvalidChannelDescriptor;
        return error_of(cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format->format,
                                                           format->channels, device));
    });
}
