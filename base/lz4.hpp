// A decoder of LZ4 blocks, the older compression of fat binaries.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace LODE_NAMESPACE {

/// Decompresses one block into exactly `plain_bytes` bytes; nullopt for bytes that aren't such a
/// block. Accepts any bytes.
std::optional<std::vector<std::byte>> decompress_lz4(std::span<const std::byte> block,
                                                     std::size_t plain_bytes);

}  // namespace LODE_NAMESPACE
