// IrTools: what compiles IR, in the place of NVRTC: libNVVM to PTX, and nvJitLink that to machine
// code.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvvm/library.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/linker.hpp>

#include <memory>
#include <string>
#include <vector>

namespace LODE_NAMESPACE {

/// What decides the code of one module, besides its text.
struct IrFlags {
    std::vector<std::string> compiler;  ///< In canonical order, with the target.
    LinkOptions link;                   ///< For the machine code.
};

/// The flags of a request. Errors: invalid_argument, naming the option, for one that has no meaning
/// for IR.
[[nodiscard]] Result<IrFlags> ir_flags(const CompileRequest& request);

/// Where nvJitLink is searched for the machine code of a compiler's PTX: also in its toolkit.
[[nodiscard]] LinkerSearch linker_search_for(const std::filesystem::path& compiler);

/// Opened once, never changed: every member may be called from any thread.
class IrTools {
public:
    static constexpr const char* product = nvvm::NvvmLibrary::product;

    /// To be called on a compiler's thread. Errors: compiler_missing, with every attempt.
    [[nodiscard]] static Result<std::shared_ptr<const IrTools>> open(
        const NvrtcSearchEnvironment& here);

    /// Whether a FileAccessScope records what libNVVM asks the system.
    [[nodiscard]] bool watches_files() const noexcept { return compiler_->is_watched(); }

    /// On a compiler's thread.
    [[nodiscard]] Result<CompilerProperties> properties() const;
    /// "libNVVM (/usr/…)"
    [[nodiscard]] std::string describe() const;

    /// Compiler::compile() of IR. The request's limits have no effect here. Errors: as
    /// Compiler::compile.
    [[nodiscard]] Result<Image> compile(const CompileRequest& request,
                                        const CompileContext& context = {}) const;

private:
    explicit IrTools(std::shared_ptr<const nvvm::NvvmLibrary> compiler)
        : compiler_(std::move(compiler)),
          linker_(nvjitlink::open(linker_search_for(compiler_->path()))) {}

    [[nodiscard]] std::vector<CompilerFile> files() const;
    [[nodiscard]] Result<Image> compile_here(const CompileRequest& request, const IrFlags& flags,
                                             const std::string& code, CompileFiles& seen) const;
    [[nodiscard]] Result<Image> fail_compile(const CompileRequest& request,
                                             nvvm::Outcome outcome) const;

    std::shared_ptr<const nvvm::NvvmLibrary> compiler_;
    Result<nvjitlink::Library> linker_;  ///< An error is one of requests for machine code.
};

}  // namespace LODE_NAMESPACE
