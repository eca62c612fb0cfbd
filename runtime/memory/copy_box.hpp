// Copies of boxes between host memory, pitched device memory and arrays, in every combination.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/runtime/box.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>

namespace LODE_NAMESPACE::detail {

/// One side of a copy.
struct BoxSide {
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    void* host = nullptr;             ///< CU_MEMORYTYPE_HOST: the first byte. Only read from.
    NativeDevicePointer address = 0;  ///< CU_MEMORYTYPE_DEVICE: the first byte.
    CUarray array = nullptr;          ///< CU_MEMORYTYPE_ARRAY.
    BoxOffset offset = {};            ///< In the array; x in bytes.
    std::size_t pitch = 0;            ///< Bytes from row to row, except of arrays.
    std::size_t slice_rows = 0;       ///< Rows from slice to slice, except of arrays.
    DeviceState* device = nullptr;  ///< Null for the host, and for memory of no particular device.
};

/// The driver's description of a copy on one device; the box's width is in bytes.
[[nodiscard]] CUDA_MEMCPY3D describe_copy(const BoxSide& to, const BoxSide& from,
                                          BoxExtent box) noexcept;

/// Copies a box, whose width is in bytes. If `stream` is null, the call waits for all work on the
/// devices of both sides and blocks until it is done.
[[nodiscard]] Status copy_box(const BoxSide& to, const BoxSide& from, BoxExtent box,
                              const StreamRef* stream);

}  // namespace LODE_NAMESPACE::detail
