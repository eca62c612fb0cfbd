#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/compile.hpp"
#include "jit/compile_ir.hpp"
#include "jit/compile_ptx.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/request/flags.hpp"
#include "jit/worker/once.hpp"

#include <lode/jit/compiler.hpp>

#include <utility>

namespace LODE_NAMESPACE {

struct Compiler::State {
    explicit State(CompilerSearch search)
        : ir(NvrtcSearchEnvironment::of_process(search.nvvm, "LODE_NVVM"), search.log),
          ptx(NvrtcSearchEnvironment::of_process({}, "LODE_NVJITLINK"), search.log),
          nvrtc(std::move(search)) {}

    /// Calls `use` with the provider of a language's compiler.
    auto with(Source::Language language, const auto& use) {
        switch (language) {
            case Source::Language::ptx:
                return use(ptx);
            case Source::Language::nvvm_ir:
                return use(ir);
            case Source::Language::cuda:
                break;
        }
        return use(static_cast<CompilerProvider<NvrtcLibrary>&>(nvrtc));
    }

    CompilerProvider<IrTools> ir;
    CompilerProvider<PtxTools> ptx;
    NvrtcProvider nvrtc;
};

Compiler::Compiler(CompilerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<CompilerInfo> Compiler::info(Source::Language language) const {
    LODE_TRY_ASSIGN(CompilerProperties properties,
                    state_->with(language, [](auto& provider) { return provider.properties(); }));
    return std::move(properties.info);
}

Result<Image> Compiler::compile(const Source& source, const Arch& arch,
                                const CompileOptions& options,
                                std::span<const std::string> name_expressions) const {
    if (source.language() == Source::Language::ptx && !arch.is_real()) return wrap_ptx(source);
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    CompileRequest request{
        source, arch, options, {name_expressions.begin(), name_expressions.end()}};
    if (leaves_traces(options)) {
        auto sent = worker::request_here(std::move(request));
        sent.nvrtc = state_->with(source.language(),
                                  [](const auto& provider) { return provider.environment(); });
        LODE_TRY_ASSIGN(worker::Answer answer, worker::run_once(sent, trace_reason));
        return std::move(answer.image);
    }
    return state_->with(source.language(), [&](auto& provider) -> Result<Image> {
        LODE_TRY_ASSIGN(const auto tools, provider.open());
        return compile_with(*tools, request);
    });
}

}  // namespace LODE_NAMESPACE
