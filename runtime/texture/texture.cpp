#include "runtime/texture/array.hpp"

#include <lode/runtime/surface.hpp>
#include <lode/runtime/texture.hpp>

#include <algorithm>
#include <string_view>

#include <cuda.h>
#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

CUfilter_mode native_filter(TextureFilter filter) noexcept {
    return filter == TextureFilter::linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
}

CUaddress_mode native_mode(AddressMode mode) noexcept {
    switch (mode) {
        case AddressMode::wrap:
            return CU_TR_ADDRESS_MODE_WRAP;
        case AddressMode::mirror:
            return CU_TR_ADDRESS_MODE_MIRROR;
        case AddressMode::border:
            return CU_TR_ADDRESS_MODE_BORDER;
        case AddressMode::clamp:
            break;
    }
    return CU_TR_ADDRESS_MODE_CLAMP;
}

CUDA_TEXTURE_DESC native_options(const TextureOptions& options) {
    CUDA_TEXTURE_DESC made{};
    std::ranges::transform(options.address, made.addressMode, native_mode);
    made.filterMode = native_filter(options.filter);
    if (!options.normalized_values) made.flags |= CU_TRSF_READ_AS_INTEGER;
    if (options.normalized_coordinates) made.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (options.srgb) made.flags |= CU_TRSF_SRGB;
    made.maxAnisotropy = options.max_anisotropy;
    made.mipmapFilterMode = native_filter(options.mipmap_filter);
    made.mipmapLevelBias = options.mipmap_bias;
    made.minMipmapLevelClamp = options.min_mipmap_level;
    made.maxMipmapLevelClamp = options.max_mipmap_level;
    std::ranges::copy(options.border, made.borderColor);
    return made;
}

/// Refuses to interpolate integers: a driver accepts that and reads something else.
Status check_filter(ElementFormat format, const TextureOptions& options) {
    constexpr unsigned most_scaled_bits = 16;  // 32-bit integers can't be scaled to [0, 1].
    const bool interpolates =
        options.filter == TextureFilter::linear || options.mipmap_filter == TextureFilter::linear;
    const bool stays_integer = format.kind != ElementFormat::Kind::floating_point &&
                               (!options.normalized_values || format.bits > most_scaled_bits);
    if (!interpolates || !stays_integer) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A linear filter needs floating-point values; the texture's elements "
                            "are {}-bit integers{}.",
                            format.bits,
                            format.bits > most_scaled_bits
                                ? ""
                                : ", which only normalized_values makes floating-point"));
}

Result<TextureHandle> create_object(const std::shared_ptr<DeviceState>& state,
                                    const CUDA_RESOURCE_DESC& resource, ElementFormat format,
                                    const TextureOptions& options) {
    LODE_TRY(check_filter(format, options));
    constexpr unsigned most_anisotropy = 16;
    if (options.max_anisotropy > most_anisotropy) {
        return fail(Errc::invalid_argument,
                    fmt::format("The anisotropy ({}) exceeds {}, the limit.",
                                options.max_anisotropy, most_anisotropy));
    }
    LODE_TRY(state->driver->require(state->table().cuTexObjectCreate, "A texture"));
    const CUDA_TEXTURE_DESC texture = native_options(options);
    CUtexObject handle = 0;
    const OutsideCapture outside(*state->driver);
    auto done = call_in_context(*state, state->table().cuTexObjectCreate, &handle, &resource,
                                &texture, static_cast<const CUDA_RESOURCE_VIEW_DESC*>(nullptr));
    if (!done) {  // The driver doesn't say why.
        return tl::unexpected<Error>(
            std::move(done).error().in("creating a texture; levels need normalized_coordinates"));
    }
    return TextureHandle(handle, state);
}

Status check_multiple(DeviceState& state, std::string_view what, std::size_t value,
                      CUdevice_attribute attribute) {
    LODE_TRY_ASSIGN(const std::size_t unit, device_limit(state, attribute));
    if (unit == 0 || value % unit == 0) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The {} of the texture ({}) isn't a multiple of {}, as {} needs.", what,
                            value, unit, state.describe()));
}

Status check_most(DeviceState& state, std::string_view what, std::size_t value,
                  CUdevice_attribute attribute) {
    LODE_TRY_ASSIGN(const std::size_t limit, device_limit(state, attribute));
    if (value <= limit) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The {} of the texture ({}) exceeds {}, the limit of {}.", what, value,
                            limit, state.describe()));
}

Status check_plane(DeviceState& state, const TextureMemory& memory) {
    LODE_TRY(check_most(state, "width", memory.width,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH));
    LODE_TRY(check_most(state, "height", memory.height,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT));
    LODE_TRY(check_most(state, "pitch", memory.pitch_bytes,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH));
    LODE_TRY(check_multiple(state, "pitch", memory.pitch_bytes,
                            CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT));
    const std::size_t row = memory.width * memory.format.bytes();
    const std::size_t have = memory.elements * memory.format.bytes();
    if (memory.width == 0 || row > memory.pitch_bytes ||
        (memory.height - 1) * memory.pitch_bytes + row > have) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} rows of {} bytes, {} bytes apart, don't fit in {} bytes.",
                                memory.height, row, memory.pitch_bytes, have));
    }
    return {};
}

}  // namespace

void TextureTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuTexObjectDestroy, handle);
}

void SurfaceTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuSurfObjectDestroy, handle);
}

Result<TextureHandle> create_texture(const ArrayHandle& array, ElementFormat format,
                                     const TextureOptions& options) {
    if (!array) return fail_empty("array");
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array.get();
    return create_object(array.owner(), resource, format, options);
}

Result<TextureHandle> create_texture(const MipmappedArrayHandle& array, ElementFormat format,
                                     const TextureOptions& options) {
    if (!array) return fail_empty("mipmapped array");
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = array.get();
    return create_object(array.owner(), resource, format, options);
}

Result<TextureHandle> create_texture(const Device& device, const TextureMemory& memory,
                                     const TextureOptions& options) {
    const auto& state = device.state();
    if (memory.elements == 0) {
        return fail(Errc::invalid_argument, "A texture of memory without elements isn't possible.");
    }
    if (memory.memory.device != nullptr && memory.memory.device != state.get()) {
        return fail_other_device("memory", *memory.memory.device, "texture", *state);
    }
    LODE_TRY(check_multiple(*state, "address", memory.memory.address,
                            CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
    LODE_TRY_ASSIGN(const CUarray_format format, native_format(memory.format));
    CUDA_RESOURCE_DESC resource{};
    if (memory.height == 0 && memory.pitch_bytes == 0) {
        LODE_TRY(check_most(*state, "length", memory.elements,
                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        auto& linear = resource.res.linear;
        linear.devPtr = memory.memory.address;
        linear.format = format;
        linear.numChannels = memory.format.channels;
        linear.sizeInBytes = memory.elements * memory.format.bytes();
        return create_object(state, resource, memory.format, options);
    }
    if (memory.height == 0)
        return fail(Errc::invalid_argument, "A texture of 0 rows isn't possible.");
    LODE_TRY(check_plane(*state, memory));
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    auto& plane = resource.res.pitch2D;
    plane.devPtr = memory.memory.address;
    plane.format = format;
    plane.numChannels = memory.format.channels;
    plane.width = memory.width;
    plane.height = memory.height;
    plane.pitchInBytes = memory.pitch_bytes;
    return create_object(state, resource, memory.format, options);
}

Result<SurfaceHandle> create_surface(const ArrayPlace& array, std::shared_ptr<DeviceState> owner,
                                     bool may_write) {
    if (array.array == nullptr) return fail_empty("array");
    if (!may_write) {
        return fail(Errc::invalid_argument,
                    "A surface needs an array that was created with ArrayOptions::surface.");
    }
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array.array;
    CUsurfObject handle = 0;
    const OutsideCapture outside(*owner->driver);
    LODE_TRY(call_in_context(*owner, owner->table().cuSurfObjectCreate, &handle, &resource));
    return SurfaceHandle(handle, std::move(owner));
}

}  // namespace LODE_NAMESPACE::detail
