#include "jit/cache/async_requests.hpp"

#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"

#include <algorithm>
#include <utility>

namespace LODE_NAMESPACE::cache {

struct AsyncRequests::Job {
    const std::shared_ptr<const void> owner;  ///< Owner of what answers the request.
    CompileRequest request;
    Completion complete;
    RequestContext context;
    PendingImage pending;

    Job(std::shared_ptr<const void> keeps, CompileRequest asked, Completion completion,
        RequestContext own, PendingImage made)
        : owner(std::move(keeps)),
          request(std::move(asked)),
          complete(std::move(completion)),
          context(std::move(own)),
          pending(std::move(made)) {}
    /// A host's executor may destroy a task instead of running it.
    ~Job() {
        if (!pending->is_done()) pending->complete(fail_cancelled(request.source.name()));
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
};

bool AsyncRequests::is_given_up(const Job& job) const {
    return job.context.stop.stop_requested() || tasks_.is_stopping();
}

AsyncRequests::PendingImage AsyncRequests::compile(CompileRequest request, Completion complete,
                                                   std::shared_ptr<const void> owner) {
    auto pending = std::make_shared<detail::PendingState<CachedImage>>();
    RequestContext context = requests_.make(request.source.name(), request.arch);
    context.is_asynchronous = true;
    context.stop = pending->stop_token();
    const auto job = std::make_shared<Job>(std::move(owner), std::move(request),
                                           std::move(complete), std::move(context), pending);
    requests_.tell(job->context, {.kind = CompileEvent::Kind::queued});
    tasks_.post(TaskQueue::Lane::quick, [this, job] { begin(job); });
    return pending;
}

void AsyncRequests::begin(const std::shared_ptr<Job>& job) {
    const NvtxRange range("lode::CachedCompiler::compile_async");
    CompileRequest& request = job->request;
    if (is_given_up(*job)) return end(*job, fail_cancelled(request.source.name()), false);
    if (job->complete) {
        auto done = job->complete(request);
        job->context.source = request.source.name();
        job->context.arch = request.arch;
        if (!done) return end(*job, tl::unexpected<Error>(std::move(done).error()), false);
    }
    std::optional<CachedImage> hit;
    std::optional<Digest> key;
    pipeline_.with_prepared(request, [&](const PreparedRequest& prepared) {
        CacheMiss miss;
        hit = pipeline_.look_up(prepared, miss);
        key = prepared.flight_key(request.limits);
    });
    if (hit) return end(*job, *std::move(hit), false);
    lead_or_follow(job, key);
}

/// The first of equal requests, whose task compiles for all. However the task ends, even if a
/// host's executor destroys it unrun, the others are answered.
class AsyncRequests::Leader {
public:
    Leader(AsyncRequests& all, std::shared_ptr<Job> job, std::optional<Digest> key)
        : all_(all), job_(std::move(job)), key_(key) {}
    ~Leader() {
        for (auto& follower : take_followers())
            all_.lead_or_follow(follower, key_);
    }
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

    void run() {
        bool shared = false;
        auto answer = all_.is_given_up(*job_)
                          ? Result<CachedImage>(fail_cancelled(job_->context.source))
                          : all_.pipeline_.answer(job_->request, job_->context, shared);
        // If this request was given up, the others weren't: the next one leads.
        if (answer || answer.error().code != Errc::cancelled) {
            for (const auto& follower : take_followers())
                all_.end(*follower, answer, true);
        }
        all_.end(*job_, std::move(answer), shared);
    }

private:
    std::vector<std::shared_ptr<Job>> take_followers() {
        if (!key_) return {};
        const std::lock_guard guard(all_.mutex_);
        const auto found = all_.followers_.find(*key_);
        if (found == all_.followers_.end() || found->second.leader != job_.get()) return {};
        auto jobs = std::move(found->second.jobs);
        all_.followers_.erase(found);
        return jobs;
    }

    AsyncRequests& all_;
    const std::shared_ptr<Job> job_;
    const std::optional<Digest> key_;
};

void AsyncRequests::lead_or_follow(const std::shared_ptr<Job>& job,
                                   const std::optional<Digest>& key) {
    if (key) {
        const std::lock_guard guard(mutex_);
        const auto [at, is_first] = followers_.try_emplace(*key, Followers{job.get(), {}});
        if (!is_first) {
            at->second.jobs.push_back(job);
            return;
        }
        job->context.is_followed = [this, key = *key] {
            const std::lock_guard lock(mutex_);
            const auto found = followers_.find(key);
            return found != followers_.end() &&
                   std::ranges::any_of(found->second.jobs, [](const auto& follower) {
                       return !follower->context.stop.stop_requested();
                   });
        };
    }
    const auto leader = std::make_shared<Leader>(*this, job, key);
    // Several threads run quick tasks, so that these end in any order.
    tasks_.post(
        TaskQueue::Lane::slow, [leader] { leader->run(); }, job->context.number);
}

void AsyncRequests::end(const Job& job, Result<CachedImage> answer, bool shared) {
    auto finished = requests_.finish(job.context, std::move(answer), shared);
    if (finished && recorder_ != nullptr) recorder_->record(job.request, *finished);
    job.pending->complete(std::move(finished));
}

}  // namespace LODE_NAMESPACE::cache
