#include "base/file.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/cache/backend_workers.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

namespace {

/// How many asynchronous requests to compile at once.
std::size_t slow_threads(const WorkerOptions& workers) {
    // NVRTC's front end takes a lock, so that more threads gain little without workers.
    constexpr unsigned most_here = 4;
    const unsigned processors = std::max(std::thread::hardware_concurrency(), 1U);
    if (workers.policy == WorkerPolicy::never) return std::min(processors, most_here);
    return workers.max_processes > 0 ? static_cast<std::size_t>(workers.max_processes) : processors;
}

/// A call on its caller's thread; false if the process ends. Waits while the compiler is quiesced.
class Call {
public:
    explicit Call(cache::RequestGate& gate) noexcept : work_((gate.enter(), gate)) {}
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(use_); }

private:
    const cache::RequestGate::Work work_;
    const ProcessUse use_;
};

}  // namespace

CachedCompiler::CachedCompiler(CompilerSearch search, CacheOptions options) {
    auto workers = std::make_shared<cache::BackendWorkers>(options.workers, options.log);
    auto others = cache::make_tools_backends(search, workers);
    auto nvrtc =
        cache::make_nvrtc_backend(std::move(search), workers, cache::pch_settings(options));
    *this = CachedCompiler(std::make_shared<State>(
        std::move(nvrtc), std::move(options), os::FileOperations::system(), std::move(others)));
}

// Asynchronous work holds the state itself. The copies share a count of their own, which tells when
// the last copy is gone.
CachedCompiler::CachedCompiler(const std::shared_ptr<State>& state)
    : state_(state.get(), [state](State* /*same*/) { state->tasks.shut_down(); }) {}

Result<CompilerInfo> CachedCompiler::info(Source::Language language) const {
    const Call call(state_->tasks.gate());
    if (!call) return fail_at_process_end();
    return state_->pipeline.info(language);
}

Result<CachedImage> CachedCompiler::compile(const Source& source, const Arch& arch,
                                            const CompileOptions& options,
                                            std::span<const std::string> name_expressions) const {
    return state_->compile(
        {source, arch, options, {name_expressions.begin(), name_expressions.end()}});
}

Result<CachedImage> CachedCompiler::compile(const CompileRequest& request) const {
    return state_->compile(request);
}

Pending<CachedImage> CachedCompiler::compile_async(CompileRequest request) const {
    return compile_async(std::move(request), {});
}

Pending<CachedImage> CachedCompiler::compile_async(
    CompileRequest request, std::function<Status(CompileRequest&)> complete) const {
    return Pending<CachedImage>(
        state_->asynchronous.compile(std::move(request), std::move(complete),
                                     state_->shared_from_this()),
        state_);
}

Result<CachedImage> CachedCompiler::link(const Linker& linker, std::span<const LinkInput> inputs,
                                         const Arch& target, const LinkOptions& options) const {
    const Call call(state_->tasks.gate());
    if (!call) return fail_at_process_end();
    return state_->links.link({linker, inputs, target, options});
}

PrefetchReport CachedCompiler::prefetch(std::span<const CompileRequest> requests) const {
    const Call call(state_->tasks.gate());
    if (!call) return {.requests = requests.size()};
    return state_->pipeline.prefetch(requests);
}

Result<std::vector<std::filesystem::path>> CachedCompiler::dependencies(
    const CompileRequest& request) const {
    const Call call(state_->tasks.gate());
    LODE_TRY_ASSIGN(const CachedImage answer, compile(request));
    std::vector<std::filesystem::path> files;
    if (request.source.is_file()) {
        std::error_code problem;
        files.push_back(std::filesystem::absolute(request.source.name(), problem));
        if (problem) return fail_from_errno("Finding", request.source.name(), problem.value());
    }
    if (answer.report.miss.reason == MissReason::ptx_source) return files;
    const auto headers = state_->pipeline.headers_of(request);
    if (!headers) {
        return fail(
            Errc::not_supported,
            fmt::format("The files that '{}' depends on aren't known: {}.", answer.report.source,
                        answer.report.not_kept.empty() ? "one of them has just changed"
                                                       : answer.report.not_kept));
    }
    files.insert(files.end(), headers->begin(), headers->end());
    return files;
}

bool CachedCompiler::is_current(const CompileRequest& request, const Digest& key) const {
    const Call call(state_->tasks.gate());
    return call && state_->pipeline.is_current(request, key);
}

Result<CacheExplanation> CachedCompiler::explain(
    const Source& source, const Arch& arch, const CompileOptions& options,
    std::span<const std::string> name_expressions) const {
    const Call call(state_->tasks.gate());
    if (!call) return fail_at_process_end();
    return state_->pipeline.explain(
        {source, arch, options, {name_expressions.begin(), name_expressions.end()}});
}

void CachedCompiler::discard(const CachedImage& refused) const {
    const Call call(state_->tasks.gate());
    state_->pipeline.discard(refused);
}

Status CachedCompiler::quiesce() const {
    return state_->quiesce();
}

void CachedCompiler::resume() const noexcept {
    state_->resume();
}

CacheCounters CachedCompiler::counters() const {
    return state_->storage.counters.snapshot();
}

const CacheOptions& CachedCompiler::options() const noexcept {
    return state_->storage.options();
}

CachedCompiler::State::CachedCompilerState(std::unique_ptr<cache::CompilerBackend> backend,
                                           CacheOptions options,
                                           const os::FileOperations& operations,
                                           cache::Backends others)
    : storage(std::move(options), operations),
      tasks(storage.options().executor, slow_threads(storage.options().workers)),
      pipeline(std::move(backend), std::move(others), storage, requests, flights) {
    // The handler for the end of the process is registered now, before any of a library.
    [[maybe_unused]] const ProcessUse use;
}

Status CachedCompiler::State::quiesce() {
    const std::lock_guard guard(quiescing_);
    LODE_TRY(tasks.gate().close());
    tasks.quiesce();
    pipeline.quiesce();
    storage.quiesce();
    return {};
}

void CachedCompiler::State::resume() noexcept {
    const std::lock_guard guard(quiescing_);
    tasks.gate().open();
}

Result<CachedImage> CachedCompiler::State::compile(CompileRequest request) {
    const Call call(tasks.gate());
    if (!call) return fail_at_process_end();
    const cache::NvtxRange range("lode::CachedCompiler::compile");
    const auto context = requests.make(request.source.name(), request.arch);
    bool shared = false;
    auto answered = pipeline.answer(request, context, shared);
    auto result = requests.finish(context, std::move(answered), shared);
    if (result && recorder) recorder->record(request, *result);
    return result;
}

}  // namespace LODE_NAMESPACE
