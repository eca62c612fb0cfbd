// IrTools: what compiles IR, in the place of NVRTC: libNVVM or LLVM to PTX, and nvJitLink that to
// machine code.
#pragma once

#include "base/try.hpp"
#include "jit/compile.hpp"
#include "jit/llvm/library.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvvm/library.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/linker.hpp>

#include <memory>
#include <string>
#include <utility>
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
    /// Whether a FileAccessScope records what the compiler asks the system.
    [[nodiscard]] bool watches_files() const noexcept { return compiler_->is_watched(); }

    /// On a compiler's thread.
    [[nodiscard]] Result<CompilerProperties> properties() const;
    /// "libNVVM (/usr/…)"
    [[nodiscard]] std::string describe() const;

    /// Compiler::compile() of IR. The request's limits have no effect here. Errors: as
    /// Compiler::compile.
    [[nodiscard]] Result<Image> compile(const CompileRequest& request,
                                        const CompileContext& context = {}) const;

protected:
    explicit IrTools(std::shared_ptr<const IrCompiler> compiler)
        : compiler_(std::move(compiler)),
          linker_(nvjitlink::open(linker_search_for(compiler_->path()))),
          files_(compiler_->files()) {
        if (linker_) files_.push_back(compiler_file(linker_->info.path));
    }

private:
    [[nodiscard]] Result<Image> compile_here(const CompileRequest& request, const IrFlags& flags,
                                             const std::string& code, CompileFiles& seen) const;
    [[nodiscard]] Result<Image> fail_compile(const CompileRequest& request,
                                             IrOutcome outcome) const;

    std::shared_ptr<const IrCompiler> compiler_;
    Result<nvjitlink::Library> linker_;  ///< An error is one of requests for machine code.
    std::vector<CompilerFile> files_;    ///< With their stamps of when they were opened.
};

/// Those of one language.
template <class Library>
class IrToolsWith final : public IrTools {
public:
    static constexpr const char* product = Library::name;

    /// To be called on a compiler's thread, for LLVM IR in a worker alone. Errors:
    /// compiler_missing, with every attempt.
    [[nodiscard]] static Result<std::shared_ptr<const IrToolsWith>> open(
        const NvrtcSearchEnvironment& here) {
        LODE_TRY_ASSIGN(auto compiler, Library::open(here));
        return std::shared_ptr<const IrToolsWith>(new IrToolsWith(std::move(compiler)));
    }

private:
    explicit IrToolsWith(std::shared_ptr<const Library> compiler) : IrTools(std::move(compiler)) {}
};

using NvvmTools = IrToolsWith<nvvm::NvvmLibrary>;
using LlvmTools = IrToolsWith<llvm::LlvmLibrary>;

}  // namespace LODE_NAMESPACE
