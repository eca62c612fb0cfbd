// Tensor maps: how the emulator encodes a tensor and a box for tensor copies.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace lode::emulator {

// The numbers are those of the driver's enumerations, which lack bytes_96: cuda.h names it in a
// comment only, so that nothing but a kernel makes such a map.
enum class TensorElement : std::uint8_t {
    uint8,
    uint16,
    uint32,
    int32,
    uint64,
    int64,
    float16,
    float32,
    float64,
    bfloat16,
    float32_ftz,
    tfloat32,
    tfloat32_ftz,
    u4x16_align8,
    u4x16_align16,
    u6x16_align16
};
enum class TensorInterleave : std::uint8_t { none, bytes_16, bytes_32 };
enum class TensorSwizzle : std::uint8_t {
    none,
    bytes_32,
    bytes_64,
    bytes_128,
    bytes_128_atom_32,
    bytes_128_atom_32_flip_8,
    bytes_128_atom_64,
    bytes_96
};
enum class TensorMode : std::uint8_t { tile, im2col, im2col_w, im2col_w_128 };

inline constexpr std::uint32_t most_tensor_axes = 5;

/// The contents of a CUtensorMap, which nothing but the emulator reads.
struct TensorMap {
    static constexpr std::uint32_t magic_number = 0x746c6574;

    std::uint32_t magic = magic_number;
    TensorElement element = TensorElement::uint8;
    std::uint8_t axes = 0;
    TensorInterleave interleave = TensorInterleave::none;
    TensorSwizzle swizzle = TensorSwizzle::none;
    TensorMode mode = TensorMode::tile;
    std::uint8_t fill_nan = 0;
    std::uint16_t channels = 0;  ///< Channels of a pixel, for im2col.
    std::uint16_t pixels = 0;    ///< Pixels of a column, for im2col.
    std::uint16_t unused = 0;
    std::uint64_t address = 0;
    std::array<std::uint64_t, most_tensor_axes - 1> strides{};      ///< In bytes, from axis 1 on.
    std::array<std::uint32_t, most_tensor_axes> last_coordinate{};  ///< The extents minus one.
    std::array<std::uint16_t, most_tensor_axes> box{};
    std::array<std::uint8_t, most_tensor_axes> steps{};  ///< Between the elements to copy.
    std::uint8_t atomicity = 0;  ///< What a kernel has set, for a swizzle of 128 bytes.
    std::array<std::int8_t, 2> unused_corner{};
    std::array<std::int16_t, 3> lower{}, upper{};  ///< The corners of the pixels, from axis 1 on.
    std::uint16_t unused_end = 0;
    /// The fields without a default that a kernel hasn't set yet in a map that it makes: bit
    /// 5 * field + ordinal, for the first fields of tensormap.replace.
    std::uint32_t missing = 0;
};
static_assert(sizeof(TensorMap) <= 128 && std::has_unique_object_representations_v<TensorMap>);

/// Bytes of an element of the tensor in memory; 0 for packed types.
constexpr std::uint32_t element_bytes(TensorElement element) noexcept {
    constexpr std::uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 0, 0, 0};
    return sizes[static_cast<std::uint8_t>(element)];
}

constexpr bool is_packed(TensorElement element) noexcept {
    return element >= TensorElement::u4x16_align8;
}

/// 16 packed elements: bytes in the tensor, and in shared memory, where a gap may follow them.
struct PackedUnit {
    static constexpr std::uint32_t elements = 16;
    std::uint32_t bytes, shared_bytes;
};
constexpr PackedUnit packed_unit(TensorElement element) noexcept {
    if (element == TensorElement::u4x16_align8) return {8, 8};
    return {element == TensorElement::u6x16_align16 ? 12u : 8u, 16};
}

}  // namespace lode::emulator
