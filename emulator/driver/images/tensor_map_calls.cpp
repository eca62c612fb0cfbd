// cuTensorMap…: the emulator's own encoding, with the driver's checks.
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/memory/tensor_map.hpp"

#include <algorithm>
#include <cstring>

namespace lode::emulator::driver {
namespace {

constexpr std::uint64_t most_extent = std::uint64_t{1} << 32;
constexpr std::uint64_t most_stride = std::uint64_t{1} << 40;
constexpr std::uint32_t most_box = 256;
constexpr std::uint32_t most_step = 8;
/// What a box may take of shared memory. NVIDIA's documents don't say; an H200's driver refuses
/// 256 KiB.
constexpr std::uint64_t most_box_bytes = std::uint64_t{227} * 1024;
constexpr std::uint32_t most_pixels = 1024;

/// The arguments that all encodings have.
struct TensorArguments {
    CUtensorMap* to;
    CUtensorMapDataType type;
    std::uint32_t axes;
    void* address;
    const cuuint64_t* extents;
    const cuuint64_t* strides;
    const cuuint32_t* steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

template <class T>
bool is_multiple(T value, std::uint64_t unit) noexcept {
    return static_cast<std::uint64_t>(value) % unit == 0;
}

bool is_real(TensorElement element) noexcept {
    switch (element) {
        case TensorElement::float16:
        case TensorElement::float32:
        case TensorElement::float64:
        case TensorElement::bfloat16:
        case TensorElement::float32_ftz:
        case TensorElement::tfloat32:
        case TensorElement::tfloat32_ftz:
            return true;
        default:
            return false;
    }
}

/// Packed elements, and swizzles with atoms, are for sm_100 and later.
bool has_newer_maps() {
    const Context* const context = current::top();
    return context != nullptr && context->device().profile.cc.cc_major() >= 10;
}

bool modes_fit(const TensorArguments& a) {
    if (a.interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        a.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        a.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        a.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA ||
        a.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
        return false;
    const auto element = static_cast<TensorElement>(a.type);
    if (a.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_real(element)) return false;
    const bool newer = is_packed(element) || a.swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
    return !newer || has_newer_maps();
}

/// Whether the address, the extents, the strides and the steps are those of a tensor.
bool layout_fits(const TensorArguments& a) noexcept {
    const bool wide = a.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ||
                      static_cast<TensorElement>(a.type) > TensorElement::u4x16_align8;
    const std::uint64_t unit = wide ? 32 : 16;
    if (!is_multiple(reinterpret_cast<std::uintptr_t>(a.address), unit)) return false;
    for (std::uint32_t k = 0; k < a.axes; ++k) {
        if (a.extents[k] == 0 || a.extents[k] > most_extent) return false;
        if (a.steps[k] == 0 || a.steps[k] > most_step) return false;
        if (k > 0 && (a.strides[k - 1] >= most_stride || !is_multiple(a.strides[k - 1], unit)))
            return false;
    }
    return true;
}

/// The bytes of a row in shared memory; packed elements have bits.
std::uint64_t row_bytes(TensorElement element, std::uint64_t count) noexcept {
    switch (element) {
        case TensorElement::u4x16_align8:
            return count / 2;
        case TensorElement::u4x16_align16:
        case TensorElement::u6x16_align16:
            return count;
        default:
            return count * element_bytes(element);
    }
}

/// Whether a row of a box has a valid size for the swizzle.
bool row_fits(const TensorArguments& a, std::uint64_t count) noexcept {
    const auto element = static_cast<TensorElement>(a.type);
    const std::uint64_t bytes = row_bytes(element, count);
    if (!is_multiple(bytes, 16)) return false;
    if (a.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
    switch (a.swizzle) {
        case CU_TENSOR_MAP_SWIZZLE_NONE:
            return true;
        case CU_TENSOR_MAP_SWIZZLE_32B:
            return bytes <= 32;
        case CU_TENSOR_MAP_SWIZZLE_64B:
            return bytes <= 64;
        default:
            return bytes <= 128;
    }
}

/// Checks what all encodings check, and fills in the common fields.
CUresult start(const TensorArguments& a, std::uint32_t fewest_axes, TensorMap& map) {
    if (a.to == nullptr || a.extents == nullptr || a.strides == nullptr || a.steps == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const bool interleaved = a.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
    if (a.axes < std::max(fewest_axes, interleaved ? 3u : 1u) || a.axes > most_tensor_axes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!modes_fit(a) || !layout_fits(a)) return CUDA_ERROR_INVALID_VALUE;
    map.element = static_cast<TensorElement>(a.type);
    map.axes = static_cast<std::uint8_t>(a.axes);
    map.interleave = static_cast<TensorInterleave>(a.interleave);
    map.swizzle = static_cast<TensorSwizzle>(a.swizzle);
    map.fill_nan = a.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 1 : 0;
    map.address = reinterpret_cast<std::uint64_t>(a.address);
    for (std::uint32_t k = 0; k < a.axes; ++k) {
        map.last_coordinate[k] = static_cast<std::uint32_t>(a.extents[k] - 1);
        map.steps[k] = static_cast<std::uint8_t>(a.steps[k]);
        if (k > 0) map.strides[k - 1] = a.strides[k - 1];
    }
    return CUDA_SUCCESS;
}

void store(const TensorMap& map, CUtensorMap* to) {
    std::memset(to, 0, sizeof *to);
    std::memcpy(to, &map, sizeof map);
}

CUresult encode_tiles(const TensorArguments& a, const cuuint32_t* box) {
    TensorMap map;
    if (const CUresult state = start(a, 1, map); state != CUDA_SUCCESS) return state;
    if (box == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::uint32_t k = 0; k < a.axes; ++k) {
        if (box[k] == 0 || box[k] > most_box) return CUDA_ERROR_INVALID_VALUE;
        map.box[k] = static_cast<std::uint16_t>(box[k]);
    }
    if (!row_fits(a, box[0])) return CUDA_ERROR_INVALID_VALUE;
    std::uint64_t bytes = row_bytes(map.element, box[0]);
    for (std::uint32_t k = 1; k < a.axes; ++k)
        bytes *= (box[k] + a.steps[k] - 1) / a.steps[k];
    if (bytes > most_box_bytes) return CUDA_ERROR_INVALID_VALUE;
    store(map, a.to);
    return CUDA_SUCCESS;
}

/// Whether pixels from one corner to the other, along an axis, are at least one.
bool box_fits(std::uint64_t extent, int lower, int upper) noexcept {
    return static_cast<std::int64_t>(extent) + upper > lower;
}

/// Sets the sizes of im2col.
CUresult set_pixels(const TensorArguments& a, std::uint32_t channels, std::uint32_t pixels,
                    TensorMap& map) {
    if (channels == 0 || channels > most_box || pixels == 0 || pixels > most_pixels ||
        !row_fits(a, channels))
        return CUDA_ERROR_INVALID_VALUE;
    map.channels = static_cast<std::uint16_t>(channels);
    map.pixels = static_cast<std::uint16_t>(pixels);
    return CUDA_SUCCESS;
}

CUresult encode_columns(const TensorArguments& a, const int* lower, const int* upper,
                        std::uint32_t channels, std::uint32_t pixels) {
    TensorMap map;
    if (const CUresult state = start(a, 3, map); state != CUDA_SUCCESS) return state;
    if (lower == nullptr || upper == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (is_packed(map.element)) return CUDA_ERROR_INVALID_VALUE;
    map.mode = TensorMode::im2col;
    const std::uint32_t spatial = a.axes - 2;
    // The corners share 32 bits.
    constexpr int reach[] = {1 << 15, 1 << 7, 1 << 4};
    const int most = reach[spatial - 1];
    for (std::uint32_t k = 0; k < spatial; ++k) {
        if (lower[k] < -most || lower[k] >= most || upper[k] < -most || upper[k] >= most)
            return CUDA_ERROR_INVALID_VALUE;
        if (!box_fits(a.extents[k + 1], lower[k], upper[k])) return CUDA_ERROR_INVALID_VALUE;
        map.lower[k] = static_cast<std::int16_t>(lower[k]);
        map.upper[k] = static_cast<std::int16_t>(upper[k]);
    }
    if (const CUresult state = set_pixels(a, channels, pixels, map); state != CUDA_SUCCESS)
        return state;
    store(map, a.to);
    return CUDA_SUCCESS;
}

/// Whether the wide modes have the swizzle, with what packed elements need besides.
bool wide_element_fits(const TensorArguments& a, std::uint32_t channels) noexcept {
    constexpr std::uint32_t all = 128;
    const auto element = static_cast<TensorElement>(a.type);
    if (element > TensorElement::u4x16_align8) {
        if (a.swizzle == CU_TENSOR_MAP_SWIZZLE_64B || channels != all ||
            !is_multiple(a.extents[0], all))
            return false;
    } else if (is_packed(element) && !is_multiple(a.extents[0], 2)) {
        return false;
    }
    return a.swizzle == CU_TENSOR_MAP_SWIZZLE_64B || a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
           a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
}

CUresult encode_wide_columns(const TensorArguments& a, int lower, int upper, std::uint32_t channels,
                             std::uint32_t pixels, CUtensorMapIm2ColWideMode mode) {
    TensorMap map;
    if (const CUresult state = start(a, 3, map); state != CUDA_SUCCESS) return state;
    constexpr int most = 1 << 15;
    if (lower < -most || lower >= most || upper < -most || upper >= most ||
        mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 || !has_newer_maps() ||
        !wide_element_fits(a, channels) || !box_fits(a.extents[1], lower, upper))
        return CUDA_ERROR_INVALID_VALUE;
    map.mode =
        mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ? TensorMode::im2col_w : TensorMode::im2col_w_128;
    // Columns of 128 pixels have no other length.
    if (map.mode == TensorMode::im2col_w_128) pixels = 128;
    map.lower[0] = static_cast<std::int16_t>(lower);
    map.upper[0] = static_cast<std::int16_t>(upper);
    if (const CUresult state = set_pixels(a, channels, pixels, map); state != CUDA_SUCCESS)
        return state;
    store(map, a.to);
    return CUDA_SUCCESS;
}

}  // namespace

LODE_ENTRY cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                  cuuint32_t tensorRank, void* globalAddress,
                                  const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
                                  const cuuint32_t* boxDim, const cuuint32_t* elementStrides,
                                  CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                  CUtensorMapL2promotion l2Promotion,
                                  CUtensorMapFloatOOBfill oobFill) {
    return enter(__func__, [&] {
        return encode_tiles(
            {tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
             elementStrides, interleave, swizzle, l2Promotion, oobFill},
            boxDim);
    });
}

LODE_ENTRY cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                   cuuint32_t tensorRank, void* globalAddress,
                                   const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
                                   const int* pixelBoxLowerCorner, const int* pixelBoxUpperCorner,
                                   cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                   const cuuint32_t* elementStrides,
                                   CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion l2Promotion,
                                   CUtensorMapFloatOOBfill oobFill) {
    return enter(__func__, [&] {
        return encode_columns(
            {tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
             elementStrides, interleave, swizzle, l2Promotion, oobFill},
            pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, pixelsPerColumn);
    });
}

LODE_ENTRY cuTensorMapEncodeIm2colWide(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    return enter(__func__, [&] {
        return encode_wide_columns(
            {tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
             elementStrides, interleave, swizzle, l2Promotion, oobFill},
            pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, channelsPerPixel, pixelsPerColumn,
            mode);
    });
}

LODE_ENTRY cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
    return enter(__func__, [&]() -> CUresult {
        if (tensorMap == nullptr ||
            !is_multiple(reinterpret_cast<std::uintptr_t>(globalAddress), 16))
            return CUDA_ERROR_INVALID_VALUE;
        TensorMap map;
        std::memcpy(static_cast<void*>(&map), tensorMap, sizeof map);
        if (map.magic != TensorMap::magic_number) return CUDA_ERROR_INVALID_VALUE;
        map.address = reinterpret_cast<std::uint64_t>(globalAddress);
        store(map, tensorMap);
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
