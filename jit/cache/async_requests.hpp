// AsyncRequests: requests that don't block.
//
// A request is two tasks. The quick one completes the request and searches the cache; only if that
// has no answer, the slow one compiles. So an application whose kernels are in the cache never
// waits for one that isn't.
#pragma once

#include "jit/cache/async_tasks.hpp"
#include "jit/cache/compile_pipeline.hpp"
#include "jit/cache/recorder.hpp"
#include "jit/cache/requests.hpp"

#include <lode/base/pending.hpp>
#include <lode/jit/cache.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace LODE_NAMESPACE::cache {

/// Thread-safe. The arguments must outlive it.
class AsyncRequests {
public:
    using Completion = std::function<Status(CompileRequest&)>;
    using PendingImage = std::shared_ptr<detail::PendingState<CachedImage>>;

    /// `recorder` may be null.
    AsyncRequests(CompilePipeline& pipeline, Requests& requests, Flights& flights,
                  AsyncTasks& tasks, Recorder* recorder) noexcept
        : pipeline_(pipeline),
          requests_(requests),
          flights_(flights),
          tasks_(tasks),
          recorder_(recorder) {}

    /// Begins a request, which keeps `owner` of this object alive until it has ended.
    [[nodiscard]] PendingImage compile(CompileRequest request, Completion complete,
                                       std::shared_ptr<const void> owner);

private:
    struct Job;  ///< One request.

    /// The quick part of a job: answers it from the cache, or posts the rest.
    void begin(const std::shared_ptr<Job>& job);
    /// Posts the slow part of a job, or lets it wait for an equal one without a thread. Without a
    /// key it is equal to none.
    void lead_or_follow(const std::shared_ptr<Job>& job, const std::optional<Digest>& key);
    void end(const Job& job, Result<CachedImage> answer, bool shared);
    [[nodiscard]] bool is_given_up(const Job& job) const;

    CompilePipeline& pipeline_;
    Requests& requests_;
    Flights& flights_;
    AsyncTasks& tasks_;
    Recorder* const recorder_;
};

}  // namespace LODE_NAMESPACE::cache
