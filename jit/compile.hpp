// One compilation with NVRTC, spelled out: what Compiler, the cache and the worker stand on.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/library.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <span>
#include <string>

namespace lode {

/// What one compilation asked of the file system.
struct CompileFiles {
    FileAccesses compiler;    ///< NVRTC's own questions.
    FileAccesses shims;       ///< lode's, whether a file replaces one of its own headers.
    bool is_watched = false;  ///< Whether NVRTC's questions are seen: `compiler` is complete.
};

/// Compiler::compile without the search: `nvrtc` is open already. Thread-safe. `files` may be
/// nullptr; it is filled in on failure too. Errors: as Compiler::compile.
[[nodiscard]] Result<Image> compile_with(const NvrtcLibrary& nvrtc, const Source& source,
                                         const Arch& arch, const CompileOptions& options,
                                         std::span<const std::string> name_expressions = {},
                                         CompileFiles* files = nullptr);

/// The name under which NVRTC gets a source: its own, or, for code in memory, one in a folder that
/// doesn't exist.
[[nodiscard]] std::string program_name(const Source& source);

/// A PTX source as an Image, which needs no compiler.
[[nodiscard]] Result<Image> wrap_ptx(const Source& source);

}  // namespace lode
