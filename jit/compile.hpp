// One compilation with NVRTC: the common part of Compiler, the cache and the worker.
#pragma once

#include "jit/nvrtc/library.hpp"
#include "jit/request/compile_control.hpp"
#include "jit/request/compile_files.hpp"
#include "jit/request/source_files.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>

#include <concepts>
#include <filesystem>
#include <span>
#include <string>
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

/// What a compilation has besides its request. Views; null for none.
struct CompileContext {
    CompileFiles* files = nullptr;            ///< Filled in, on failure too.
    const CompileControl* control = nullptr;  ///< When to stop, and who is told of the progress.
    SourceFiles source_files = {};            ///< Line information names them; they aren't read.
    PchUse pch = {};
};

/// Notes what the texts that were read say of the result of a request whose source is read. Whether
/// a precompiled header mustn't be used: it would keep the time when it was made, and the name of
/// the source for which.
bool note_texts(CompileFiles& files, const CompileRequest& request,
                std::span<const std::filesystem::path> toolkit);

/// Compiler::compile with an NVRTC that is already open, on a compiler's thread. Thread-safe. NVRTC
/// 12.8 and newer ask the control whether to stop at a few points of the compilation, from another
/// thread. The request's limits have no effect here. Errors: as Compiler::compile; cancelled.
[[nodiscard]] Result<Image> compile_with(const NvrtcLibrary& nvrtc, const CompileRequest& request,
                                         const CompileContext& context = {});

/// The same with the tools of another language.
template <class Tools>
requires requires(const Tools& tools, const CompileRequest& request, CompileContext context) {
    { tools.compile(request, context) } -> std::same_as<Result<Image>>;
}
[[nodiscard]] Result<Image> compile_with(const Tools& tools, const CompileRequest& request,
                                         const CompileContext& context = {}) {
    return tools.compile(request, context);
}

/// Wraps a PTX source in an Image; needs no compiler.
[[nodiscard]] Result<Image> wrap_ptx(const Source& source);

/// Calls `use` with the one of `compilers` that is for a language.
auto with_compiler(auto& compilers, Source::Language language, const auto& use) {
    switch (language) {
        case Source::Language::ptx:
            return use(compilers.ptx);
        case Source::Language::nvvm_ir:
            return use(compilers.nvvm);
        case Source::Language::llvm_ir:
            return use(compilers.llvm);
        case Source::Language::cuda:
            break;
    }
    return use(compilers.nvrtc);
}

}  // namespace LODE_NAMESPACE
