// cuPointer…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/host_value.hpp"

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
            // Mapped memory and that of pools belong to no context.
            return store(out, info.kind == MemoryKind::mapped || info.pool != nullptr
                                  ? nullptr
                                  : Handles<Context, CUcontext>::native_of(*info.context));
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
            return store(
                out, static_cast<unsigned>(info.kind == MemoryKind::device &&
                                           info.pool == nullptr && driver().memory.file() >= 0));
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return store(out, 0U);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return store(out, info.address);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return store(out, info.bytes);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return store(out, 1U);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return store(out, static_cast<unsigned long long>(info.handle_types));
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

}  // namespace lode::emulator::driver
