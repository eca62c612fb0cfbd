#include "emulator/toolkit/cudart/arrays.hpp"

namespace lode::emulator::cudart {
namespace {

struct FormatRow {
    CUarray_format format;
    cudaChannelFormatKind kind;
    int bits;
};
constexpr FormatRow formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

bool is_device_only(const void* pointer) noexcept {
    unsigned type = 0;
    unsigned managed = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) ==
               CUDA_SUCCESS &&
           cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(pointer)) ==
               CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE && managed == 0;
}

/// What one side of a copy is.
struct Side {
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    std::size_t element = 1;
    CUarray array = nullptr;
    void* pointer = nullptr;
};

CUresult read_side(cudaArray_t array, const cudaPitchedPtr& memory, Side& side) noexcept {
    side.array = native(array);
    side.pointer = memory.ptr;
    if (array != nullptr) {
        side.type = CU_MEMORYTYPE_ARRAY;
        return element_bytes(side.array, side.element);
    }
    if (memory.ptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
    side.type = is_known(memory.ptr) ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
}

}  // namespace

std::optional<Format> format_of(const cudaChannelFormatDesc& channels) noexcept {
    const int bits[] = {channels.x, channels.y, channels.z, channels.w};
    unsigned count = 0;
    while (count < 4 && bits[count] != 0) {
        if (bits[count] != bits[0]) return std::nullopt;
        ++count;
    }
    for (const FormatRow& row : formats)
        if (count > 0 && row.kind == channels.f && row.bits == bits[0])
            return Format{row.format, count};
    return std::nullopt;
}

cudaChannelFormatDesc channels_of(CUarray_format format, unsigned channels) noexcept {
    for (const FormatRow& row : formats) {
        if (row.format != format) continue;
        const auto bits = [&](unsigned channel) { return channel < channels ? row.bits : 0; };
        return {bits(0), bits(1), bits(2), bits(3), row.kind};
    }
    return {};
}

CUresult element_bytes(CUarray array, std::size_t& bytes) noexcept {
    CUDA_ARRAY3D_DESCRIPTOR description{};
    const CUresult state = cuArray3DGetDescriptor(&description, array);
    const auto channels = channels_of(description.Format, description.NumChannels);
    bytes = static_cast<std::size_t>(channels.x) / 8 * description.NumChannels;
    return state;
}

bool is_known(const void* pointer) noexcept {
    unsigned type = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) ==
           CUDA_SUCCESS;
}

cudaError_t check_direction(const void* to, const void* from, cudaMemcpyKind kind) noexcept {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault) return cudaSuccess;
    const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
    const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
    const auto fits = [](const void* pointer, bool is_host) {
        return pointer == nullptr || (is_host ? !is_device_only(pointer) : is_known(pointer));
    };
    return fits(from, from_host) && fits(to, to_host) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t native_copy(const cudaMemcpy3DParms& copy, CUDA_MEMCPY3D& found) noexcept {
    if (const cudaError_t wrong =
            check_direction(copy.dstArray != nullptr ? nullptr : copy.dstPtr.ptr,
                            copy.srcArray != nullptr ? nullptr : copy.srcPtr.ptr, copy.kind);
        wrong != cudaSuccess)
        return wrong;
    Side from;
    Side to;
    CUresult state = read_side(copy.srcArray, copy.srcPtr, from);
    if (state == CUDA_SUCCESS) state = read_side(copy.dstArray, copy.dstPtr, to);
    if (state != CUDA_SUCCESS) return error_of(state);
    found = CUDA_MEMCPY3D{};
    found.srcMemoryType = from.type;
    found.srcArray = from.array;
    found.srcHost = from.pointer;
    found.srcDevice = address(from.pointer);
    found.srcPitch = copy.srcPtr.pitch;
    found.srcHeight = copy.srcPtr.ysize;
    found.srcXInBytes = copy.srcPos.x * from.element;
    found.srcY = copy.srcPos.y;
    found.srcZ = copy.srcPos.z;
    found.dstMemoryType = to.type;
    found.dstArray = to.array;
    found.dstHost = to.pointer;
    found.dstDevice = address(to.pointer);
    found.dstPitch = copy.dstPtr.pitch;
    found.dstHeight = copy.dstPtr.ysize;
    found.dstXInBytes = copy.dstPos.x * to.element;
    found.dstY = copy.dstPos.y;
    found.dstZ = copy.dstPos.z;
    // The extent counts the elements of an array, if there is one.
    const bool has_array = from.array != nullptr || to.array != nullptr;
    const std::size_t element = from.array != nullptr ? from.element : to.element;
    found.WidthInBytes = copy.extent.width * (has_array ? element : 1);
    found.Height = copy.extent.height;
    found.Depth = copy.extent.depth;
    return cudaSuccess;
}

cudaMemcpy3DParms runtime_copy(const CUDA_MEMCPY3D& copy) noexcept {
    cudaMemcpy3DParms found{};
    std::size_t from = 1;
    std::size_t to = 1;
    if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        found.srcArray = as<cudaArray_t>(copy.srcArray);
        (void)element_bytes(copy.srcArray, from);
    } else {
        found.srcPtr.ptr = copy.srcMemoryType == CU_MEMORYTYPE_HOST
                               ? const_cast<void*>(copy.srcHost)
                               : reinterpret_cast<void*>(copy.srcDevice);
        found.srcPtr.pitch = copy.srcPitch;
        found.srcPtr.ysize = copy.srcHeight;
    }
    if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        found.dstArray = as<cudaArray_t>(copy.dstArray);
        (void)element_bytes(copy.dstArray, to);
    } else {
        found.dstPtr.ptr = copy.dstMemoryType == CU_MEMORYTYPE_HOST
                               ? copy.dstHost
                               : reinterpret_cast<void*>(copy.dstDevice);
        found.dstPtr.pitch = copy.dstPitch;
        found.dstPtr.ysize = copy.dstHeight;
    }
    found.srcPos = {copy.srcXInBytes / from, copy.srcY, copy.srcZ};
    found.dstPos = {copy.dstXInBytes / to, copy.dstY, copy.dstZ};
    const std::size_t element = found.srcArray != nullptr ? from : to;
    found.extent = {copy.WidthInBytes / element, copy.Height, copy.Depth};
    found.kind = cudaMemcpyDefault;
    return found;
}

namespace {

std::optional<CUDA_ARRAY3D_DESCRIPTOR> description_of(const cudaChannelFormatDesc& channels,
                                                      const cudaExtent& extent,
                                                      unsigned flags) noexcept {
    const auto format = format_of(channels);
    if (!format) return std::nullopt;
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = extent.width;
    description.Height = extent.height;
    description.Depth = extent.depth;
    description.Format = format->format;
    description.NumChannels = format->channels;
    description.Flags = flags;
    return description;
}

}  // namespace
}  // namespace lode::emulator::cudart

using namespace lode::emulator::cudart;

LODE_RUNTIME cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                               cudaExtent extent, unsigned flags) {
    return run([&]() -> cudaError_t {
        if (array == nullptr || desc == nullptr) return cudaErrorInvalidValue;
        const auto description = description_of(*desc, extent, flags);
        if (!description) return cudaErrorInvalidChannelDescriptor;
        return error_of(cuArray3DCreate(as<CUarray*>(array), &*description));
    });
}

LODE_RUNTIME cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                             size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, desc, {width, height, 0}, flags);
}

LODE_RUNTIME cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmappedArray,
                                      const cudaChannelFormatDesc* desc, cudaExtent extent,
                                      unsigned numLevels, unsigned flags) {
    return run([&]() -> cudaError_t {
        if (mipmappedArray == nullptr || desc == nullptr) return cudaErrorInvalidValue;
        const auto description = description_of(*desc, extent, flags);
        if (!description) return cudaErrorInvalidChannelDescriptor;
        return error_of(cuMipmappedArrayCreate(as<CUmipmappedArray*>(mipmappedArray), &*description,
                                               numLevels));
    });
}

LODE_RUNTIME cudaFreeArray(cudaArray_t array) {
    return array == nullptr ? cudaSuccess : forward(cuArrayDestroy, array);
}

LODE_RUNTIME cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags,
                              cudaArray_t array) {
    return run([&]() -> CUresult {
        CUDA_ARRAY3D_DESCRIPTOR description{};
        const CUresult state = cuArray3DGetDescriptor(&description, native(array));
        if (state != CUDA_SUCCESS) return state;
        if (desc != nullptr) *desc = channels_of(description.Format, description.NumChannels);
        if (extent != nullptr) *extent = {description.Width, description.Height, description.Depth};
        if (flags != nullptr) *flags = description.Flags;
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
    if (desc == nullptr) return remember(cudaErrorInvalidValue);
    return cudaArrayGetInfo(desc, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

extern "C" cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                 cudaChannelFormatKind f) {
    return {x, y, z, w, f};
}
