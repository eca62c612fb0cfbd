// cuTexObject… and cuSurfObject…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/images/arrays.hpp"
#include "emulator/driver/memory/copies.hpp"

#include <algorithm>
#include <array>

namespace lode::emulator::driver {
namespace {

// Attributes 14, 51 and 69 to 72 of attributes.def.
constexpr std::size_t texture_alignment = 512;
constexpr std::size_t plane_pitch_alignment = 32;
constexpr std::size_t most_linear_texels = 268435456;
constexpr std::size_t most_pitched_width = 131072;
constexpr std::size_t most_pitched_height = 65000;
constexpr std::size_t most_pitch = 2097120;

CUresult image_of_array(CUarray handle, Image& image) {
    const auto array = driver().arrays.find(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    image.shape = array->shape();
    image.component = array->component();
    image.channels = array->descriptor().NumChannels;
    image.levels = {array->level()};
    return CUDA_SUCCESS;
}

CUresult image_of_levels(CUmipmappedArray handle, Image& image) {
    const auto all = driver().mipmapped_arrays.find(handle);
    if (all == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Array& first = *all->levels.front();
    image.shape = first.shape();
    image.component = first.component();
    image.channels = first.descriptor().NumChannels;
    for (const auto& level : all->levels)
        image.levels.push_back(level->level());
    return CUDA_SUCCESS;
}

/// An image in linear memory of `height` rows.
CUresult image_of_memory(CUdeviceptr address, CUarray_format format, unsigned channels,
                         std::size_t width, std::size_t height, std::size_t pitch, Image& image) {
    const auto component = component_of(format);
    if (!component || (channels != 1 && channels != 2 && channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    image.component = *component;
    image.channels = channels;
    if (address == 0 || address % texture_alignment != 0 || width == 0)
        return CUDA_ERROR_INVALID_VALUE;
    ImageLevel level;
    level.address = address;
    level.width = static_cast<std::uint32_t>(width);
    level.height = static_cast<std::uint32_t>(height);
    level.pitch = pitch;
    level.slice = pitch * height;
    const std::size_t bytes = (height - 1) * pitch + width * image.texel_bytes();
    const auto bounds = driver().memory.bounds(address);
    if (bounds[1] == 0 || bytes > bounds[1] - address) return CUDA_ERROR_INVALID_VALUE;
    image.levels = {level};
    return CUDA_SUCCESS;
}

CUresult image_of(const CUDA_RESOURCE_DESC& resource, Image& image) {
    if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
    switch (resource.resType) {
        case CU_RESOURCE_TYPE_ARRAY:
            return image_of_array(resource.res.array.hArray, image);
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
            return image_of_levels(resource.res.mipmap.hMipmappedArray, image);
        case CU_RESOURCE_TYPE_LINEAR: {
            const auto& linear = resource.res.linear;
            const auto component = component_of(linear.format);
            if (!component || linear.numChannels == 0) return CUDA_ERROR_INVALID_VALUE;
            const std::size_t texel = std::size_t{bytes_of(*component)} * linear.numChannels;
            const std::size_t texels = linear.sizeInBytes / texel;
            if (texels > most_linear_texels) return CUDA_ERROR_INVALID_VALUE;
            image.shape = ImageShape::buffer;
            return image_of_memory(linear.devPtr, linear.format, linear.numChannels, texels, 1,
                                   linear.sizeInBytes, image);
        }
        case CU_RESOURCE_TYPE_PITCH2D: {
            const auto& plane = resource.res.pitch2D;
            const auto component = component_of(plane.format);
            if (!component || plane.height == 0 || plane.height > most_pitched_height ||
                plane.width > most_pitched_width || plane.pitchInBytes > most_pitch ||
                plane.pitchInBytes % plane_pitch_alignment != 0 ||
                plane.width * bytes_of(*component) * plane.numChannels > plane.pitchInBytes) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            image.shape = ImageShape::plane;
            return image_of_memory(plane.devPtr, plane.format, plane.numChannels, plane.width,
                                   plane.height, plane.pitchInBytes, image);
        }
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

bool is_real(Component component) noexcept {
    return component == Component::half || component == Component::single;
}

CUresult set_sampler(const CUDA_TEXTURE_DESC& given, Image& image) {
    constexpr unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                               CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                               CU_TRSF_SEAMLESS_CUBEMAP;
    const auto is_filter = [](CUfilter_mode mode) {
        return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR;
    };
    if ((given.flags & ~known) != 0 || !is_filter(given.filterMode) ||
        !is_filter(given.mipmapFilterMode))
        return CUDA_ERROR_INVALID_VALUE;
    if ((given.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0) return gate::refuse("seamless cubemaps");
    Sampler& sampler = image.sampler;
    for (std::size_t axis = 0; axis < sampler.edges.size(); ++axis) {
        const CUaddress_mode mode = given.addressMode[axis];
        if (mode < CU_TR_ADDRESS_MODE_WRAP || mode > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        sampler.edges[axis] = static_cast<Sampler::Edge>(mode);
    }
    sampler.linear = given.filterMode == CU_TR_FILTER_MODE_LINEAR;
    sampler.linear_levels = given.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    sampler.normalised = (given.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    sampler.integers = (given.flags & CU_TRSF_READ_AS_INTEGER) != 0;
    sampler.srgb = (given.flags & CU_TRSF_SRGB) != 0 && image.component == Component::uint8;
    sampler.bias = given.mipmapLevelBias;
    sampler.least_level = given.minMipmapLevelClamp;
    sampler.most_level = given.maxMipmapLevelClamp;
    std::copy_n(given.borderColor, sampler.border.size(), sampler.border.begin());
    // What a GPU computes when it interpolates integers isn't documented. Mipmapped textures need
    // normalised coordinates. The faces of a cube are always addressed from 0 to 1.
    const bool has_integers =
        !is_real(image.component) && (sampler.integers || bytes_of(image.component) == 4);
    if (sampler.linear && has_integers) return gate::refuse("a linear filter of integers");
    if (image.levels.size() > 1 && !sampler.normalised) return CUDA_ERROR_INVALID_VALUE;
    if (image.shape == ImageShape::cube || image.shape == ImageShape::cube_layers)
        sampler.normalised = true;
    return CUDA_SUCCESS;
}

/// Makes the texels those of a view's format; false if theirs have another size. Block-compressed
/// formats, which change the image's size too, aren't supported.
bool apply_format(CUresourceViewFormat format, Image& image) {
    if (format == CU_RES_VIEW_FORMAT_NONE) return true;
    if (format < CU_RES_VIEW_FORMAT_UINT_1X8 || format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
        return false;
    // The formats of a component follow each other, with 1, 2 and 4 channels.
    constexpr std::array components{Component::uint8, Component::int8,   Component::uint16,
                                    Component::int16, Component::uint32, Component::int32,
                                    Component::half,  Component::single};
    const auto row = static_cast<std::size_t>(format - CU_RES_VIEW_FORMAT_UINT_1X8);
    const std::uint32_t bytes = image.texel_bytes();
    image.component = components.at(row / 3);
    image.channels = 1U << row % 3;
    return image.texel_bytes() == bytes;
}

/// Limits the levels and layers to those of a view, and reads the texels as its format says.
CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC& view, Image& image) {
    const ImageLevel& first = image.levels.front();
    const auto differs = [](std::size_t wanted, std::uint32_t have) {
        return wanted != 0 && wanted != have;
    };
    if (view.format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7) return CUDA_ERROR_INVALID_VALUE;
    if (!apply_format(view.format, image) || differs(view.width, first.width) ||
        differs(view.height, first.height))
        return gate::refuse("resource views of another size of texels or image");
    if (view.firstMipmapLevel > view.lastMipmapLevel || view.firstLayer > view.lastLayer ||
        view.lastMipmapLevel >= image.levels.size() || view.lastLayer >= first.depth)
        return CUDA_ERROR_INVALID_VALUE;
    if (view.lastLayer > 0 && image.shape == ImageShape::volume) return CUDA_ERROR_INVALID_VALUE;
    image.levels.erase(image.levels.begin() + view.lastMipmapLevel + 1, image.levels.end());
    image.levels.erase(image.levels.begin(), image.levels.begin() + view.firstMipmapLevel);
    if (view.lastLayer == 0) return CUDA_SUCCESS;
    for (ImageLevel& level : image.levels) {
        level.address += view.firstLayer * level.slice;
        level.depth = view.lastLayer - view.firstLayer + 1;
    }
    return CUDA_SUCCESS;
}

CUresult create_texture(Context& context, CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                        const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
    if (out == nullptr || resource == nullptr || texture == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Image image;
    if (const CUresult state = image_of(*resource, image); state != CUDA_SUCCESS) return state;
    if (view != nullptr) {
        if (image.shape == ImageShape::buffer) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult state = apply_view(*view, image); state != CUDA_SUCCESS) return state;
    }
    if (const CUresult state = set_sampler(*texture, image); state != CUDA_SUCCESS) return state;
    *out = driver().images.add(std::make_shared<ImageObject>(
        context.shared_from_this(), std::move(image), *resource, *texture,
        view == nullptr ? std::nullopt : std::optional(*view)));
    return CUDA_SUCCESS;
}

CUresult create_surface(Context& context, CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
    if (out == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    Image image;
    if (const CUresult state = image_of(*resource, image); state != CUDA_SUCCESS) return state;
    const auto array = driver().arrays.find(resource->res.array.hArray);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if ((array->descriptor().Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    image.is_surface = true;
    *out = driver().images.add(std::make_shared<ImageObject>(context.shared_from_this(),
                                                             std::move(image), *resource,
                                                             CUDA_TEXTURE_DESC{}, std::nullopt));
    return CUDA_SUCCESS;
}

/// The object of a handle if it is of the right kind.
std::shared_ptr<ImageObject> find_image(unsigned long long handle, bool is_surface) {
    auto image = driver().images.find(handle);
    return image != nullptr && image->is_surface == is_surface ? image : nullptr;
}

/// Body of the calls that return a descriptor: get(const ImageObject&).
template <class Descriptor, class Get>
CUresult get_descriptor(const char* symbol, Descriptor* out, unsigned long long handle,
                        bool is_surface, Get&& get) {
    return enter_context(symbol, [&](Context&) -> CUresult {
        const auto image = find_image(handle, is_surface);
        if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        return out == nullptr ? CUDA_ERROR_INVALID_VALUE : get(*image);
    });
}

CUresult destroy_image(const char* symbol, unsigned long long handle, bool is_surface) {
    return enter_release(symbol, [&]() -> CUresult {
        const auto image = find_image(handle, is_surface);
        if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        image->context().drain();  // Running kernels may use it.
        driver().images.remove(handle);
        return image->context().error();
    });
}

}  // namespace

LODE_ENTRY cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                             const CUDA_TEXTURE_DESC* pTexDesc,
                             const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
    return enter_context(__func__, [&](Context& context) {
        return create_texture(context, pTexObject, pResDesc, pTexDesc, pResViewDesc);
    });
}

LODE_ENTRY cuTexObjectDestroy(CUtexObject texObject) {
    return destroy_image(__func__, texObject, false);
}

LODE_ENTRY cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
    return get_descriptor(__func__, pResDesc, texObject, false, [&](const ImageObject& image) {
        *pResDesc = image.resource;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
    return get_descriptor(__func__, pTexDesc, texObject, false, [&](const ImageObject& image) {
        *pTexDesc = image.texture;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc,
                                          CUtexObject texObject) {
    return get_descriptor(__func__, pResViewDesc, texObject, false, [&](const ImageObject& image) {
        if (!image.view) return CUDA_ERROR_INVALID_VALUE;
        *pResViewDesc = *image.view;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
    return enter_context(
        __func__, [&](Context& context) { return create_surface(context, pSurfObject, pResDesc); });
}

LODE_ENTRY cuSurfObjectDestroy(CUsurfObject surfObject) {
    return destroy_image(__func__, surfObject, true);
}

LODE_ENTRY cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
    return get_descriptor(__func__, pResDesc, surfObject, true, [&](const ImageObject& image) {
        *pResDesc = image.resource;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
