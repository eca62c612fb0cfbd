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
        : nvvm(search_of(Source::Language::nvvm_ir, search), search.log),
          llvm(search_of(Source::Language::llvm_ir, search), search.log),
          ptx(search_of(Source::Language::ptx, search), search.log),
          nvrtc(search_of(Source::Language::cuda, search), std::move(search.log)) {}

    /// The answer of a worker for this request alone.
    [[nodiscard]] Result<worker::Answer> ask_worker(CompileRequest request, worker::Task task,
                                                    std::string_view reason) {
        auto sent = worker::request_here(std::move(request));
        sent.nvrtc = with_compiler(*this, sent.compilation.source.language(),
                                   [](const auto& provider) { return provider.environment(); });
        sent.task = task;
        return worker::run_once(sent, reason);
    }

    CompilerProvider<NvvmTools> nvvm;
    CompilerProvider<LlvmTools> llvm;  ///< Never opened: needs_worker().
    CompilerProvider<PtxTools> ptx;
    CompilerProvider<NvrtcLibrary> nvrtc;
};

Compiler::Compiler(CompilerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<CompilerInfo> Compiler::info(Source::Language language) const {
    if (needs_worker(language)) {
        LODE_TRY_ASSIGN(worker::Answer answer,
                        state_->ask_worker({Source::of(language, {}, "nothing"), Arch({9, 0})},
                                           worker::Task::properties, llvm_reason));
        LODE_TRY(std::move(answer.image));
        return std::move(answer.properties.info);
    }
    LODE_TRY_ASSIGN(
        CompilerProperties properties,
        with_compiler(*state_, language, [](auto& provider) { return provider.properties(); }));
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
    if (const auto reason = worker_reason(request); !reason.empty()) {
        LODE_TRY_ASSIGN(worker::Answer answer,
                        state_->ask_worker(std::move(request), worker::Task::compile, reason));
        return std::move(answer.image);
    }
    return with_compiler(*state_, source.language(), [&](auto& provider) -> Result<Image> {
        LODE_TRY_ASSIGN(const auto tools, provider.open());
        return compile_with(*tools, request);
    });
}

}  // namespace LODE_NAMESPACE
