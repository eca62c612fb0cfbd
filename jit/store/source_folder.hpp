// The folder of texts in memory that are also files, for debuggers and profilers.
//
//   <folder>/v6/sources/<32 hex digits>/…   one source, or one tree of headers
//
// The digits are those of the texts and their paths, so that a folder's files never change. The
// newest modification time in a folder is that of its last use, precise to an hour.
#pragma once

#include "jit/store/trusted_folder.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::cache {

inline constexpr const char* sources_folder = "v6/sources";

/// One folder of sources.
struct SourceGroup {
    std::string path;  ///< Relative to the cache folder.
    std::uint64_t block_bytes = 0;
    std::int64_t last_use_ns = 0;
};

/// All of them; file sizes are counted in blocks of `block` bytes. Errors: file_failed.
[[nodiscard]] Result<std::vector<SourceGroup>> source_groups(const TrustedFolder& folder,
                                                             std::uint64_t block);

/// Removes a folder with everything in it; what another process writes meanwhile may stay. Errors:
/// file_failed.
[[nodiscard]] Status remove_tree(const TrustedFolder& folder, const std::string& path);

}  // namespace LODE_NAMESPACE::cache
