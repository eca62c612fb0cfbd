// Texture and surface objects.
#include "emulator/toolkit/cudart/arrays.hpp"

#include <algorithm>
#include <iterator>

using namespace lode::emulator::cudart;

namespace {

cudaError_t native_resource(const cudaResourceDesc& resource, CUDA_RESOURCE_DESC& found) noexcept {
    found = CUDA_RESOURCE_DESC{};
    found.flags = resource.flags;
    switch (resource.resType) {
        case cudaResourceTypeArray:
            found.resType = CU_RESOURCE_TYPE_ARRAY;
            found.res.array.hArray = native(resource.res.array.array);
            return cudaSuccess;
        case cudaResourceTypeMipmappedArray:
            found.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
            found.res.mipmap.hMipmappedArray = as<CUmipmappedArray>(resource.res.mipmap.mipmap);
            return cudaSuccess;
        case cudaResourceTypeLinear: {
            const auto format = format_of(resource.res.linear.desc);
            if (!format) return cudaErrorInvalidChannelDescriptor;
            found.resType = CU_RESOURCE_TYPE_LINEAR;
            found.res.linear.devPtr = address(resource.res.linear.devPtr);
            found.res.linear.format = format->format;
            found.res.linear.numChannels = format->channels;
            found.res.linear.sizeInBytes = resource.res.linear.sizeInBytes;
            return cudaSuccess;
        }
        case cudaResourceTypePitch2D: {
            const auto format = format_of(resource.res.pitch2D.desc);
            if (!format) return cudaErrorInvalidChannelDescriptor;
            found.resType = CU_RESOURCE_TYPE_PITCH2D;
            found.res.pitch2D.devPtr = address(resource.res.pitch2D.devPtr);
            found.res.pitch2D.format = format->format;
            found.res.pitch2D.numChannels = format->channels;
            found.res.pitch2D.width = resource.res.pitch2D.width;
            found.res.pitch2D.height = resource.res.pitch2D.height;
            found.res.pitch2D.pitchInBytes = resource.res.pitch2D.pitchInBytes;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

cudaResourceDesc runtime_resource(const CUDA_RESOURCE_DESC& resource) noexcept {
    cudaResourceDesc found{};
    found.resType = static_cast<cudaResourceType>(resource.resType);
    found.flags = resource.flags;
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY) {
        found.res.array.array = as<cudaArray_t>(resource.res.array.hArray);
    } else if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        found.res.mipmap.mipmap = as<cudaMipmappedArray_t>(resource.res.mipmap.hMipmappedArray);
    } else if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        found.res.linear.devPtr = reinterpret_cast<void*>(resource.res.linear.devPtr);
        found.res.linear.desc =
            channels_of(resource.res.linear.format, resource.res.linear.numChannels);
        found.res.linear.sizeInBytes = resource.res.linear.sizeInBytes;
    } else {
        found.res.pitch2D.devPtr = reinterpret_cast<void*>(resource.res.pitch2D.devPtr);
        found.res.pitch2D.desc =
            channels_of(resource.res.pitch2D.format, resource.res.pitch2D.numChannels);
        found.res.pitch2D.width = resource.res.pitch2D.width;
        found.res.pitch2D.height = resource.res.pitch2D.height;
        found.res.pitch2D.pitchInBytes = resource.res.pitch2D.pitchInBytes;
    }
    return found;
}

/// What both descriptions have under the same names.
template <class To>
To common_texture(const auto& texture) noexcept {
    To found{};
    for (std::size_t i = 0; i < 3; ++i)
        found.addressMode[i] = static_cast<std::remove_reference_t<decltype(found.addressMode[0])>>(
            texture.addressMode[i]);
    found.filterMode = static_cast<decltype(found.filterMode)>(texture.filterMode);
    found.maxAnisotropy = texture.maxAnisotropy;
    found.mipmapFilterMode = static_cast<decltype(found.filterMode)>(texture.mipmapFilterMode);
    found.mipmapLevelBias = texture.mipmapLevelBias;
    found.minMipmapLevelClamp = texture.minMipmapLevelClamp;
    found.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
    std::ranges::copy(texture.borderColor, found.borderColor);
    return found;
}

CUDA_TEXTURE_DESC native_texture(const cudaTextureDesc& texture, bool is_float) noexcept {
    auto found = common_texture<CUDA_TEXTURE_DESC>(texture);
    // Floats are read as they are; the driver knows only integers that are read as integers.
    if (texture.readMode == cudaReadModeElementType && !is_float)
        found.flags |= CU_TRSF_READ_AS_INTEGER;
    if (texture.normalizedCoords != 0) found.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (texture.sRGB != 0) found.flags |= CU_TRSF_SRGB;
    if (texture.disableTrilinearOptimization != 0)
        found.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (texture.seamlessCubemap != 0) found.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return found;
}

cudaTextureDesc runtime_texture(const CUDA_TEXTURE_DESC& texture) noexcept {
    auto found = common_texture<cudaTextureDesc>(texture);
    const auto has = [&](unsigned flag) { return (texture.flags & flag) != 0 ? 1 : 0; };
    found.readMode =
        has(CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    found.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
    found.sRGB = has(CU_TRSF_SRGB);
    found.disableTrilinearOptimization = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    found.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
    return found;
}

/// Whether the texels of a resource are floats.
bool has_floats(const CUDA_RESOURCE_DESC& resource) noexcept {
    CUarray array = nullptr;
    CUarray_format format{};
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) format = resource.res.linear.format;
    if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) format = resource.res.pitch2D.format;
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY) array = resource.res.array.hArray;
    if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        (void)cuMipmappedArrayGetLevel(&array, resource.res.mipmap.hMipmappedArray, 0);
    if (array != nullptr) {
        CUDA_ARRAY3D_DESCRIPTOR description{};
        (void)cuArray3DGetDescriptor(&description, array);
        format = description.Format;
    }
    return format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF;
}

static_assert(sizeof(cudaResourceViewDesc) <= sizeof(CUDA_RESOURCE_VIEW_DESC));

/// The same view in the structure of the other API.
template <class To, class From>
To converted_view(const From& view) noexcept {
    To found{};
    found.format = static_cast<decltype(found.format)>(view.format);
    found.width = view.width;
    found.height = view.height;
    found.depth = view.depth;
    found.firstMipmapLevel = view.firstMipmapLevel;
    found.lastMipmapLevel = view.lastMipmapLevel;
    found.firstLayer = view.firstLayer;
    found.lastLayer = view.lastLayer;
    return found;
}

}  // namespace

LODE_RUNTIME cudaCreateTextureObject(cudaTextureObject_t* pTexObject,
                                     const cudaResourceDesc* pResDesc,
                                     const cudaTextureDesc* pTexDesc,
                                     const cudaResourceViewDesc* pResViewDesc) {
    return run([&]() -> cudaError_t {
        if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr)
            return cudaErrorInvalidValue;
        CUDA_RESOURCE_DESC resource{};
        if (const cudaError_t wrong = native_resource(from_program(pResDesc), resource);
            wrong != cudaSuccess)
            return wrong;
        const bool is_float = has_floats(resource);
        if (!is_float && pTexDesc->readMode == cudaReadModeElementType &&
            pTexDesc->filterMode == cudaFilterModeLinear)
            return cudaErrorInvalidFilterSetting;
        const auto texture = native_texture(*pTexDesc, is_float);
        CUDA_RESOURCE_VIEW_DESC view{};
        if (pResViewDesc != nullptr)
            view = converted_view<CUDA_RESOURCE_VIEW_DESC>(from_program(pResViewDesc));
        return error_of(cuTexObjectCreate(pTexObject, &resource, &texture,
                                          pResViewDesc == nullptr ? nullptr : &view));
    });
}

LODE_RUNTIME cudaCreateSurfaceObject(cudaSurfaceObject_t* pSurfObject,
                                     const cudaResourceDesc* pResDesc) {
    return run([&]() -> cudaError_t {
        if (pSurfObject == nullptr || pResDesc == nullptr) return cudaErrorInvalidValue;
        CUDA_RESOURCE_DESC resource{};
        const cudaError_t wrong = native_resource(from_program(pResDesc), resource);
        return wrong != cudaSuccess ? wrong : error_of(cuSurfObjectCreate(pSurfObject, &resource));
    });
}

LODE_RUNTIME cudaGetTextureObjectResourceDesc(cudaResourceDesc* pResDesc,
                                              cudaTextureObject_t texObject) {
    return run([&]() -> CUresult {
        CUDA_RESOURCE_DESC resource{};
        if (pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult state = cuTexObjectGetResourceDesc(&resource, texObject);
        if (state == CUDA_SUCCESS) to_program(pResDesc, runtime_resource(resource));
        return state;
    });
}

LODE_RUNTIME cudaGetTextureObjectTextureDesc(cudaTextureDesc* pTexDesc,
                                             cudaTextureObject_t texObject) {
    return run([&]() -> CUresult {
        CUDA_TEXTURE_DESC texture{};
        CUDA_RESOURCE_DESC resource{};
        if (pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUresult state = cuTexObjectGetTextureDesc(&texture, texObject);
        if (state == CUDA_SUCCESS) state = cuTexObjectGetResourceDesc(&resource, texObject);
        if (state != CUDA_SUCCESS) return state;
        *pTexDesc = runtime_texture(texture);
        if (has_floats(resource)) pTexDesc->readMode = cudaReadModeElementType;
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* pResViewDesc,
                                                  cudaTextureObject_t texObject) {
    return run([&]() -> CUresult {
        CUDA_RESOURCE_VIEW_DESC view{};
        if (pResViewDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult state = cuTexObjectGetResourceViewDesc(&view, texObject);
        if (state != CUDA_SUCCESS) return state;
        to_program(pResViewDesc, converted_view<cudaResourceViewDesc>(view));
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* pResDesc,
                                              cudaSurfaceObject_t surfObject) {
    return run([&]() -> CUresult {
        CUDA_RESOURCE_DESC resource{};
        if (pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUresult state = cuSurfObjectGetResourceDesc(&resource, surfObject);
        if (state == CUDA_SUCCESS) to_program(pResDesc, runtime_resource(resource));
        return state;
    });
}
