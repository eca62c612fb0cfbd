#include "runtime/texture/array.hpp"

#include "runtime/memory/copy_box.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"

#include <lode/runtime/array.hpp>

#include <algorithm>
#include <bit>
#include <string_view>

#include <cuda.h>
#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

constexpr std::size_t cube_faces = 6;

bool is_layered(ArrayShape shape) noexcept {
    return shape == ArrayShape::layered || shape == ArrayShape::layered_cubemap;
}
bool is_cube(ArrayShape shape) noexcept {
    return shape == ArrayShape::cubemap || shape == ArrayShape::layered_cubemap;
}

/// The attributes that limit each extent; 0 where there is none.
struct ExtentLimits {
    int width = 0, height = 0, depth = 0;
};

/// The limits of one kind of array: for textures, and for surfaces.
ExtentLimits limits_of(const ArrayExtent& extent, const ArrayOptions& options) {
    const bool surface = options.surface;
    if (options.shape == ArrayShape::layered_cubemap) {
        if (surface) {
            return {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 0,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS};
        }
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 0,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS};
    }
    if (options.shape == ArrayShape::cubemap) {
        return {surface ? CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH
                        : CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH};
    }
    if (options.shape == ArrayShape::layered && extent.height == 0) {
        if (surface) {
            return {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, 0,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS};
        }
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 0,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS};
    }
    if (options.shape == ArrayShape::layered) {
        if (surface) {
            return {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS};
        }
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS};
    }
    if (options.gather) {
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT};
    }
    if (extent.height == 0) {
        return {surface ? CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH
                        : CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH};
    }
    if (extent.depth == 0 && surface) {
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT};
    }
    if (extent.depth == 0) {
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT};
    }
    if (surface) {
        return {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT,
                CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH};
    }
    return {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH,
            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH};
}

Status check_array_extents(const ArrayExtent& extent, const ArrayOptions& options) {
    const auto refuse = [&](std::string_view why) {
        return fail(
            Errc::invalid_argument,
            fmt::format("An array of {} elements isn't possible: {}.", extent_text(extent), why));
    };
    if (extent.width == 0) return refuse("its width is 0");
    if (is_cube(options.shape)) {
        if (extent.width != extent.height) return refuse("the faces of a cube are square");
        if (options.shape == ArrayShape::cubemap && extent.depth != cube_faces)
            return refuse("a cubemap has a depth of 6");
        if (extent.depth == 0 || extent.depth % cube_faces != 0)
            return refuse("the depth of layered cubemaps is a multiple of 6");
    } else if (is_layered(options.shape)) {
        if (extent.depth == 0) return refuse("a layered array has a depth");
    } else if (extent.height == 0 && extent.depth != 0) {
        return refuse("only a layered array has a depth without a height");
    }
    if (options.gather &&
        (options.shape != ArrayShape::plain || extent.height == 0 || extent.depth != 0))
        return refuse("only a plane can be gathered from");
    return {};
}

Status check_limit(DeviceState& state, std::string_view what, std::size_t value, int attribute) {
    if (attribute == 0) return {};
    LODE_TRY_ASSIGN(const std::size_t limit,
                    device_limit(state, static_cast<CUdevice_attribute>(attribute)));
    if (value <= limit) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The {} of the array ({}) exceeds {}, the limit of {} for such an "
                            "array.",
                            what, value, limit, state.describe()));
}

Result<CUDA_ARRAY3D_DESCRIPTOR> descriptor_of(DeviceState& state, const ElementFormat& format,
                                              const ArrayExtent& extent,
                                              const ArrayOptions& options) {
    LODE_TRY(check_array_extents(extent, options));
    const ExtentLimits limits = limits_of(extent, options);
    LODE_TRY(check_limit(state, "width", extent.width, limits.width));
    LODE_TRY(check_limit(state, "height", extent.height, limits.height));
    LODE_TRY(check_limit(state, "depth", extent.depth, limits.depth));
    unsigned flags = 0;
    if (is_layered(options.shape)) flags |= CUDA_ARRAY3D_LAYERED;
    if (is_cube(options.shape)) flags |= CUDA_ARRAY3D_CUBEMAP;
    if (options.surface) flags |= CUDA_ARRAY3D_SURFACE_LDST;
    if (options.gather) flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    LODE_TRY_ASSIGN(const CUarray_format native, native_format(format));
    return CUDA_ARRAY3D_DESCRIPTOR{extent.width, extent.height,   extent.depth,
                                   native,       format.channels, flags};
}

/// The extents of level `number`.
ArrayExtent level_extent(const ArrayExtent& first, ArrayShape shape, unsigned number) noexcept {
    const auto smaller = [&](std::size_t extent) {
        return extent == 0 ? 0 : std::max<std::size_t>(extent >> number, 1);
    };
    const bool keeps_depth = shape != ArrayShape::plain;
    return {smaller(first.width), smaller(first.height),
            keeps_depth ? first.depth : smaller(first.depth)};
}

Status check_copy(const ArrayPlace& array, const ArrayBox& box, const CopiedElements& elements,
                  const StreamRef* stream) {
    if (array.array == nullptr) return fail_empty("array");
    if (stream != nullptr) LODE_TRY(check_stream_of(*array.device, *stream, "array"));
    const ArrayBox whole = whole_box(array.extent);
    const BoxOffset offset{box.x, box.y, box.z};
    const BoxExtent part{box.width, box.height, box.depth};
    LODE_TRY(check_box(offset, part, {whole.width, whole.height, whole.depth})
                 .map_error([](Error error) { return std::move(error).in("copying an array"); }));
    if (elements.count != box.volume()) {
        return fail(Errc::invalid_argument,
                    fmt::format("The number of elements ({}) isn't that of the box ({}).",
                                elements.count, box.volume()));
    }
    if (elements.memory.pitch != 0) LODE_TRY(check_same_extent(elements.extent, part));
    const DeviceState* const memory = elements.memory.memory.device;
    if (!elements.is_host && memory != nullptr && memory != array.device)
        return fail_other_device("array", *array.device, "memory", *memory);
    return {};
}

}  // namespace

void ArrayTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuArrayDestroy, handle);
}

void MipmappedArrayTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuMipmappedArrayDestroy, handle);
}

Result<CUarray_format> native_format(const ElementFormat& format) {
    using Kind = ElementFormat::Kind;
    struct Row {
        Kind kind;
        unsigned bits;
        CUarray_format native;
    };
    constexpr Row rows[] = {{Kind::unsigned_integer, 8, CU_AD_FORMAT_UNSIGNED_INT8},
                            {Kind::unsigned_integer, 16, CU_AD_FORMAT_UNSIGNED_INT16},
                            {Kind::unsigned_integer, 32, CU_AD_FORMAT_UNSIGNED_INT32},
                            {Kind::signed_integer, 8, CU_AD_FORMAT_SIGNED_INT8},
                            {Kind::signed_integer, 16, CU_AD_FORMAT_SIGNED_INT16},
                            {Kind::signed_integer, 32, CU_AD_FORMAT_SIGNED_INT32},
                            {Kind::floating_point, 16, CU_AD_FORMAT_HALF},
                            {Kind::floating_point, 32, CU_AD_FORMAT_FLOAT}};
    for (const Row& row : rows) {
        if (row.kind == format.kind && row.bits == format.bits) return row.native;
    }
    return fail(Errc::invalid_argument,
                fmt::format("Arrays have no such components of {} bits.", format.bits));
}

Result<ArrayHandle> create_array(const Device& device, const ElementFormat& format,
                                 const ArrayExtent& extent, const ArrayOptions& options) {
    const auto& state = device.state();
    LODE_TRY(state->driver->require(state->table().cuArray3DCreate, "An array"));
    LODE_TRY_ASSIGN(const CUDA_ARRAY3D_DESCRIPTOR descriptor,
                    descriptor_of(*state, format, extent, options));
    CUarray array = nullptr;
    const OutsideCapture outside(*state->driver);
    LODE_TRY(call_in_context(*state, state->table().cuArray3DCreate, &array, &descriptor)
                 .map_error([&](Error error) {
                     return explain_out_of_memory(*state, std::move(error),
                                                  extent.volume() * format.bytes());
                 }));
    return ArrayHandle(array, state);
}

Result<MipmappedArrayHandle> create_mipmapped_array(const Device& device,
                                                    const ElementFormat& format,
                                                    const ArrayExtent& extent,
                                                    const ArrayOptions& options, unsigned levels) {
    const auto& state = device.state();
    LODE_TRY(state->driver->require(state->table().cuMipmappedArrayCreate, "A mipmapped array"));
    LODE_TRY_ASSIGN(const CUDA_ARRAY3D_DESCRIPTOR descriptor,
                    descriptor_of(*state, format, extent, options));
    const std::size_t depth = options.shape == ArrayShape::plain ? extent.depth : 0;
    const auto most =
        static_cast<unsigned>(std::bit_width(std::max({extent.width, extent.height, depth})));
    if (levels == 0 || levels > most) {
        return fail(Errc::invalid_argument,
                    fmt::format("The number of levels ({}) isn't between 1 and that of an array of "
                                "{} elements ({}).",
                                levels, extent_text(extent), most));
    }
    CUmipmappedArray array = nullptr;
    const OutsideCapture outside(*state->driver);
    LODE_TRY(
        call_in_context(*state, state->table().cuMipmappedArrayCreate, &array, &descriptor, levels)
            .map_error([&](Error error) {
                std::size_t elements = 0;
                for (unsigned level = 0; level < levels; ++level)
                    elements += level_extent(extent, options.shape, level).volume();
                return explain_out_of_memory(*state, std::move(error), elements * format.bytes());
            }));
    return MipmappedArrayHandle(array, state);
}

Result<ArrayPlace> level_of(const MipmappedArrayHandle& array, const ArrayExtent& first,
                            ArrayShape shape, std::size_t element_bytes, unsigned levels,
                            unsigned level) {
    if (!array) return fail_empty("mipmapped array");
    if (level >= levels) {
        return fail(Errc::invalid_argument,
                    fmt::format("Level {} doesn't exist: the array has {} levels.", level, levels));
    }
    DeviceState& state = *array.owner();
    CUarray native = nullptr;
    LODE_TRY(call_in_context(state, state.table().cuMipmappedArrayGetLevel, &native, array.get(),
                             level));
    return ArrayPlace{native, &state, level_extent(first, shape, level), element_bytes};
}

Status copy_array(const ArrayPlace& array, const ArrayBox& box, const CopiedElements& elements,
                  bool to_array, const StreamRef* stream) {
    LODE_TRY(check_copy(array, box, elements, stream));
    const BoxSide place = {.type = CU_MEMORYTYPE_ARRAY,
                           .array = array.array,
                           .offset = {box.x * array.element_bytes, box.y, box.z},
                           .device = array.device};
    const BoxExtent part{box.width * array.element_bytes, box.height, box.depth};
    const PitchedMemory& memory = elements.memory;
    const bool is_packed = memory.pitch == 0;
    const BoxSide other = {.type = elements.is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                           .host = elements.host,
                           .address = memory.memory.address,
                           .pitch = is_packed ? part.width : memory.pitch,
                           .slice_rows = is_packed ? part.height : memory.slice_rows,
                           .device = memory.memory.device};
    return to_array ? copy_box(place, other, part, stream) : copy_box(other, place, part, stream);
}

ArrayBox whole_box(const ArrayExtent& extent) noexcept {
    return {0,
            0,
            0,
            extent.width,
            std::max<std::size_t>(extent.height, 1),
            std::max<std::size_t>(extent.depth, 1)};
}

}  // namespace LODE_NAMESPACE::detail
