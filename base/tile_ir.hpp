// The header of Tile IR, the code of tile kernels.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace LODE_NAMESPACE {

/// Version X.Y of Tile IR as 1000 X + 10 Y, like a CUDA version; nullopt for anything else.
/// Source: Tile IR, "Binary Format": a magic number of 8 bytes, one byte for X, one for Y.
[[nodiscard]] std::optional<int> tile_ir_version(std::span<const std::byte> bytes) noexcept;

}  // namespace LODE_NAMESPACE
