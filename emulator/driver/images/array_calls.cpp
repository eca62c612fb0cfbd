// cuArray… and cuMipmappedArray…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/images/arrays.hpp"
#include "emulator/driver/memory/copies.hpp"

#include <algorithm>
#include <bit>

namespace lode::emulator::driver {
namespace {

constexpr unsigned cube_faces = 6;

bool has(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned flag) noexcept {
    return (descriptor.Flags & flag) != 0;
}

/// The largest extents of an array, as the device's attributes report them.
struct ArrayLimits {
    std::size_t width, height, depth;
};

struct ShapeRow {
    ImageShape shape;
    ArrayLimits most;          ///< Attributes 21 to 54 of attributes.def.
    ArrayLimits most_surface;  ///< Attributes 55 to 68.
};
constexpr ShapeRow array_shapes[] = {
    {ImageShape::line, {131072, 1, 1}, {32768, 1, 1}},
    {ImageShape::plane, {131072, 65536, 1}, {131072, 65536, 1}},
    {ImageShape::volume, {16384, 16384, 16384}, {16384, 16384, 16384}},
    {ImageShape::line_layers, {32768, 1, 2048}, {32768, 1, 2048}},
    {ImageShape::plane_layers, {32768, 32768, 2048}, {32768, 32768, 2048}},
    {ImageShape::cube, {32768, 32768, cube_faces}, {32768, 32768, cube_faces}},
    {ImageShape::cube_layers, {32768, 32768, 2046}, {32768, 32768, 2046}},
};

/// The shape that a descriptor's extents and flags select; nothing if they contradict each other.
std::optional<ImageShape> array_shape(const CUDA_ARRAY3D_DESCRIPTOR& given) noexcept {
    if (given.Width == 0) return std::nullopt;
    const bool is_layered = has(given, CUDA_ARRAY3D_LAYERED);
    if (has(given, CUDA_ARRAY3D_CUBEMAP)) {
        const bool fits = given.Width == given.Height && given.Depth != 0 &&
                          given.Depth % cube_faces == 0 &&
                          (is_layered || given.Depth == cube_faces);
        if (!fits) return std::nullopt;
        return is_layered ? ImageShape::cube_layers : ImageShape::cube;
    }
    if (is_layered) {
        if (given.Depth == 0) return std::nullopt;
        return given.Height == 0 ? ImageShape::line_layers : ImageShape::plane_layers;
    }
    if (given.Height == 0 && given.Depth == 0) return ImageShape::line;
    if (given.Depth == 0) return ImageShape::plane;
    if (given.Height == 0) return std::nullopt;
    return ImageShape::volume;
}

/// Checks a descriptor; the shape and component are valid on success.
CUresult check_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& given, ImageShape& shape,
                          Component& component) {
    constexpr unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                               CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
    constexpr unsigned later = CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT |
                               CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING |
                               CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    if ((given.Flags & ~(known | later)) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (has(given, later)) return gate::refuse("depth, sparse, deferred and video arrays");
    const auto found_shape = array_shape(given);
    const bool channels_fit =
        given.NumChannels == 1 || given.NumChannels == 2 || given.NumChannels == 4;
    if (!found_shape || !channels_fit) return CUDA_ERROR_INVALID_VALUE;
    shape = *found_shape;
    if (has(given, CUDA_ARRAY3D_TEXTURE_GATHER) && shape != ImageShape::plane)
        return CUDA_ERROR_INVALID_VALUE;
    const auto found = component_of(given.Format);
    if (!found) {
        return given.Format >= CU_AD_FORMAT_UNORM_INT_101010_2
                   ? gate::refuse("arrays of compressed, planar and normalised formats")
                   : CUDA_ERROR_INVALID_VALUE;
    }
    component = *found;
    const auto row = std::ranges::find(array_shapes, shape, &ShapeRow::shape);
    const ArrayLimits& most = has(given, CUDA_ARRAY3D_SURFACE_LDST) ? row->most_surface : row->most;
    const bool fits = given.Width <= most.width &&
                      std::max<std::size_t>(given.Height, 1) <= most.height &&
                      std::max<std::size_t>(given.Depth, 1) <= most.depth;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult make_array(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& given, const char* label,
                    bool is_level, std::shared_ptr<Array>& made) {
    ImageShape shape{};
    Component component{};
    if (const CUresult state = check_descriptor(given, shape, component); state != CUDA_SUCCESS)
        return state;
    ImageLevel level;
    level.width = static_cast<std::uint32_t>(given.Width);
    level.height = static_cast<std::uint32_t>(std::max<std::size_t>(given.Height, 1));
    level.depth = static_cast<std::uint32_t>(std::max<std::size_t>(given.Depth, 1));
    level.pitch = given.Width * bytes_of(component) * given.NumChannels;
    level.slice = level.pitch * level.height;
    const CheckedSize bytes = CheckedSize(level.slice) * level.depth;
    if (!bytes.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto address =
        driver().allocations.allocate(context, bytes.value(), MemoryKind::device, label);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    level.address = *address;
    // The driver doesn't define the contents of an array. For the init check they count as written,
    // because textures aren't checked.
    driver().memory.note_write(level.address, bytes.value());
    made = std::make_shared<Array>(context.shared_from_this(), given, shape, component, level,
                                   is_level);
    return CUDA_SUCCESS;
}

CUresult create_array(const char* symbol, CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                      const char* label) {
    return enter_context(symbol, [&](Context& context) -> CUresult {
        if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Array> made;
        const CUresult state = make_array(context, *descriptor, label, false, made);
        if (state == CUDA_SUCCESS) *out = driver().arrays.add(std::move(made));
        return state;
    });
}

/// Level `number` of a mipmapped array: each extent is halved, but not that of layers.
CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& first, unsigned number) {
    CUDA_ARRAY3D_DESCRIPTOR made = first;
    const auto smaller = [&](std::size_t extent) {
        return extent == 0 ? 0 : std::max<std::size_t>(extent >> number, 1);
    };
    made.Width = smaller(first.Width);
    made.Height = smaller(first.Height);
    if (!has(first, CUDA_ARRAY3D_LAYERED) && !has(first, CUDA_ARRAY3D_CUBEMAP))
        made.Depth = smaller(first.Depth);
    return made;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& first) {
    const bool has_depth = !has(first, CUDA_ARRAY3D_LAYERED) && !has(first, CUDA_ARRAY3D_CUBEMAP);
    const std::size_t most =
        std::max({first.Width, first.Height, has_depth ? first.Depth : std::size_t{0}});
    return static_cast<unsigned>(std::bit_width(most));
}

}  // namespace

LODE_ENTRY cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
    CUDA_ARRAY3D_DESCRIPTOR whole{};
    if (pAllocateArray != nullptr) {
        whole = {pAllocateArray->Width,  pAllocateArray->Height,      0,
                 pAllocateArray->Format, pAllocateArray->NumChannels, 0};
    }
    return create_array(__func__, pHandle, pAllocateArray == nullptr ? nullptr : &whole,
                        "cuArrayCreate");
}

LODE_ENTRY cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
    return create_array(__func__, pHandle, pAllocateArray, "cuArray3DCreate");
}

LODE_ENTRY cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto array = driver().arrays.find(hArray);
        if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const CUDA_ARRAY3D_DESCRIPTOR& all = array->descriptor();
        *pArrayDescriptor = {all.Width, all.Height, all.Format, all.NumChannels};
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto array = driver().arrays.find(hArray);
        if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *pArrayDescriptor = array->descriptor();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuArrayDestroy(CUarray hArray) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto array = driver().arrays.find(hArray);
        if (array == nullptr || array->is_level()) return CUDA_ERROR_INVALID_HANDLE;
        array->context().drain();  // Running work may use the memory.
        driver().arrays.remove(hArray);
        return array->context().error();
    });
}

LODE_ENTRY cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                  const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                  unsigned int numMipmapLevels) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0)
            return CUDA_ERROR_INVALID_VALUE;
        // More levels than the extents have are as many as they have.
        const unsigned count =
            std::min(numMipmapLevels, std::max(most_levels(*pMipmappedArrayDesc), 1u));
        std::vector<std::shared_ptr<Array>> levels(count);
        for (unsigned k = 0; k < count; ++k) {
            const CUresult state = make_array(context, level_descriptor(*pMipmappedArrayDesc, k),
                                              "cuMipmappedArrayCreate", true, levels[k]);
            if (state != CUDA_SUCCESS) return state;
        }
        for (const auto& level : levels)
            driver().arrays.add(level);
        *pHandle =
            driver().mipmapped_arrays.add(std::make_shared<MipmappedArray>(std::move(levels)));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                    unsigned int level) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        const auto all = driver().mipmapped_arrays.find(hMipmappedArray);
        if (all == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (pLevelArray == nullptr || level >= all->levels.size()) return CUDA_ERROR_INVALID_VALUE;
        *pLevelArray = driver().arrays.native_of(*all->levels[level]);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto all = driver().mipmapped_arrays.remove(hMipmappedArray);
        if (all == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        all->context().drain();
        for (const auto& level : all->levels)
            driver().arrays.remove(driver().arrays.native_of(*level));
        return all->context().error();
    });
}

}  // namespace lode::emulator::driver
