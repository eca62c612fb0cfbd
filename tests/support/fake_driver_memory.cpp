// The fake driver's memory: on the host's heap, with every range checked.
#include "tests/support/fake_driver_state.hpp"

namespace lode::test {

using State = FakeDriver::State;

bool State::holds(CUdeviceptr address, std::size_t size) const {
    const auto within = [&](CUdeviceptr start, std::size_t room) {
        return address >= start && address - start <= room && size <= room - (address - start);
    };
    for (const auto& [start, allocation] : memory) {
        if (within(start, allocation.size)) return true;
    }
    for (const auto& [handle, library] : libraries) {
        for (const auto& [name, bytes] : library->globals) {
            if (within(reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.size())) return true;
        }
    }
    return false;
}

CUresult State::copy(void* to, const void* from, std::size_t size) const {
    std::memcpy(to, from, size);
    return CUDA_SUCCESS;
}

CUresult State::cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    if (const CUresult bad = check_capture(); bad != CUDA_SUCCESS) return bad;
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    cuMemGetInfo(&free_bytes, &total);
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > free_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    Allocation made{current()->ordinal, std::make_unique<std::byte[]>(bytes), bytes};
    *address = reinterpret_cast<CUdeviceptr>(made.bytes.get());
    memory.emplace(*address, std::move(made));
    return CUDA_SUCCESS;
}

CUresult State::cuMemFree(CUdeviceptr address) {
    if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult bad = check_capture(); bad != CUDA_SUCCESS) return bad;
    return memory.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult State::cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    auto made = std::make_unique<std::byte[]>(bytes);
    *address = made.get();
    pinned.emplace(*address, std::move(made));
    return CUDA_SUCCESS;
}

CUresult State::cuMemFreeHost(void* address) {
    return pinned.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult State::cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    const int ordinal = current()->ordinal;
    *total_bytes = options.devices.at(static_cast<std::size_t>(ordinal)).memory_bytes;
    *free_bytes = *total_bytes;
    for (const auto& [address, allocation] : memory) {
        if (allocation.ordinal == ordinal) *free_bytes -= allocation.size;
    }
    return CUDA_SUCCESS;
}

CUresult State::cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    if (!holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(reinterpret_cast<void*>(to), from, bytes);
}

CUresult State::cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    if (!holds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(to, reinterpret_cast<const void*>(from), bytes);
}

CUresult State::cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    if (!holds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return cuMemcpyHtoD(to, reinterpret_cast<const void*>(from), bytes);
}

CUresult State::cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                             CUcontext from_context, std::size_t bytes) {
    const auto in = [&](CUdeviceptr address, CUcontext context) {
        const auto found = memory.find(address);
        const auto* owner = context_of(context);
        return found != memory.end() && owner != nullptr && found->second.ordinal == owner->ordinal;
    };
    if (!in(to, to_context) || !in(from, from_context)) return CUDA_ERROR_INVALID_VALUE;
    return cuMemcpyDtoD(to, from, bytes);
}

CUresult State::cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                                  CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : cuMemcpyHtoD(to, from, bytes);
}

CUresult State::cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : cuMemcpyDtoH(to, from, bytes);
}

CUresult State::cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                  CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : cuMemcpyDtoD(to, from, bytes);
}

CUresult State::cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                  CUcontext from_context, std::size_t bytes, CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : cuMemcpyPeer(to, to_context, from, from_context, bytes);
}

CUresult State::cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
    const CUresult bad = check_current();
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuMemsetD16(CUdeviceptr to, unsigned short value, std::size_t count) {
    const CUresult bad = check_current();
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) {
    const CUresult bad = check_current();
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                                 CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                                 CUstream stream) {
    const CUresult bad = check_stream(stream);
    return bad != CUDA_SUCCESS ? bad : fill(to, value, count);
}

CUresult State::cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                       void* address, const cuuint64_t* extents, const cuuint64_t*,
                                       const cuuint32_t* box, const cuuint32_t*,
                                       CUtensorMapInterleave, CUtensorMapSwizzle,
                                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    constexpr std::uintptr_t alignment = 16;
    if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0 || rank == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *map = {};
    map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
    map->opaque[1] = type;
    map->opaque[2] = extents[0];
    map->opaque[3] = box[0];
    return CUDA_SUCCESS;
}

}  // namespace lode::test
