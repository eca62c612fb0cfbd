// CachedCompiler::compile_async: requests that don't block.
//
// A request is two tasks. The quick one completes the request and searches the cache; only if that
// has no answer, the slow one compiles. So an application whose kernels are in the cache never
// waits for one that isn't.
#include "base/file.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

struct CachedCompiler::State::Job {
    CompileRequest request;
    RequestCompletion complete;
    RequestContext context;
    PendingImage pending;

    Job(CompileRequest asked, RequestCompletion completion, RequestContext own, PendingImage made)
        : request(std::move(asked)),
          complete(std::move(completion)),
          context(std::move(own)),
          pending(std::move(made)) {}
    /// A host's executor may destroy a task instead of running it.
    ~Job() {
        if (!pending->is_done()) pending->complete(fail_cancelled(request.source.name()));
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] bool is_given_up(const State& state) const {
        return context.stop.stop_requested() || state.tasks_.is_stopping();
    }
};

CachedCompiler::State::PendingImage CachedCompiler::State::compile_async(
    CompileRequest request, RequestCompletion complete) {
    auto pending = std::make_shared<detail::PendingState<CachedImage>>();
    RequestContext context = new_request(request.source.name(), request.arch);
    context.is_asynchronous = true;
    context.stop = pending->stop_token();
    const auto job =
        std::make_shared<Job>(std::move(request), std::move(complete), std::move(context), pending);
    tell(job->context, {.kind = CompileEvent::Kind::queued});
    tasks_.post(TaskQueue::Lane::quick, [self = shared_from_this(), job] { self->begin(job); });
    return pending;
}

void CachedCompiler::State::begin(const std::shared_ptr<Job>& job) {
    const cache::NvtxRange range("lode::CachedCompiler::compile_async");
    CompileRequest& request = job->request;
    if (job->is_given_up(*this)) return end(*job, fail_cancelled(request.source.name()), false);
    if (job->complete) {
        auto done = job->complete(request);
        job->context.source = request.source.name();
        job->context.arch = request.arch;
        if (!done) return end(*job, tl::unexpected<Error>(std::move(done).error()), false);
    }
    std::optional<CachedImage> hit;
    std::optional<Digest> key;
    prepare(request, [&](const PreparedRequest& prepared) {
        CacheMiss miss;
        hit = look_up(prepared, miss);
        key = prepared.flight_key(request.limits);
    });
    if (hit) return end(*job, *std::move(hit), false);
    lead_or_follow(job, key);
}

/// The first of equal requests, whose task compiles for all. However the task ends, even if a
/// host's executor destroys it unrun, the others are answered.
class CachedCompiler::State::Leader {
public:
    Leader(std::shared_ptr<State> state, std::shared_ptr<Job> job, std::optional<Digest> key)
        : state_(std::move(state)), job_(std::move(job)), key_(key) {}
    ~Leader() {
        for (auto& follower : take_followers())
            state_->lead_or_follow(follower, key_);
    }
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

    void run() {
        bool shared = false;
        auto answer = job_->is_given_up(*state_)
                          ? Result<CachedImage>(fail_cancelled(job_->context.source))
                          : state_->answer(job_->request, job_->context, shared);
        // If this request was given up, the others weren't: the next one leads.
        if (answer || answer.error().code != Errc::cancelled) {
            for (const auto& follower : take_followers())
                state_->end(*follower, answer, true);
        }
        state_->end(*job_, std::move(answer), shared);
    }

private:
    std::vector<std::shared_ptr<Job>> take_followers() {
        if (!key_) return {};
        const std::lock_guard guard(state_->followers_mutex_);
        const auto found = state_->followers_.find(*key_);
        if (found == state_->followers_.end() || found->second.leader != job_.get()) return {};
        auto jobs = std::move(found->second.jobs);
        state_->followers_.erase(found);
        return jobs;
    }

    const std::shared_ptr<State> state_;
    const std::shared_ptr<Job> job_;
    const std::optional<Digest> key_;
};

void CachedCompiler::State::lead_or_follow(const std::shared_ptr<Job>& job,
                                           const std::optional<Digest>& key) {
    if (key) {
        const std::lock_guard guard(followers_mutex_);
        const auto [at, is_first] = followers_.try_emplace(*key, Followers{job.get(), {}});
        if (!is_first) {
            at->second.jobs.push_back(job);
            return;
        }
        job->context.is_followed = [this, key = *key] {
            const std::lock_guard lock(followers_mutex_);
            const auto found = followers_.find(key);
            return found != followers_.end() &&
                   std::ranges::any_of(found->second.jobs, [](const auto& follower) {
                       return !follower->context.stop.stop_requested();
                   });
        };
    }
    const auto leader = std::make_shared<Leader>(shared_from_this(), job, key);
    // Several threads run quick tasks, so that these end in any order.
    tasks_.post(
        TaskQueue::Lane::slow, [leader] { leader->run(); }, job->context.number);
}

void CachedCompiler::State::end(const Job& job, Result<CachedImage> answer, bool shared) {
    auto finished = finish(job.context, std::move(answer), shared);
    if (finished && recorder_) recorder_->record(job.request, *finished);
    job.pending->complete(std::move(finished));
}

void CachedCompiler::State::prepare(CompileRequest request,
                                    const std::function<void(const PreparedRequest&)>& use) {
    auto code = request.source.read();
    const auto compiler = identity_.get();
    if (!code || !compiler || request.source.language() == Source::Language::ptx) return;
    request.source = request.source.pinned(*std::move(code));
    const auto prepared = prepare(request, **compiler);
    if (prepared && cache::uncacheable_reason(request).empty()) use(*prepared);
}

bool CachedCompiler::State::is_current(const CompileRequest& request, const Digest& key) {
    const ProcessUse use;
    bool current = false;
    if (!use) return current;
    prepare(request, [&](const PreparedRequest& prepared) {
        std::optional<cache::KnownSet> renewed;
        current = lookup_.is_current(prepared, key, renewed);
        if (renewed) publisher_.publish_headers(prepared, *std::move(renewed));
    });
    return current;
}

Result<std::vector<std::filesystem::path>> CachedCompiler::State::dependencies(
    CompileRequest request) {
    LODE_TRY_ASSIGN(const CachedImage answer, compile(request));
    std::vector<std::filesystem::path> files;
    if (request.source.is_file()) {
        std::error_code problem;
        files.push_back(std::filesystem::absolute(request.source.name(), problem));
        if (problem) return fail_from_errno("Finding", request.source.name(), problem.value());
    }
    if (request.source.language() == Source::Language::ptx) return files;
    std::optional<std::vector<std::filesystem::path>> headers;
    prepare(std::move(request),
            [&](const PreparedRequest& prepared) { headers = lookup_.headers_of(prepared); });
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

}  // namespace LODE_NAMESPACE
