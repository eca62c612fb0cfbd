// cuMemcpy…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/images/arrays.hpp"
#include "emulator/driver/memory/copies.hpp"

namespace lode::emulator::driver {
namespace {

CUresult linear(const char* symbol, CUstream stream, DefaultStream null_means, Side to, Side from,
                std::size_t bytes, Waits waits) {
    return enter_stream(symbol, stream, null_means,
                        [&](const StreamUse& use) { return copy(use, to, from, bytes, waits); });
}

CUresult array_side(const ArrayBox& box, Side& side) {
    ImageLevel level;
    side = Side{nullptr, 0, 0, CU_MEMORYTYPE_DEVICE};
    const CUresult state = locate(box, level, side.at);
    side.pitch = level.pitch;
    side.slice = level.slice;
    return state;
}

/// Where one side of a 2D or 3D copy begins.
struct Corner {
    std::size_t x = 0, y = 0, z = 0;  ///< x in bytes.
    std::size_t pitch = 0, rows = 0;  ///< For memory; an array knows its own.
};

/// One side of a 2D or 3D copy; `box` has the sizes already.
template <class Host>
CUresult side_of(CUmemorytype type, Host* host, CUdeviceptr device, CUarray array,
                 const Corner& corner, const BoxCopy& box, Side& side) {
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
            return array_side(
                {array, corner.x, corner.y, corner.z, box.width, box.height, box.depth}, side);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (side.at == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // A single row needs no pitch; a pitch of 0 means packed rows.
    const std::size_t pitch = corner.pitch == 0 ? box.width : corner.pitch;
    const std::size_t rows = corner.rows == 0 ? box.height : corner.rows;
    if (!(CheckedSize(corner.x) + box.width).at_most(pitch)) return CUDA_ERROR_INVALID_VALUE;
    side.pitch = pitch;
    const CheckedSize slice = CheckedSize(pitch) * rows;
    const CheckedSize first =
        CheckedSize(corner.z) * slice + CheckedSize(corner.y) * pitch + corner.x;
    const CheckedSize address = first + reinterpret_cast<std::uintptr_t>(side.at);
    if (!address.valid() || !slice.valid()) return CUDA_ERROR_INVALID_VALUE;
    side.slice = slice.value();
    side.at = reinterpret_cast<std::byte*>(address.value());
    return CUDA_SUCCESS;
}

CUresult box_of(const CUDA_MEMCPY2D& c, BoxCopy& box) {
    box.width = c.WidthInBytes;
    box.height = c.Height;
    if (const CUresult state = side_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray,
                                       {c.srcXInBytes, c.srcY, 0, c.srcPitch, 0}, box, box.from);
        state != CUDA_SUCCESS)
        return state;
    return side_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray,
                   {c.dstXInBytes, c.dstY, 0, c.dstPitch, 0}, box, box.to);
}

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
template <class Descriptor>
CUresult box_of_3d(const Descriptor& c, BoxCopy& box) {
    box.width = c.WidthInBytes;
    box.height = c.Height;
    box.depth = c.Depth;
    if (c.srcLOD != 0 || c.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult state =
            side_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray,
                    {c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight}, box, box.from);
        state != CUDA_SUCCESS)
        return state;
    return side_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray,
                   {c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight}, box, box.to);
}

/// A linear side: memory, or a place in an array of one row, or in the rows of a larger one.
struct Linear {
    CUarray array = nullptr;
    std::size_t offset = 0;
    Side memory;
};

CUresult linear_side(const Linear& given, std::size_t bytes, Side& side) {
    side = given.memory;
    if (given.array == nullptr) return side.at == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    const auto array = driver().arrays.find(given.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const ImageLevel& level = array->level();
    if (!(CheckedSize(given.offset) + bytes).at_most(level.slice)) return CUDA_ERROR_INVALID_VALUE;
    side = device_side(level.address + given.offset);
    return CUDA_SUCCESS;
}

CUresult no_array(const char* symbol) {
    return enter(symbol, [] { return CUDA_ERROR_INVALID_HANDLE; });
}

CUresult array_copy(const char* symbol, CUstream stream, DefaultStream null_means, const Linear& to,
                    const Linear& from, std::size_t bytes, Waits waits) {
    return enter_stream(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        Side target;
        Side origin;
        if (const CUresult state = linear_side(to, bytes, target); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = linear_side(from, bytes, origin); state != CUDA_SUCCESS)
            return state;
        return copy(use, target, origin, bytes, waits);
    });
}

CUresult copy_2d(const char* symbol, const CUDA_MEMCPY2D* descriptor, CUstream stream,
                 DefaultStream null_means, Waits waits) {
    return enter_stream(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (descriptor->WidthInBytes == 0 || descriptor->Height == 0) return CUDA_SUCCESS;
        BoxCopy box;
        const CUresult state = box_of(*descriptor, box);
        return state == CUDA_SUCCESS ? copy(use, box, waits) : state;
    });
}

template <class Descriptor>
CUresult copy_3d(const char* symbol, const Descriptor* descriptor, CUstream stream,
                 DefaultStream null_means, Waits waits) {
    return enter_stream(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (descriptor->WidthInBytes == 0 || descriptor->Height == 0 || descriptor->Depth == 0)
            return CUDA_SUCCESS;
        BoxCopy box;
        const CUresult state = box_of_3d(*descriptor, box);
        return state == CUDA_SUCCESS ? copy(use, box, waits) : state;
    });
}

CUresult peer(const char* symbol, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
              CUcontext from_context, std::size_t bytes, CUstream stream, DefaultStream null_means,
              Waits waits) {
    return enter_stream(symbol, stream, null_means, [&](const StreamUse& use) -> CUresult {
        // The addresses identify the memory; a null context means the current one.
        for (CUcontext context : {to_context, from_context}) {
            if (context != nullptr && find_context(context).context == nullptr)
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

LODE_ENTRY_TWINS(cuMemcpyAtoA_v2, _ptds,
                 (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                  size_t ByteCount),
                 {
                     if (dstArray == nullptr || srcArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, nullptr, default_stream, {dstArray, dstOffset, {}},
                                       {srcArray, srcOffset, {}}, ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyAtoD_v2, _ptds,
                 (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), {
                     if (srcArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, nullptr, default_stream,
                                       {nullptr, 0, device_side(dstDevice)},
                                       {srcArray, srcOffset, {}}, ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyDtoA_v2, _ptds,
                 (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), {
                     if (dstArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, nullptr, default_stream, {dstArray, dstOffset, {}},
                                       {nullptr, 0, device_side(srcDevice)}, ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyAtoH_v2, _ptds,
                 (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), {
                     if (srcArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, nullptr, default_stream,
                                       {nullptr, 0, host_side(dstHost)}, {srcArray, srcOffset, {}},
                                       ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(cuMemcpyHtoA_v2, _ptds,
                 (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount), {
                     if (dstArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, nullptr, default_stream, {dstArray, dstOffset, {}},
                                       {nullptr, 0, host_side(srcHost)}, ByteCount, Waits::yes);
                 })

LODE_ENTRY_TWINS(
    cuMemcpyAtoHAsync_v2, _ptsz,
    (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream), {
        if (srcArray == nullptr) return no_array(__func__);
        return array_copy(__func__, hStream, default_stream, {nullptr, 0, host_side(dstHost)},
                          {srcArray, srcOffset, {}}, ByteCount, Waits::no);
    })

LODE_ENTRY_TWINS(cuMemcpyHtoAAsync_v2, _ptsz,
                 (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                  CUstream hStream),
                 {
                     if (dstArray == nullptr) return no_array(__func__);
                     return array_copy(__func__, hStream, default_stream, {dstArray, dstOffset, {}},
                                       {nullptr, 0, host_side(srcHost)}, ByteCount, Waits::no);
                 })

}  // namespace lode::emulator::driver
