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

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

namespace pch {
class Precompiler;
struct Settings;
}  // namespace pch

/// Precompiled headers for one compilation; without a precompiler there are none.
struct PchUse {
    pch::Precompiler* precompiler = nullptr;
    const pch::Settings* settings = nullptr;
};

/// What one compilation depends on besides its arguments.
struct CompileFiles {
    FileAccesses compiler;    ///< NVRTC's own queries.
    FileAccesses shims;       ///< lode's checks for files that replace its own headers.
    bool is_watched = false;  ///< Whether NVRTC's queries are recorded: `compiler` is complete.
    std::vector<CompilerFile> compiler_files = {};  ///< NvrtcLibrary::files()
    /// The compiler's own state: why it isn't as in a new process, as a clause; empty if it is.
    std::string compiler_state = {};
    bool uses_time = false;           ///< At another time the result is, or may be, another one.
    bool may_name_files = false;      ///< TranslationUnit::may_name_files()
    bool may_join_questions = false;  ///< TranslationUnit::may_join_questions()
};

/// Notes what the texts that were read say of the result. Whether a precompiled header mustn't be
/// used: it would keep the time when it was made, and the name of the source for which.
bool note_texts(CompileFiles& files, std::string_view code, const CompileOptions& options,
                std::span<const std::string> names, std::span<const std::filesystem::path> toolkit);

/// Compiler::compile with an NVRTC that is already open, on a compiler's thread. Thread-safe.
/// `files` may be nullptr; it is filled in on failure too. NVRTC 12.8 and newer ask `should_stop`,
/// if it isn't empty, at a few points of the compilation, from another thread. Line information
/// names the files `written`, which aren't read.
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

}  // namespace LODE_NAMESPACE
