// CachedCompiler::compile_async: requests that don't block.
//
// A request is two tasks. The quick one completes the request and searches the cache; only if that
// has no answer, the slow one compiles. So an application whose kernels are in the cache never
// waits for one that isn't.
#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <utility>

#include <fmt/format.h>

namespace lode {

struct CachedCompiler::State::Job {
    CompileRequest request;
    RequestCompletion complete;
    RequestContext context;
    PendingImage pending;

    [[nodiscard]] bool is_given_up(const State& state) const {
        return context.stop.stop_requested() || state.tasks_.is_stopping();
    }
};

CachedCompiler::State::PendingImage CachedCompiler::State::compile_async(
    CompileRequest request, RequestCompletion complete) {
    auto pending = std::make_shared<detail::PendingState<CachedImage>>();
    RequestContext context = new_request(request.limits);
    context.is_asynchronous = true;
    context.stop = pending->stop_token();
    const auto job = std::make_shared<Job>(
        Job{std::move(request), std::move(complete), std::move(context), pending});
    tell(job->context, {.kind = CompileEvent::Kind::queued,
                        .source = job->request.source.name(),
                        .arch = job->request.arch});
    tasks_.post(TaskQueue::Lane::quick, [self = shared_from_this(), job] { self->begin(job); });
    return pending;
}

void CachedCompiler::State::begin(const std::shared_ptr<Job>& job) {
    const cache::NvtxRange range("lode::CachedCompiler::compile_async");
    CompileRequest& request = job->request;
    if (job->is_given_up(*this)) return end(*job, fail_cancelled(request.source.name()), false);
    if (job->complete) {
        if (auto done = job->complete(request); !done)
            return end(*job, tl::unexpected<Error>(std::move(done).error()), false);
    }
    if (auto hit = find_hit(request)) return end(*job, *std::move(hit), false);
    const auto compile = [self = shared_from_this(), job] {
        const CompileRequest& asked = job->request;
        if (job->is_given_up(*self))
            return self->end(*job, fail_cancelled(asked.source.name()), false);
        bool shared = false;
        auto answer = self->request(asked.source, asked.arch, asked.options, asked.name_expressions,
                                    job->context, shared);
        self->end(*job, std::move(answer), shared);
    };
    // Several threads run quick tasks, so that these end in any order.
    tasks_.post(TaskQueue::Lane::slow, compile, job->context.number);
}

void CachedCompiler::State::end(const Job& job, Result<CachedImage> answer, bool shared) {
    const auto& [source, arch, options, names, limits] = job.request;
    auto finished = finish(job.context, source.name(), arch, std::move(answer), shared);
    if (finished && recorder_) recorder_->record(source, arch, options, names, *finished);
    job.pending->complete(std::move(finished));
}

std::optional<CachedImage> CachedCompiler::State::find_hit(const CompileRequest& request) {
    const auto text = request.source.read();
    const auto compiler = identity_.get();
    if (!text || !compiler || request.source.language() == Source::Language::ptx)
        return std::nullopt;
    const Source pinned = request.source.pinned(*text);
    const auto prepared = cache::prepare(pinned, *text, request.arch, request.options,
                                         request.name_expressions, **compiler, std::nullopt,
                                         source_store_.make(pinned, *text, request.options));
    if (!prepared || !cache::uncacheable_reason(prepared->request(**compiler)).empty())
        return std::nullopt;
    CacheMiss miss;
    return look_up(*prepared, miss);
}

Result<std::vector<std::filesystem::path>> CachedCompiler::State::dependencies(
    const CompileRequest& request) {
    LODE_TRY_ASSIGN(const CachedImage answer, compile(request.source, request.arch, request.options,
                                                      request.name_expressions, request.limits));
    std::vector<std::filesystem::path> files;
    if (request.source.is_file()) files.push_back(std::filesystem::absolute(request.source.name()));
    if (request.source.language() == Source::Language::ptx) return files;
    LODE_TRY_ASSIGN(const std::string text, request.source.read());
    LODE_TRY_ASSIGN(const auto compiler, identity_.get());
    const Source pinned = request.source.pinned(text);
    LODE_TRY_ASSIGN(
        const PreparedRequest prepared,
        cache::prepare(pinned, text, request.arch, request.options, request.name_expressions,
                       *compiler, std::nullopt, source_store_.make(pinned, text, request.options)));
    auto headers = lookup_.headers_of(prepared);
    if (!headers) {
        return fail(
            Errc::not_supported,
            fmt::format("The files that '{}' depends on aren't known: {}.", request.source.name(),
                        answer.report.not_kept.empty() ? "one of them has just changed"
                                                       : answer.report.not_kept));
    }
    files.insert(files.end(), headers->begin(), headers->end());
    return files;
}

}  // namespace lode
