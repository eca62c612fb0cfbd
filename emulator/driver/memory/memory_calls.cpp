// cuMemAlloc… and similar calls: allocating and freeing memory of every kind.
#include "base/align_up.hpp"
#include "base/os/memory.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/graph/graph_works.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <string>

namespace lode::emulator::driver {
namespace {

constexpr std::size_t pitch_alignment = 512;

CUresult allocate(Context& context, CUdeviceptr* out, std::size_t bytes, MemoryKind kind,
                  const char* label, unsigned flags = 0, CUmemoryPool pool = nullptr) {
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto address = driver().allocations.allocate(context, bytes, kind, label, flags, pool);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = *address;
    return CUDA_SUCCESS;
}

CUresult allocate_host(Context& context, void** out, std::size_t bytes, unsigned flags,
                       const char* label) {
    constexpr unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (out == nullptr || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr address = 0;
    const CUresult result =
        bytes == 0 ? CUDA_SUCCESS
                   : allocate(context, &address, bytes, MemoryKind::pinned, label, flags);
    if (result == CUDA_SUCCESS) *out = reinterpret_cast<void*>(address);
    return result;
}

/// enter_release() with the current context, whose error is returned after the body has run.
template <class Body>
CUresult release_in_context(const char* symbol, Body&& body) noexcept {
    return enter_release(symbol, [&]() -> CUresult {
        Context* context = nullptr;
        if (const CUresult state = current::open_context(context); state != CUDA_SUCCESS)
            return state;
        const CUresult result = body(*context);
        return context->error() != CUDA_SUCCESS ? context->error() : result;
    });
}

/// Running work may use the memory, so a free waits for its context.
void wait_for_users(CUdeviceptr address) {
    const auto info = driver().allocations.find(address);
    if (info && info->context != nullptr) info->context->drain();
}

/// Finishes a free in the order of the stream, or after all of its work if it is being closed.
template <class Finish>
void in_order(const StreamUse& use, Finish finish) {
    try {
        use.context->submit(*use.stream, finish);
    } catch (const StreamClosed&) {
        use.stream->drain();
        finish();
    }
}

/// Tells the check of order that a stream allocates or frees a whole allocation.
void note_whole(ByteRange range, const char* name, const char* verb) {
    StreamOrder* const order = driver().order.get();
    if (order == nullptr) return;
    TouchedBytes touched;
    for (const Touch touch : {Touch::read, Touch::write})
        touched[static_cast<std::size_t>(touch)].add(range);
    order->note(std::move(touched), {name, verb, false});
}

CUresult allocate_async(const StreamUse& use, CUdeviceptr* out, std::size_t bytes,
                        CUmemoryPool handle, const char* label) {
    const auto pool = driver().pools.find(handle);
    if (pool == nullptr || pool->imported || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (bytes == 0) {  // As a GPU's driver does, also in a capture, which gets no node.
        *out = 0;
        return CUDA_SUCCESS;
    }
    if (pool->kind == MemoryKind::device) {
        if (pool->device != use.context->device().ordinal) return CUDA_ERROR_INVALID_VALUE;
        if (const auto captured = capture_alloc(use, out, bytes)) return *captured;
    } else if (const auto refused = driver().graph_tables.captures.refuse_by_name(
                   use, "allocations of managed or host memory in a capture")) {
        return *refused;
    }
    const CUresult state = allocate(*use.context, out, bytes, pool->kind, label, 0, handle);
    if (state == CUDA_SUCCESS && pool->kind == MemoryKind::managed)
        driver().managed_hints.forget(*out, bytes);
    if (state == CUDA_SUCCESS && driver().order != nullptr) {
        use.submit([range = ByteRange{*out, *out + bytes}, label] {
            note_whole(range, label, "allocates");
        });
    }
    return state;
}

}  // namespace

LODE_ENTRY cuMemGetInfo_v2(size_t* free, size_t* total) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const std::size_t all = context.device().total_memory();
        if (total != nullptr) *total = all;
        if (free != nullptr) *free = all - driver().allocations.used(context.device().ordinal);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
    return enter_context(__func__, [&](Context& context) {
        return allocate(context, dptr, bytesize, MemoryKind::device, "cuMemAlloc");
    });
}

LODE_ENTRY cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                              unsigned int ElementSizeBytes) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const bool known_size =
            ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
        if (pPitch == nullptr || WidthInBytes == 0 || Height == 0 || !known_size)
            return CUDA_ERROR_INVALID_VALUE;
        if (WidthInBytes > context.device().total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
        const std::size_t pitch = align_up(WidthInBytes, pitch_alignment);
        if (Height > context.device().total_memory() / pitch) return CUDA_ERROR_OUT_OF_MEMORY;
        const CUresult result =
            allocate(context, dptr, pitch * Height, MemoryKind::device, "cuMemAllocPitch");
        if (result == CUDA_SUCCESS) *pPitch = pitch;
        return result;
    });
}

LODE_ENTRY cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
            return CUDA_ERROR_INVALID_VALUE;
        const CUresult result =
            allocate(context, dptr, bytesize, MemoryKind::managed, "cuMemAllocManaged", flags);
        if (result == CUDA_SUCCESS) driver().managed_hints.forget(*dptr, bytesize);
        return result;
    });
}

LODE_ENTRY cuMemFree_v2(CUdeviceptr dptr) {
    if (dptr == 0) return enter_release(__func__, [] { return CUDA_SUCCESS; });
    return release_in_context(__func__, [&](Context&) -> CUresult {
        wait_for_users(dptr);
        if (driver().imports.remove(dptr, {Imports::Origin::pool, Imports::Origin::external}))
            return CUDA_SUCCESS;
        return driver().allocations.free(dptr, {MemoryKind::device, MemoryKind::managed});
    });
}

LODE_ENTRY cuMemAllocHost_v2(void** pp, size_t bytesize) {
    return enter_context(__func__, [&](Context& context) {
        return allocate_host(context, pp, bytesize, 0, "cuMemAllocHost");
    });
}

LODE_ENTRY cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
    return enter_context(__func__, [&](Context& context) {
        return allocate_host(context, pp, bytesize, Flags, "cuMemHostAlloc");
    });
}

LODE_ENTRY cuMemFreeHost(void* p) {
    return release_in_context(__func__, [&](Context&) -> CUresult {
        if (p == nullptr) return CUDA_SUCCESS;
        const auto address = reinterpret_cast<CUdeviceptr>(p);
        wait_for_users(address);
        return driver().allocations.free(address, {MemoryKind::pinned});
    });
}

LODE_ENTRY cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
        const auto address = reinterpret_cast<CUdeviceptr>(p);
        const auto info = driver().allocations.find(address);
        if (!info || (info->kind != MemoryKind::pinned && info->kind != MemoryKind::registered))
            return CUDA_ERROR_INVALID_VALUE;
        *pdptr = address;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemHostGetFlags(unsigned int* pFlags, void* p) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        const auto info = driver().allocations.find(reinterpret_cast<CUdeviceptr>(p));
        if (pFlags == nullptr || !info || info->kind != MemoryKind::pinned)
            return CUDA_ERROR_INVALID_VALUE;
        *pFlags = info->flags | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                   CU_MEMHOSTREGISTER_READ_ONLY;
        if ((Flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
        if (p == nullptr || bytesize == 0 || (Flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
        const bool writes = (Flags & CU_MEMHOSTREGISTER_READ_ONLY) == 0;
        if (!os::may_access(p, bytesize, writes)) return CUDA_ERROR_INVALID_VALUE;
        return driver().allocations.register_host(context, p, bytesize, Flags);
    });
}

LODE_ENTRY cuMemHostUnregister(void* p) {
    return release_in_context(__func__, [&](Context&) -> CUresult {
        if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
        wait_for_users(reinterpret_cast<CUdeviceptr>(p));
        return driver().allocations.unregister_host(p);
    });
}

LODE_ENTRY cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        const auto info = driver().allocations.find(dptr);
        if (!info) return CUDA_ERROR_NOT_FOUND;
        if (pbase != nullptr) *pbase = info->address;
        if (psize != nullptr) *psize = info->bytes;
        return CUDA_SUCCESS;
    });
}

// Stream-ordered memory. An address is valid immediately; the free happens in stream order.

LODE_ENTRY_TWINS(cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), {
    return enter_stream(__func__, hStream, default_stream, [&](const StreamUse& use) {
        return allocate_async(use, dptr, bytesize, use.context->device().pool.load(),
                              "cuMemAllocAsync");
    });
})

LODE_ENTRY_TWINS(cuMemAllocFromPoolAsync, _ptsz,
                 (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), {
                     return enter_stream(__func__, hStream, default_stream,
                                         [&](const StreamUse& use) {
                                             return allocate_async(use, dptr, bytesize, pool,
                                                                   "cuMemAllocFromPoolAsync");
                                         });
                 })

LODE_ENTRY_TWINS(cuMemFreeAsync, _ptsz, (CUdeviceptr dptr, CUstream hStream), {
    return enter_release(__func__, [&]() -> CUresult {
        if (dptr == 0) return CUDA_ERROR_INVALID_VALUE;
        StreamUse use;
        const CUresult state = resolve_stream(hStream, default_stream, use);
        if (use.context == nullptr) return state;
        if (const auto captured = capture_free(use, dptr)) return *captured;
        if (driver().imports.begin_free(dptr)) {
            in_order(use, [dptr] { driver().imports.finish_free(dptr); });
            return state;
        }
        std::uint64_t end = dptr;
        if (driver().order != nullptr) {
            if (const auto known = driver().memory.find(dptr)) end = known->end();
        }
        if (const CUresult wrong = driver().allocations.begin_free(dptr); wrong != CUDA_SUCCESS)
            return wrong;
        in_order(use, [dptr, end] {
            note_whole({dptr, end}, "cuMemFreeAsync", "frees");
            driver().allocations.finish_free(dptr);
        });
        return state;
    });
})

}  // namespace lode::emulator::driver
