#include "jit/cache/async_requests.hpp"

#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"

#include <utility>

namespace LODE_NAMESPACE::cache {

struct AsyncRequests::Job {
    const std::shared_ptr<const void> owner;  ///< Owner of what answers the request.
    CompileRequest request;
    Completion complete;
    RequestContext context;
    PendingImage pending;
    Flights::Announcement announced = {};  ///< Equal jobs wait for it.

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
    return job.context.is_cancelled() || tasks_.is_stopping();
}

AsyncRequests::PendingImage AsyncRequests::compile(CompileRequest request, Completion complete,
                                                   std::shared_ptr<const void> owner) {
    auto pending = std::make_shared<detail::PendingState<CachedImage>>();
    RequestContext context = requests_.make(request.source.name(), request.arch);
    context.pending = pending;
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

void AsyncRequests::lead_or_follow(const std::shared_ptr<Job>& job,
                                   const std::optional<Digest>& key) {
    if (key) {
        auto [waiter, announced] = flights_.wait_or_announce(*key);
        if (waiter != nullptr) {
            job->pending->on_cancel([waiter = waiter] { waiter->cancel(); });
            waiter->on_done([this, job, key](const Result<CachedImage>& answer) {
                if (!Flights::is_shared(answer) && !is_given_up(*job))
                    return lead_or_follow(job, key);
                // This may be a thread of the host.
                tasks_.post(TaskQueue::Lane::quick,
                            [this, job, answer] { end(*job, answer, true); });
            });
            return;
        }
        job->announced = std::move(announced);
    }
    const auto run = [this, job] {
        bool shared = false;
        auto answer = is_given_up(*job) ? Result<CachedImage>(fail_cancelled(job->context.source))
                                        : pipeline_.answer(job->request, job->context, shared);
        end(*job, std::move(answer), shared);
    };
    // Several threads run quick tasks, so that these end in any order.
    tasks_.post(TaskQueue::Lane::slow, run, job->context.number);
}

void AsyncRequests::end(const Job& job, Result<CachedImage> answer, bool shared) {
    auto finished = requests_.finish(job.context, std::move(answer), shared);
    if (finished && recorder_ != nullptr) recorder_->record(job.request, *finished);
    job.pending->complete(std::move(finished));
}

}  // namespace LODE_NAMESPACE::cache
