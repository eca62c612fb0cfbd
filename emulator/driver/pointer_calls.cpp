// cuPointer…, and hints for managed memory.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/host_value.hpp"
#include "emulator/driver/streams.hpp"

#include <cstring>

namespace lode::emulator::driver {
namespace {

CUmemorytype type_of(const AllocationInfo& info) noexcept {
    const bool host = info.kind == MemoryKind::pinned || info.kind == MemoryKind::registered;
    return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUresult attribute(const AllocationInfo& info, CUdeviceptr pointer, CUpointer_attribute which,
                   void* out) {
    const bool managed = info.kind == MemoryKind::managed;
    const bool on_host = managed || type_of(info) == CU_MEMORYTYPE_HOST;
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return store(out, Handles<Context, CUcontext>::native_of(*info.context));
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return store(out, static_cast<unsigned>(type_of(info)));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return store(out, pointer);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return on_host ? store(out, reinterpret_cast<void*>(pointer))
                           : CUDA_ERROR_INVALID_VALUE;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return store(out, static_cast<unsigned long long>(info.serial));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return store(out, static_cast<unsigned>(info.sync_memops));
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return store(out, static_cast<unsigned>(managed));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return store(out, info.context->device().ordinal);
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return store(out, 0U);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return store(out, info.address);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return store(out, info.bytes);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return store(out, 1U);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return store(out, 0ULL);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return store(out, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return info.pool == nullptr ? CUDA_ERROR_INVALID_VALUE : store(out, info.pool);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

/// The size of an attribute's value, for zeroing values that a pointer doesn't have.
std::size_t size_of(CUpointer_attribute which) noexcept {
    switch (which) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return sizeof(unsigned);
        default:
            return sizeof(void*);
    }
}

/// Checks that the whole range is managed memory.
CUresult check_managed(CUdeviceptr pointer, std::size_t bytes) {
    const auto info = driver().allocations.find(pointer);
    const bool inside = info && info->kind == MemoryKind::managed && bytes > 0 &&
                        bytes <= info->address + info->bytes - pointer;
    return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Prefetching has no effect, as all memory is the host's; only the arguments are checked.
CUresult prefetch(const char* symbol, CUdeviceptr pointer, std::size_t bytes, CUstream stream,
                  DefaultStream null_means) {
    return enter(symbol, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(stream, null_means, use); state != CUDA_SUCCESS)
            return state;
        return check_managed(pointer, bytes);
    });
}

}  // namespace

LODE_ENTRY cuPointerGetAttribute(void* data, CUpointer_attribute which, CUdeviceptr ptr) {
    return enter(__func__, [&]() -> CUresult {
        const auto info = driver().allocations.find(ptr);
        if (data == nullptr || !info) return CUDA_ERROR_INVALID_VALUE;
        return attribute(*info, ptr, which, data);
    });
}

LODE_ENTRY cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                  void** data, CUdeviceptr ptr) {
    return enter(__func__, [&]() -> CUresult {
        if (numAttributes == 0 || attributes == nullptr || data == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        const auto info = driver().allocations.find(ptr);
        for (unsigned i = 0; i < numAttributes; ++i) {
            if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
            std::memset(data[i], 0, size_of(attributes[i]));
            if (!info && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
                store(data[i], int{CU_DEVICE_INVALID});
            if (info) attribute(*info, ptr, attributes[i], data[i]);
        }
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuPointerSetAttribute(const void* value, CUpointer_attribute which, CUdeviceptr ptr) {
    return enter(__func__, [&]() -> CUresult {
        if (value == nullptr || which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
            return CUDA_ERROR_INVALID_VALUE;
        const bool known = driver().allocations.set_sync_memops(ptr, load<unsigned>(value) != 0);
        return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise, CUdevice) {
    return enter_context(__func__, [&](Context&) { return check_managed(devPtr, count); });
}

LODE_ENTRY cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise, CUmemLocation) {
    return enter_context(__func__, [&](Context&) { return check_managed(devPtr, count); });
}

LODE_ENTRY_TWINS(cuMemPrefetchAsync, _ptsz,
                 (CUdeviceptr devPtr, size_t count, CUdevice, CUstream hStream),
                 { return prefetch(__func__, devPtr, count, hStream, default_stream); })

LODE_ENTRY_TWINS(cuMemPrefetchAsync_v2, _ptsz,
                 (CUdeviceptr devPtr, size_t count, CUmemLocation, unsigned int flags,
                  CUstream hStream),
                 {
                     if (flags != 0) count = 0;
                     return prefetch(__func__, devPtr, count, hStream, default_stream);
                 })

LODE_ENTRY_TWINS(cuStreamAttachMemAsync, _ptsz,
                 (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int), {
                     return prefetch(__func__, dptr, length == 0 ? 1 : length, hStream,
                                     default_stream);
                 })

}  // namespace lode::emulator::driver
