/// \file
/// TensorMap: describes a tensor in device memory to the tensor memory accelerator (TMA, 9.0 and
/// newer).
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/tensor_layout.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// An encoded map, in the layout of CUtensorMap. Pass it by value as a kernel's `const
/// __grid_constant__ CUtensorMap` parameter. Doesn't own the memory that it describes; valid as
/// long as that memory.
struct alignas(128) TensorMap {
    std::array<std::byte, 128> opaque{};  ///< The driver's encoding.
};

/// A row-major matrix of 16-bit floating-point numbers (f16), and the box that each copy moves.
struct HalfMatrix {
    NativeDevicePointer address = 0;  ///< 16-byte aligned.
    std::uint64_t rows = 0;           ///< Height of the matrix.
    std::uint64_t columns = 0;        ///< Width of the matrix, in elements.
    std::uint64_t row_bytes = 0;      ///< From one row to the next; a multiple of 16.
    std::uint32_t box_rows = 0;       ///< At most 256.
    std::uint32_t box_columns = 0;    ///< At most 64, which fill the 128 bytes of one swizzle row.
};

/// Whether the driver can encode tensor maps and the device can use them (9.0 and newer).
[[nodiscard]] bool has_tensor_maps(const Device& device) noexcept;

/// Encodes a map with the 128-byte swizzle (cuTensorMapEncodeTiled); parts of a box outside the
/// matrix read as zero. Errors: not_supported before 9.0 or if the driver lacks the call;
/// invalid_argument with the extents if the driver refuses the matrix.
[[nodiscard]] Result<TensorMap> encode_tensor_map(const Device& device, const HalfMatrix& matrix);

/// Encodes a map for copies of boxes (cuTensorMapEncodeTiled). Errors: those of check_tensor();
/// not_supported before 9.0, for the packed types and the swizzles with atoms before 10.0, or if
/// the driver lacks the call; invalid_argument with the tensor if the driver refuses it.
[[nodiscard]] Result<TensorMap> encode_tensor_map(const Device& device, const TiledTensor& tensor);
/// The same for the columns of a convolution (cuTensorMapEncodeIm2col).
[[nodiscard]] Result<TensorMap> encode_tensor_map(const Device& device, const Im2colTensor& tensor);
/// The same with a bounding box along W alone (cuTensorMapEncodeIm2colWide); not_supported before
/// 10.0.
[[nodiscard]] Result<TensorMap> encode_tensor_map(const Device& device,
                                                  const Im2colWideTensor& tensor);

/// Moves a map to another address; all else stays as it is (cuTensorMapReplaceAddress). Errors:
/// invalid_argument for an address that isn't a multiple of 16; not_supported as above; the
/// driver's own. The map is unchanged after an error.
[[nodiscard]] Status replace_address(const Device& device, TensorMap& map,
                                     NativeDevicePointer address);

}  // namespace LODE_NAMESPACE

LODE_API_END
