// Copies and fills. Compiled twice: see LODE_PER_THREAD_STREAM.
#include "emulator/toolkit/cudart/arrays.hpp"
#include "emulator/toolkit/cudart/binaries.hpp"

namespace {

using namespace lode::emulator::cudart;

/// A copy of rows between memory and arrays, as a copy of boxes.
cudaMemcpy3DParms rows_between(cudaPitchedPtr to, cudaPitchedPtr from, size_t width, size_t height,
                               cudaMemcpyKind kind) noexcept {
    cudaMemcpy3DParms copy{};
    copy.dstPtr = to;
    copy.srcPtr = from;
    copy.extent = {width, height, 1};
    copy.kind = kind;
    return copy;
}

cudaPitchedPtr memory_at(const void* pointer, size_t pitch, size_t height) noexcept {
    return {const_cast<void*>(pointer), pitch, pitch, height};
}

/// A copy's form and how to make it: at once, or on a stream.
cudaError_t copy_boxes(const cudaMemcpy3DParms& copy) noexcept {
    CUDA_MEMCPY3D native_form{};
    const cudaError_t wrong = native_copy(copy, native_form);
    return wrong != cudaSuccess ? wrong : error_of(cuMemcpy3D(&native_form));
}
cudaError_t copy_boxes(const cudaMemcpy3DParms& copy, cudaStream_t stream) noexcept {
    CUDA_MEMCPY3D native_form{};
    const cudaError_t wrong = native_copy(copy, native_form);
    return wrong != cudaSuccess ? wrong : error_of(cuMemcpy3DAsync(&native_form, stream));
}

/// Bytes of an array's row as elements; INVALID_VALUE if they aren't whole elements.
cudaError_t elements_of(cudaArray_const_t array, size_t bytes, size_t& elements) noexcept {
    std::size_t element = 1;
    const CUresult state = element_bytes(native(array), element);
    if (state != CUDA_SUCCESS) return error_of(state);
    if (element == 0 || bytes % element != 0) return cudaErrorInvalidValue;
    elements = bytes / element;
    return cudaSuccess;
}

/// Rows between memory and an array, whose offsets and widths count bytes.
cudaError_t array_rows(cudaArray_const_t array, size_t x, size_t y, const void* memory,
                       size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                       bool to_array, cudaMemcpy3DParms& copy) noexcept {
    size_t element_x = 0;
    size_t elements = 0;
    cudaError_t wrong = elements_of(array, x, element_x);
    if (wrong == cudaSuccess) wrong = elements_of(array, width, elements);
    if (wrong != cudaSuccess) return wrong;
    copy = cudaMemcpy3DParms{};
    (to_array ? copy.dstArray : copy.srcArray) = const_cast<cudaArray_t>(array);
    (to_array ? copy.dstPos : copy.srcPos) = {element_x, y, 0};
    (to_array ? copy.srcPtr : copy.dstPtr) = memory_at(memory, pitch, height);
    copy.extent = {elements, height, 1};
    copy.kind = kind;
    return cudaSuccess;
}

template <class... Stream>
cudaError_t copy_array_rows(cudaArray_const_t array, size_t x, size_t y, const void* memory,
                            size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                            bool to_array, Stream... stream) noexcept {
    return run([&]() -> cudaError_t {
        cudaMemcpy3DParms copy{};
        const cudaError_t wrong =
            array_rows(array, x, y, memory, pitch, width, height, kind, to_array, copy);
        return wrong != cudaSuccess ? wrong : copy_boxes(copy, stream...);
    });
}

cudaError_t native_peer_copy(const cudaMemcpy3DPeerParms& copy,
                             CUDA_MEMCPY3D_PEER& found) noexcept {
    cudaMemcpy3DParms plain{};
    plain.srcArray = copy.srcArray;
    plain.srcPos = copy.srcPos;
    plain.srcPtr = copy.srcPtr;
    plain.dstArray = copy.dstArray;
    plain.dstPos = copy.dstPos;
    plain.dstPtr = copy.dstPtr;
    plain.extent = copy.extent;
    plain.kind = cudaMemcpyDefault;
    CUDA_MEMCPY3D form{};
    if (const cudaError_t wrong = native_copy(plain, form); wrong != cudaSuccess) return wrong;
    found = CUDA_MEMCPY3D_PEER{};
    found.srcXInBytes = form.srcXInBytes;
    found.srcY = form.srcY;
    found.srcZ = form.srcZ;
    found.srcMemoryType = form.srcMemoryType;
    found.srcHost = form.srcHost;
    found.srcDevice = form.srcDevice;
    found.srcArray = form.srcArray;
    found.srcPitch = form.srcPitch;
    found.srcHeight = form.srcHeight;
    found.dstXInBytes = form.dstXInBytes;
    found.dstY = form.dstY;
    found.dstZ = form.dstZ;
    found.dstMemoryType = form.dstMemoryType;
    found.dstHost = form.dstHost;
    found.dstDevice = form.dstDevice;
    found.dstArray = form.dstArray;
    found.dstPitch = form.dstPitch;
    found.dstHeight = form.dstHeight;
    found.WidthInBytes = form.WidthInBytes;
    found.Height = form.Height;
    found.Depth = form.Depth;
    CUresult state = primary_context(copy.srcDevice, found.srcContext);
    if (state == CUDA_SUCCESS) state = primary_context(copy.dstDevice, found.dstContext);
    return error_of(state);
}

/// Calls the body with the rows of a box: CUresult body(CUdeviceptr first, size_t height).
template <class Body>
CUresult each_slice(cudaPitchedPtr memory, cudaExtent extent, Body&& body) {
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_SUCCESS;
    for (size_t z = 0; z < extent.depth; ++z) {
        const CUresult state = body(address(memory.ptr) + z * memory.pitch * memory.ysize);
        if (state != CUDA_SUCCESS) return state;
    }
    return CUDA_SUCCESS;
}

}  // namespace

LODE_RUNTIME cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
    return run([&]() -> cudaError_t {
        if (count == 0) return cudaSuccess;  // Whatever the addresses are.
        const cudaError_t wrong = check_direction(dst, src, kind);
        return wrong != cudaSuccess ? wrong : error_of(cuMemcpy(address(dst), address(src), count));
    });
}

LODE_RUNTIME cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                             cudaStream_t stream) {
    return run([&]() -> cudaError_t {
        if (count == 0) return cudaSuccess;  // Whatever the addresses are.
        const cudaError_t wrong = check_direction(dst, src, kind);
        return wrong != cudaSuccess
                   ? wrong
                   : error_of(cuMemcpyAsync(address(dst), address(src), count, stream));
    });
}

LODE_RUNTIME cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                          size_t height, cudaMemcpyKind kind) {
    return run([&]() -> cudaError_t {
        if (width > dpitch || width > spitch) return cudaErrorInvalidPitchValue;
        return copy_boxes(rows_between(memory_at(dst, dpitch, height),
                                       memory_at(src, spitch, height), width, height, kind));
    });
}

LODE_RUNTIME cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                               size_t width, size_t height, cudaMemcpyKind kind,
                               cudaStream_t stream) {
    return run([&]() -> cudaError_t {
        if (width > dpitch || width > spitch) return cudaErrorInvalidPitchValue;
        return copy_boxes(rows_between(memory_at(dst, dpitch, height),
                                       memory_at(src, spitch, height), width, height, kind),
                          stream);
    });
}

LODE_RUNTIME cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                                 size_t spitch, size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_array_rows(dst, wOffset, hOffset, src, spitch, width, height, kind, true);
}

LODE_RUNTIME cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                      const void* src, size_t spitch, size_t width, size_t height,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_array_rows(dst, wOffset, hOffset, src, spitch, width, height, kind, true, stream);
}

LODE_RUNTIME cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                   size_t hOffset, size_t width, size_t height,
                                   cudaMemcpyKind kind) {
    return copy_array_rows(src, wOffset, hOffset, dst, dpitch, width, height, kind, false);
}

LODE_RUNTIME cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src,
                                        size_t wOffset, size_t hOffset, size_t width, size_t height,
                                        cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_array_rows(src, wOffset, hOffset, dst, dpitch, width, height, kind, false, stream);
}

LODE_RUNTIME cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                      cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                      size_t width, size_t height, cudaMemcpyKind kind) {
    return run([&]() -> cudaError_t {
        cudaMemcpy3DParms copy{};
        copy.dstArray = dst;
        copy.srcArray = const_cast<cudaArray_t>(src);
        copy.kind = kind;
        size_t elements = 0;
        cudaError_t wrong = elements_of(dst, wOffsetDst, copy.dstPos.x);
        if (wrong == cudaSuccess) wrong = elements_of(src, wOffsetSrc, copy.srcPos.x);
        if (wrong == cudaSuccess) wrong = elements_of(src, width, elements);
        if (wrong != cudaSuccess) return wrong;
        copy.dstPos.y = hOffsetDst;
        copy.srcPos.y = hOffsetSrc;
        copy.extent = {elements, height, 1};
        return copy_boxes(copy);
    });
}

LODE_RUNTIME cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    return run([&] { return p == nullptr ? cudaErrorInvalidValue : copy_boxes(*p); });
}

LODE_RUNTIME cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    return run([&] { return p == nullptr ? cudaErrorInvalidValue : copy_boxes(*p, stream); });
}

LODE_RUNTIME cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
    return run([&]() -> cudaError_t {
        CUDA_MEMCPY3D_PEER copy{};
        if (p == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_peer_copy(*p, copy);
        return wrong != cudaSuccess ? wrong : error_of(cuMemcpy3DPeer(&copy));
    });
}

LODE_RUNTIME cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
    return run([&]() -> cudaError_t {
        CUDA_MEMCPY3D_PEER copy{};
        if (p == nullptr) return cudaErrorInvalidValue;
        const cudaError_t wrong = native_peer_copy(*p, copy);
        return wrong != cudaSuccess ? wrong : error_of(cuMemcpy3DPeerAsync(&copy, stream));
    });
}

LODE_RUNTIME cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset,
                                cudaMemcpyKind kind) {
    CUdeviceptr part = 0;
    const cudaError_t wrong = part_of(symbol, offset, count, part);
    if (wrong != cudaSuccess) return remember(wrong);
    return cudaMemcpy(reinterpret_cast<void*>(part), src, count, kind);
}

LODE_RUNTIME cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                     size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    CUdeviceptr part = 0;
    const cudaError_t wrong = part_of(symbol, offset, count, part);
    if (wrong != cudaSuccess) return remember(wrong);
    return cudaMemcpyAsync(reinterpret_cast<void*>(part), src, count, kind, stream);
}

LODE_RUNTIME cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset,
                                  cudaMemcpyKind kind) {
    CUdeviceptr part = 0;
    const cudaError_t wrong = part_of(symbol, offset, count, part);
    if (wrong != cudaSuccess) return remember(wrong);
    return cudaMemcpy(dst, reinterpret_cast<void*>(part), count, kind);
}

LODE_RUNTIME cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset,
                                       cudaMemcpyKind kind, cudaStream_t stream) {
    CUdeviceptr part = 0;
    const cudaError_t wrong = part_of(symbol, offset, count, part);
    if (wrong != cudaSuccess) return remember(wrong);
    return cudaMemcpyAsync(dst, reinterpret_cast<void*>(part), count, kind, stream);
}

LODE_RUNTIME cudaMemset(void* devPtr, int value, size_t count) {
    return run([&] {
        return count == 0 ? CUDA_SUCCESS
                          : cuMemsetD8(address(devPtr), static_cast<unsigned char>(value), count);
    });
}

LODE_RUNTIME cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
    return run([&] {
        return count == 0 ? CUDA_SUCCESS
                          : cuMemsetD8Async(address(devPtr), static_cast<unsigned char>(value),
                                            count, stream);
    });
}

LODE_RUNTIME cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
    return forward(cuMemsetD2D8, devPtr, pitch, value, width, height);
}

LODE_RUNTIME cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                               cudaStream_t stream) {
    return forward(cuMemsetD2D8Async, devPtr, pitch, value, width, height, stream);
}

LODE_RUNTIME cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
    return run([&] {
        return each_slice(pitchedDevPtr, extent, [&](CUdeviceptr slice) {
            return cuMemsetD2D8(slice, pitchedDevPtr.pitch, static_cast<unsigned char>(value),
                                extent.width, extent.height);
        });
    });
}

LODE_RUNTIME cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                               cudaStream_t stream) {
    return run([&] {
        return each_slice(pitchedDevPtr, extent, [&](CUdeviceptr slice) {
            return cuMemsetD2D8Async(slice, pitchedDevPtr.pitch, static_cast<unsigned char>(value),
                                     extent.width, extent.height, stream);
        });
    });
}
