// Bodies that a server sends compressed.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <span>

namespace LODE_NAMESPACE::cache {

/// The plain bytes of a zstd stream. Never allocates more than `limit` bytes for them. Errors:
/// file_failed if it is damaged, incomplete, or longer than `limit`.
[[nodiscard]] Result<Bytes> decompress_body(std::span<const std::byte> body, std::size_t limit);

}  // namespace LODE_NAMESPACE::cache
