/// \file
/// Tensors in device memory as the tensor memory accelerator (TMA) sees them, with all the rules
/// that the driver applies to them. Plain values: nothing here needs a driver.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/native.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The type of a tensor's elements, with the numbers of CUtensorMapDataType. The packed types need
/// a driver for CUDA 12.8 and compute capability 10.0.
enum class TensorType : std::uint8_t {
    u8 = 0,              ///< 1 byte.
    u16 = 1,             ///< 2 bytes.
    u32 = 2,             ///< 4 bytes.
    i32 = 3,             ///< 4 bytes.
    u64 = 4,             ///< 8 bytes.
    i64 = 5,             ///< 8 bytes.
    f16 = 6,             ///< 2 bytes.
    f32 = 7,             ///< 4 bytes.
    f64 = 8,             ///< 8 bytes.
    bf16 = 9,            ///< 2 bytes.
    f32_ftz = 10,        ///< 4 bytes; subnormal numbers become zero.
    tf32 = 11,           ///< 4 bytes.
    tf32_ftz = 12,       ///< 4 bytes; subnormal numbers become zero.
    u4x16_align8 = 13,   ///< 16 numbers of 4 bits in 8 bytes.
    u4x16_align16 = 14,  ///< 16 numbers of 4 bits; in shared memory in every 16 bytes.
    u6x16_align16 = 15   ///< 16 numbers of 6 bits; in shared memory in every 16 bytes.
};

/// The enumerator's own spelling, such as "bf16".
std::string_view to_string(TensorType type) noexcept;

/// How channels are laid out in memory (CUtensorMapInterleave).
enum class TensorInterleave : std::uint8_t {
    none = 0,      ///< The innermost extent is contiguous.
    bytes_16 = 1,  ///< NC/8HWC8: slices of 16 bytes.
    bytes_32 = 2   ///< NC/16HWC16: slices of 32 bytes; needs the swizzle bytes_32.
};

/// How a box is permuted in shared memory to avoid bank conflicts (CUtensorMapSwizzle). The atoms
/// need a driver for CUDA 12.8 and compute capability 10.0.
enum class TensorSwizzle : std::uint8_t {
    none = 0,                      ///< Not at all.
    bytes_32 = 1,                  ///< 16-byte chunks within 32 bytes.
    bytes_64 = 2,                  ///< 16-byte chunks within 64 bytes.
    bytes_128 = 3,                 ///< 16-byte chunks within 128 bytes.
    bytes_128_atom_32 = 4,         ///< 32-byte chunks within 128 bytes.
    bytes_128_atom_32_flip_8 = 5,  ///< The same; every other row also swaps its 8-byte halves.
    bytes_128_atom_64 = 6          ///< 64-byte chunks within 128 bytes.
};

/// How many bytes the L2 cache fetches at once (CUtensorMapL2promotion).
enum class TensorL2Fetch : std::uint8_t {
    none = 0,       ///< What was asked for.
    bytes_64 = 1,   ///< 64 bytes.
    bytes_128 = 2,  ///< 128 bytes.
    bytes_256 = 3   ///< 256 bytes.
};

/// What elements outside the tensor read as (CUtensorMapFloatOOBfill).
enum class TensorFill : std::uint8_t {
    zero = 0,  ///< Zero.
    nan = 1    ///< A NaN that arithmetic treats as zero; only for floating-point types.
};

/// A tensor in device memory. Extents and strides begin with the innermost dimension.
struct TensorLayout {
    TensorType type = TensorType::f32;        ///< The type of the elements.
    NativeDevicePointer address = 0;          ///< A multiple of 16; of 32 for interleave bytes_32.
    std::vector<std::uint64_t> extents = {};  ///< In elements; 1 to 5 of them, each 1 to 2^32.
    /// Bytes from one element to the next in each dimension but the innermost: multiples of 16
    /// below 2^40, one fewer than extents.
    std::vector<std::uint64_t> strides_bytes = {};
    /// The distance of the elements that are read, 1 to 8, one for each extent; empty for all ones.
    std::vector<std::uint32_t> element_strides = {};
    TensorInterleave interleave = TensorInterleave::none;  ///< The layout of channels.
    TensorSwizzle swizzle = TensorSwizzle::none;           ///< The permutation in shared memory.
    TensorL2Fetch l2_fetch = TensorL2Fetch::none;          ///< The size of L2 fetches.
    TensorFill fill = TensorFill::zero;                    ///< Outside the tensor.
};

/// A tensor of which each copy moves a box.
struct TiledTensor {
    TensorLayout layout;                  ///< The tensor.
    std::vector<std::uint32_t> box = {};  ///< In elements, 1 to 256, one for each extent.
};

/// A tensor of pixels with channels (C, W, H, D, N from the innermost) of which each copy moves
/// columns for a convolution. 3 to 5 extents.
struct Im2colTensor {
    TensorLayout layout;  ///< The tensor.
    /// Where the bounding box of base pixels begins, from the tensor's own lower corner: one offset
    /// for each extent but C and N, in the order W, H, D. With one offset −32768 to 32767, with two
    /// −128 to 127, with three −16 to 15.
    std::vector<int> lower_corner = {};
    std::vector<int> upper_corner = {};    ///< The same from the upper corner.
    std::uint32_t channels_per_pixel = 0;  ///< 1 to 256.
    std::uint32_t pixels_per_column = 0;   ///< 1 to 1024.
};

/// How cuTensorMapEncodeIm2colWide moves along W.
enum class Im2colWideMode : std::uint8_t {
    w = 0,      ///< By pixels_per_column pixels.
    w_128 = 1,  ///< By 128 pixels.
};

/// Like Im2colTensor, with a bounding box along W alone. Needs a driver for CUDA 12.8 and compute
/// capability 10.0.
struct Im2colWideTensor {
    TensorLayout layout;         ///< The swizzle is bytes_64, bytes_128 or bytes_128_atom_32.
    int lower_corner_width = 0;  ///< −32768 to 32767.
    int upper_corner_width = 0;  ///< −32768 to 32767.
    std::uint32_t channels_per_pixel = 0;     ///< 1 to 256.
    std::uint32_t pixels_per_column = 0;      ///< 1 to 1024; ignored for w_128.
    Im2colWideMode mode = Im2colWideMode::w;  ///< How it moves along W.
};

/// Checks all that the driver requires (CUDA Driver API, "Tensor Map Object Management") and names
/// the first value that is wrong, with its limit. encode_tensor_map() calls it. Errors:
/// invalid_argument.
[[nodiscard]] Status check_tensor(const TiledTensor& tensor);
/// The same for an im2col tensor.
[[nodiscard]] Status check_tensor(const Im2colTensor& tensor);
/// The same for a wide im2col tensor.
[[nodiscard]] Status check_tensor(const Im2colWideTensor& tensor);

}  // namespace LODE_NAMESPACE

LODE_API_END
