// TensorMap: how the tensor memory accelerator (TMA, 9.0 and newer) sees a matrix in device memory.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/native.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lode {

/// An encoded map: pass it by value where the kernel takes a `const __grid_constant__ CUtensorMap`.
/// Valid while the memory it describes is.
struct alignas(128) TensorMap {
    std::array<std::byte, 128> opaque{};
};

/// A row-major matrix of 16-bit floating-point numbers, and the box that one copy moves.
struct HalfMatrix {
    NativeDevicePointer address = 0;  ///< 16-byte aligned.
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t row_bytes = 0;    ///< From one row to the next; a multiple of 16.
    std::uint32_t box_rows = 0;     ///< At most 256.
    std::uint32_t box_columns = 0;  ///< 64: the 128 bytes of one swizzle row.
};

/// Whether the driver encodes tensor maps and the device uses them.
[[nodiscard]] bool has_tensor_maps(const Device& device) noexcept;

/// Encodes a map with the 128-byte swizzle; parts of a box outside the matrix read as zero.
/// Errors: not_supported before 9.0 or without cuTensorMapEncodeTiled; invalid_argument when the
/// driver refuses the matrix, with its extents.
[[nodiscard]] Result<TensorMap> encode_tensor_map(const Device& device, const HalfMatrix& matrix);

}  // namespace lode
