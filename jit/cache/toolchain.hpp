// Toolchain records: properties of a compiler, so that later processes needn't open it.
//
// A sealed file (sealed_file.hpp) of kind toolchain, stored under CompilerBackend::fingerprint(),
// with the section 1 properties: versions, build, path, supported capabilities, search attempts,
// the compiler's files with their stamps, and the digest of their contents. The include folders
// aren't in it: they are searched for each time.
#pragma once

#include "jit/nvrtc/provider.hpp"
#include "jit/request/bytes.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <span>
#include <string>

namespace LODE_NAMESPACE::cache {

/// A compiler as the cache's keys name it.
struct KnownCompiler {
    CompilerProperties properties;
    /// The digest of its files' contents; in a cache without a folder, of their stamps.
    std::string digest;
    bool is_settled = true;  ///< As long as the stamps are unchanged, the contents are too.

    [[nodiscard]] const CompilerInfo& info() const noexcept { return properties.info; }
};

/// Leaves out CompilerInfo::include_folders.
[[nodiscard]] Bytes format_toolchain(const KnownCompiler& known);

/// Accepts any bytes. Errors: invalid_image, with the reason.
[[nodiscard]] Result<KnownCompiler> parse_toolchain(std::span<const std::byte> bytes);

}  // namespace LODE_NAMESPACE::cache
