// One compilation with NVRTC: the common part of Compiler, the cache and the worker.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/source_files.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <functional>
#include <span>
#include <string>

namespace lode {

namespace pch {
class Precompiler;
struct Settings;
}  // namespace pch

/// Precompiled headers for one compilation; without a precompiler there are none.
struct PchUse {
    pch::Precompiler* precompiler = nullptr;
    const pch::Settings* settings = nullptr;
};

/// The file system queries of one compilation.
struct CompileFiles {
    FileAccesses compiler;    ///< NVRTC's own queries.
    FileAccesses shims;       ///< lode's checks for files that replace its own headers.
    bool is_watched = false;  ///< Whether NVRTC's queries are recorded: `compiler` is complete.
};

/// Compiler::compile with an NVRTC that is already open. Thread-safe. `files` may be nullptr; it is
/// filled in on failure too. NVRTC 12.8 and newer ask `should_stop`, if it isn't empty, at a few
/// points of the compilation. Line information names the files `written`, which aren't read.
/// Errors: as Compiler::compile; cancelled.
[[nodiscard]] Result<Image> compile_with(const NvrtcLibrary& nvrtc, const Source& source,
                                         const Arch& arch, const CompileOptions& options,
                                         std::span<const std::string> name_expressions = {},
                                         CompileFiles* files = nullptr, PchUse pch = {},
                                         const std::function<bool()>& should_stop = {},
                                         const SourceFiles& written = {});

/// The name of the NVRTC program of a source: the source's own name, or, for code in memory, a name
/// in a folder that doesn't exist.
[[nodiscard]] std::string program_name(const Source& source);

/// Wraps a PTX source in an Image; needs no compiler.
[[nodiscard]] Result<Image> wrap_ptx(const Source& source);

}  // namespace lode
