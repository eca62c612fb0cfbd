// PtxTools: what compiles PTX to machine code, in the place of NVRTC: nvJitLink.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvrtc/file_hooks.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/linker.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace LODE_NAMESPACE {

/// How nvJitLink makes the machine code of a PTX source. Errors: invalid_argument, naming the
/// option, for one that has no meaning for PTX.
[[nodiscard]] Result<LinkOptions> ptx_options(const CompileRequest& request);

/// Machine code of the PTX that a request's source is or has become. Errors: compile_failed with
/// the assembler's log; those of nvjitlink::link().
[[nodiscard]] Result<Image> assemble(const nvjitlink::Library& linker,
                                     const CompileRequest& request, const LinkOptions& options,
                                     std::string_view ptx, FileAccesses& accesses);

/// Where nvJitLink is searched for PTX sources: at the place that the environment chooses alone, if
/// there is one.
[[nodiscard]] LinkerSearch linker_search_of(const NvrtcSearchEnvironment& here);

/// Opened once, never changed: every member may be called from any thread.
class PtxTools {
public:
    static constexpr const char* product = nvjitlink::product;

    /// To be called on a compiler's thread. Errors: compiler_missing, with every
    /// attempt.
    [[nodiscard]] static Result<std::shared_ptr<const PtxTools>> open(
        const NvrtcSearchEnvironment& here);

    /// Whether a FileAccessScope records what nvJitLink asks the system.
    [[nodiscard]] bool watches_files() const noexcept { return is_watched_; }

    [[nodiscard]] Result<CompilerProperties> properties() const;
    /// "nvJitLink (/usr/…)"
    [[nodiscard]] std::string describe() const;

    /// Compiler::compile() of PTX for a real target. The request's limits have no effect here.
    /// Errors: as Compiler::compile.
    [[nodiscard]] Result<Image> compile(const CompileRequest& request,
                                        const CompileContext& context = {}) const;

private:
    explicit PtxTools(nvjitlink::Library linker)
        : linker_(std::move(linker)),
          file_(compiler_file(linker_.info.path)),
          is_watched_(watch_file_functions(reinterpret_cast<const void*>(linker_.table.create),
                                           TimeQuestions::none)
                          .has_value()) {}

    nvjitlink::Library linker_;
    CompilerFile file_;
    bool is_watched_;
};

}  // namespace LODE_NAMESPACE
