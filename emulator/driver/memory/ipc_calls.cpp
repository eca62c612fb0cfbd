// cuIpc… and cuMemPool… with handles of other processes.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/host_value.hpp"
#include "emulator/driver/stream/shared_event.hpp"

#include <memory>
#include <utility>

namespace lode::emulator::driver {
namespace {

CUresult open_memory(const char* symbol, CUdeviceptr* out, const CUipcMemHandle& handle,
                     unsigned flags) {
    return enter_context(symbol, [&](Context& context) -> CUresult {
        if (out == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
            return CUDA_ERROR_INVALID_VALUE;
        std::uint64_t address = 0;
        const CUresult opened = driver().imports.open(load<IpcName>(&handle), context, address);
        if (opened == CUDA_SUCCESS) *out = address;
        return opened;
    });
}

}  // namespace

LODE_ENTRY cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (pHandle == nullptr) return CUDA_ERROR_INVALID_VALUE;
        IpcName name;
        const CUresult named = driver().allocations.name(dptr, IpcKind::memory, name);
        return named == CUDA_SUCCESS ? store(pHandle, name) : named;
    });
}

LODE_ENTRY cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
    return open_memory(__func__, pdptr, handle, Flags);
}

LODE_ENTRY cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
    return open_memory(__func__, pdptr, handle, Flags);
}

LODE_ENTRY cuIpcCloseMemHandle(CUdeviceptr dptr) {
    return enter_release(__func__, [&]() -> CUresult {
        Context* context = nullptr;
        if (const CUresult state = current::open_context(context); state != CUDA_SUCCESS)
            return state;
        // Running work may use the memory.
        if (const auto import = driver().imports.find(dptr)) import->context->drain();
        const bool closed = driver().imports.remove(dptr, {Imports::Origin::ipc});
        return closed ? context->error() : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
    return enter(__func__, [&]() -> CUresult {
        const auto found = driver().events.find(event);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (pHandle == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (found->shared() == nullptr || found->shared()->name() == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        return store(pHandle, *found->shared()->name());
    });
}

LODE_ENTRY cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (phEvent == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto name = load<IpcName>(&handle);
        if (name.kind == IpcKind::event && is_own(name)) return CUDA_ERROR_INVALID_CONTEXT;
        auto shared = SharedEvent::open(name);
        if (shared == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *phEvent = driver().events.add(std::make_shared<Event>(
            context.shared_from_this(), CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING,
            std::move(shared)));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags) {
    return enter(__func__, [&]() -> CUresult {
        const auto found = driver().pools.find(pool);
        if (found == nullptr || handle_out == nullptr || flags != 0 ||
            handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !found->is_shared() ||
            found->imported)
            return CUDA_ERROR_INVALID_VALUE;
        const int descriptor = found->file.duplicate();
        return descriptor < 0 ? CUDA_ERROR_OPERATING_SYSTEM : store(handle_out, descriptor);
    });
}

LODE_ENTRY cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (pool_out == nullptr || flags != 0 ||
            handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
            return CUDA_ERROR_INVALID_VALUE;
        const auto descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
        MemoryFile file = MemoryFile::import(descriptor, pool_file_label);
        const auto token = file.view<IpcToken>();
        if (token == nullptr || *token == IpcToken{}) return CUDA_ERROR_INVALID_VALUE;
        auto pool = std::make_shared<MemoryPool>(context.device().ordinal);
        pool->token = *token;
        pool->imported = true;
        *pool_out = driver().pools.add(std::move(pool));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
    return enter(__func__, [&]() -> CUresult {
        if (shareData_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        IpcName name;
        const CUresult named = driver().allocations.name(ptr, IpcKind::pool_memory, name);
        return named == CUDA_SUCCESS ? store(shareData_out, name) : named;
    });
}

LODE_ENTRY cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                  CUmemPoolPtrExportData* shareData) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto found = driver().pools.find(pool);
        if (ptr_out == nullptr || shareData == nullptr || found == nullptr || !found->imported)
            return CUDA_ERROR_INVALID_VALUE;
        std::uint64_t address = 0;
        const CUresult opened = driver().imports.open_from_pool(
            load<IpcName>(shareData), found->token, context, pool, address);
        if (opened == CUDA_SUCCESS) *ptr_out = address;
        return opened;
    });
}

}  // namespace lode::emulator::driver
