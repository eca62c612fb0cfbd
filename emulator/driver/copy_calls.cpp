// cuMemcpy…
#include "emulator/driver/copies.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

namespace lode::emulator::driver {
namespace {

/// enter() with a stream: body(const StreamUse&). A default stream belongs to the current context.
template <class Body>
CUresult enter_copy(const char* symbol, CUstream handle, DefaultStream null_means,
                    Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(handle, null_means, use); state != CUDA_SUCCESS)
            return state;
        return body(use);
    });
}

CUresult linear(const char* symbol, CUstream stream, DefaultStream null_means, Side to, Side from,
                std::size_t bytes, Waits waits) {
    return enter_copy(symbol, stream, null_means,
                      [&](const StreamUse& use) { return copy(use, to, from, bytes, waits); });
}

/// One side of a 2D or 3D copy; NOT_SUPPORTED for arrays.
template <class Host>
CUresult side_of(CUmemorytype type, Host* host, CUdeviceptr device, std::size_t x, std::size_t y,
                 std::size_t z, std::size_t pitch, std::size_t rows, Side& side) {
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            side = host_side(host);
            break;
        case CU_MEMORYTYPE_DEVICE:
            side = device_side(device);
            break;
        case CU_MEMORYTYPE_UNIFIED:
            side = unified_side(device);
            break;
        case CU_MEMORYTYPE_ARRAY:
            return gate::refuse("copies from or to CUDA arrays");
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (side.at == nullptr) return CUDA_ERROR_INVALID_VALUE;
    side.pitch = pitch;
    const CheckedSize slice = CheckedSize(pitch) * rows;
    const CheckedSize first = CheckedSize(z) * slice + CheckedSize(y) * pitch + x;
    const CheckedSize address = first + reinterpret_cast<std::uintptr_t>(side.at);
    if (!address.valid() || !slice.valid()) return CUDA_ERROR_INVALID_VALUE;
    side.slice = slice.value();
    side.at = reinterpret_cast<std::byte*>(address.value());
    return CUDA_SUCCESS;
}

CUresult box_of(const CUDA_MEMCPY2D& c, BoxCopy& box) {
    box.width = c.WidthInBytes;
    box.height = c.Height;
    // A single row needs no pitch; a pitch of 0 means packed rows.
    const std::size_t from_pitch = c.srcPitch == 0 ? c.WidthInBytes : c.srcPitch;
    const std::size_t to_pitch = c.dstPitch == 0 ? c.WidthInBytes : c.dstPitch;
    if (!(CheckedSize(c.srcXInBytes) + c.WidthInBytes).at_most(from_pitch) ||
        !(CheckedSize(c.dstXInBytes) + c.WidthInBytes).at_most(to_pitch))
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult state = side_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes,
                                       c.srcY, 0, from_pitch, c.Height, box.from);
        state != CUDA_SUCCESS)
        return state;
    return side_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, 0, to_pitch,
                   c.Height, box.to);
}

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
template <class Descriptor>
CUresult box_of_3d(const Descriptor& c, BoxCopy& box) {
    box.width = c.WidthInBytes;
    box.height = c.Height;
    box.depth = c.Depth;
    const std::size_t from_pitch = c.srcPitch == 0 ? c.WidthInBytes : c.srcPitch;
    const std::size_t to_pitch = c.dstPitch == 0 ? c.WidthInBytes : c.dstPitch;
    const std::size_t from_rows = c.srcHeight == 0 ? c.Height : c.srcHeight;
    const std::size_t to_rows = c.dstHeight == 0 ? c.Height : c.dstHeight;
    if (!(CheckedSize(c.srcXInBytes) + c.WidthInBytes).at_most(from_pitch) ||
        !(CheckedSize(c.dstXInBytes) + c.WidthInBytes).at_most(to_pitch) || c.srcLOD != 0 ||
        c.dstLOD != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult state = side_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes,
                                       c.srcY, c.srcZ, from_pitch, from_rows, box.from);
        state != CUDA_SUCCESS)
        return state;
    return side_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstZ, to_pitch,
                   to_rows, box.to);
}

CUresult copy_2d(const char* symbol, const CUDA_MEMCPY2D* descriptor, CUstream stream,
                 DefaultStream null_means, Waits waits) {
    return enter_copy(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        BoxCopy box;
        const CUresult state = box_of(*descriptor, box);
        return state == CUDA_SUCCESS ? copy(use, box, waits) : state;
    });
}

template <class Descriptor>
CUresult copy_3d(const char* symbol, const Descriptor* descriptor, CUstream stream,
                 DefaultStream null_means, Waits waits) {
    return enter_copy(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        BoxCopy box;
        const CUresult state = box_of_3d(*descriptor, box);
        return state == CUDA_SUCCESS ? copy(use, box, waits) : state;
    });
}

CUresult peer(const char* symbol, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
              CUcontext from_context, std::size_t bytes, CUstream stream, DefaultStream null_means,
              Waits waits) {
    return enter_copy(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        // The addresses identify the memory; a null context means the current one.
        for (CUcontext context : {to_context, from_context}) {
            if (context != nullptr && driver().contexts.find(context) == nullptr)
                return CUDA_ERROR_INVALID_CONTEXT;
        }
        return copy(use, device_side(to), device_side(from), bytes, waits);
    });
}

}  // namespace

CUresult box_of(const CUDA_MEMCPY3D& parameters, BoxCopy& box) {
    return box_of_3d(parameters, box);
}

LODE_ENTRY_TWINS(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), {
    return linear(__func__, nullptr, default_stream, unified_side(dst), unified_side(src),
                  ByteCount, Waits::yes);
})

LODE_ENTRY_TWINS(cuMemcpyAsync, _ptsz,
                 (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), {
                     return linear(__func__, hStream, default_stream, unified_side(dst),
                                   unified_side(src), ByteCount, Waits::no);
                 })

LODE_ENTRY_TWINS(cuMemcpyHtoD_v2, _ptds,
                 (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount), {
                     return linear(__func__, nullptr, default_stream, device_side(dstDevice),
                                   host_side(srcHost), ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyDtoH_v2, _ptds, (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount), {
    return linear(__func__, nullptr, default_stream, host_side(dstHost), device_side(srcDevice),
                  ByteCount, Waits::yes);
})

LODE_ENTRY_TWINS(cuMemcpyDtoD_v2, _ptds,
                 (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), {
                     return linear(__func__, nullptr, default_stream, device_side(dstDevice),
                                   device_side(srcDevice), ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyHtoDAsync_v2, _ptsz,
                 (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream), {
                     return linear(__func__, hStream, default_stream, device_side(dstDevice),
                                   host_side(srcHost), ByteCount, Waits::no);
                 })

LODE_ENTRY_TWINS(cuMemcpyDtoHAsync_v2, _ptsz,
                 (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), {
                     return linear(__func__, hStream, default_stream, host_side(dstHost),
                                   device_side(srcDevice), ByteCount, Waits::no);
                 })

LODE_ENTRY_TWINS(cuMemcpyDtoDAsync_v2, _ptsz,
                 (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
                 {
                     return linear(__func__, hStream, default_stream, device_side(dstDevice),
                                   device_side(srcDevice), ByteCount, Waits::no);
                 })

LODE_ENTRY_TWINS(cuMemcpyPeer, _ptds,
                 (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                  CUcontext srcContext, size_t ByteCount),
                 {
                     return peer(__func__, dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                                 nullptr, default_stream, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyPeerAsync, _ptsz,
                 (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                  CUcontext srcContext, size_t ByteCount, CUstream hStream),
                 {
                     return peer(__func__, dstDevice, dstContext, srcDevice, srcContext, ByteCount,
                                 hStream, default_stream, Waits::no);
                 })

LODE_ENTRY_TWINS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* pCopy),
                 { return copy_2d(__func__, pCopy, nullptr, default_stream, Waits::yes); })

LODE_ENTRY_TWINS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* pCopy),
                 { return copy_2d(__func__, pCopy, nullptr, default_stream, Waits::yes); })

LODE_ENTRY_TWINS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* pCopy, CUstream hStream),
                 { return copy_2d(__func__, pCopy, hStream, default_stream, Waits::no); })

LODE_ENTRY_TWINS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* pCopy),
                 { return copy_3d(__func__, pCopy, nullptr, default_stream, Waits::yes); })

LODE_ENTRY_TWINS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* pCopy, CUstream hStream),
                 { return copy_3d(__func__, pCopy, hStream, default_stream, Waits::no); })

LODE_ENTRY_TWINS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* pCopy),
                 { return copy_3d(__func__, pCopy, nullptr, default_stream, Waits::yes); })

LODE_ENTRY_TWINS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream),
                 { return copy_3d(__func__, pCopy, hStream, default_stream, Waits::no); })

}  // namespace lode::emulator::driver
