// The value of a remote record: a serialised ActionResult of Bazel's remote execution API, as far
// as caches check it.
//
//   ActionResult { repeated OutputFile output_files = 2; … }
//   OutputFile   { string path = 1; Digest digest = 2; bytes contents = 5; … }
//   Digest       { string hash = 1; int64 size_bytes = 2; }
//
// The first file is the record; a manifest's second file is its newest entry, and older large
// entries follow. Small files lie in the message (contents), others in the store under their
// digest.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// An action with more files is refused.
inline constexpr std::size_t most_action_files = 8;

/// One file of an ActionResult.
struct OutputFile {
    std::string path;  ///< Relative: digits, lower-case letters, '/' and '_'.
    Digest digest;     ///< The content's digest.
    std::uint64_t size = 0;
    Bytes contents = {};  ///< Empty if it lies under the digest.

    /// A file whose content lies in the message.
    [[nodiscard]] static OutputFile inlined(std::string path, std::span<const std::byte> content);
    /// A file whose content lies under its digest.
    [[nodiscard]] static OutputFile stored(std::string path, std::span<const std::byte> content);

    friend bool operator==(const OutputFile&, const OutputFile&) = default;
};

/// Serialises files in their order.
[[nodiscard]] Bytes format_action_result(std::span<const OutputFile> files);

/// Reads the files and verifies that contents have the size and the SHA-256 that their digest
/// says. Skips fields that others add. Accepts any bytes, allocates no more than they are; fuzzed.
/// Errors: invalid_image, with the reason.
[[nodiscard]] Result<std::vector<OutputFile>> parse_action_result(std::span<const std::byte> bytes);

}  // namespace LODE_NAMESPACE::cache
