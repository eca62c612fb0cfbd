#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/compile.hpp"
#include "jit/compile_ir.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/request/flags.hpp"
#include "jit/worker/once.hpp"

#include <lode/jit/compiler.hpp>

#include <utility>

namespace LODE_NAMESPACE {

struct Compiler::State {
    explicit State(CompilerSearch search)
        : ir(NvrtcSearchEnvironment::of_process(search.nvvm, "LODE_NVVM"), search.log),
          nvrtc(std::move(search)) {}

    [[nodiscard]] const NvrtcSearchEnvironment& environment(Source::Language language) const {
        return language == Source::Language::nvvm_ir ? ir.environment() : nvrtc.environment();
    }

    CompilerProvider<IrTools> ir;
    NvrtcProvider nvrtc;
};

Compiler::Compiler(CompilerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<CompilerInfo> Compiler::info(Source::Language language) const {
    LODE_TRY_ASSIGN(CompilerProperties properties, language == Source::Language::nvvm_ir
                                                       ? state_->ir.properties()
                                                       : state_->nvrtc.properties());
    return std::move(properties.info);
}

Result<Image> Compiler::compile(const Source& source, const Arch& arch,
                                const CompileOptions& options,
                                std::span<const std::string> name_expressions) const {
    if (source.language() == Source::Language::ptx) return wrap_ptx(source);
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    CompileRequest request{
        source, arch, options, {name_expressions.begin(), name_expressions.end()}};
    if (leaves_traces(options)) {
        auto sent = worker::request_here(std::move(request));
        sent.nvrtc = state_->environment(source.language());
        LODE_TRY_ASSIGN(worker::Answer answer, worker::run_once(sent, trace_reason));
        return std::move(answer.image);
    }
    if (source.language() == Source::Language::nvvm_ir) {
        LODE_TRY_ASSIGN(const auto tools, state_->ir.open());
        return tools->compile(request);
    }
    LODE_TRY_ASSIGN(const auto nvrtc, state_->nvrtc.open());
    return compile_with(*nvrtc, request);
}

}  // namespace LODE_NAMESPACE
