// Toolchain records: what a compiler said it is, so that a later process needn't open it to ask.
//
// A sealed file (sealed_file.hpp) of kind toolchain, stored under CompilerBackend::fingerprint(),
// with the section 1 facts: versions, build, path, supported capabilities, search attempts. The
// include folders aren't in it: they are looked for anew.
#pragma once

#include "jit/cache/store/bytes.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <span>

namespace lode::cache {

/// Without CompilerInfo::include_folders.
[[nodiscard]] Bytes format_toolchain(const CompilerInfo& info);

/// Survives any bytes. Errors: invalid_image, with what is wrong.
[[nodiscard]] Result<CompilerInfo> parse_toolchain(std::span<const std::byte> bytes);

}  // namespace lode::cache
