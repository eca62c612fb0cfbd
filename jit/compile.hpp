// One compilation with NVRTC, spelled out: what Compiler, the cache and the worker stand on.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <filesystem>
#include <span>
#include <string>

namespace lode {

/// What to note about a compilation besides its result.
struct CompileTrace {
    /// Where NVRTC writes its time trace, which lists every header that it opened; NVRTC adds
    /// ".json" to the name. The file must not exist. Empty: no trace. Needs NVRTC 12.8; an older
    /// one writes none.
    std::filesystem::path time_trace;
};

/// Compiler::compile without the search: `nvrtc` is open already. Thread-safe. `trace` may be
/// nullptr; it outlives the call. Errors: as Compiler::compile.
[[nodiscard]] Result<Image> compile_with(const NvrtcLibrary& nvrtc, const Source& source,
                                         const Arch& arch, const CompileOptions& options,
                                         std::span<const std::string> name_expressions = {},
                                         const CompileTrace* trace = nullptr);

/// A PTX source as an Image, which needs no compiler.
[[nodiscard]] Result<Image> wrap_ptx(const Source& source);

}  // namespace lode
