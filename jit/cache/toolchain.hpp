// Toolchain records: properties of a compiler, so that later processes needn't open it.
//
// A sealed file (sealed_file.hpp) of kind toolchain, stored under CompilerBackend::fingerprint(),
// with the section 1 properties: versions, build, path, supported capabilities, search attempts.
// The include folders aren't in it: they are searched for each time.
#pragma once

#include "jit/bytes.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <span>

namespace lode::cache {

/// Leaves out CompilerInfo::include_folders.
[[nodiscard]] Bytes format_toolchain(const CompilerInfo& info);

/// Accepts any bytes. Errors: invalid_image, with the reason.
[[nodiscard]] Result<CompilerInfo> parse_toolchain(std::span<const std::byte> bytes);

}  // namespace lode::cache
