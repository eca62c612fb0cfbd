// BackendWorkers: which requests of a CachedCompiler are compiled in workers, and by which.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/worker/message.hpp"
#include "jit/worker/pool.hpp"

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/workers.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace LODE_NAMESPACE::cache {

/// Thread-safe. All compilers of a CachedCompiler share one.
class BackendWorkers {
public:
    /// In jails if the options ask for them.
    BackendWorkers(const WorkerOptions& options, Log log)
        : options_(options), pool_(options), log_(std::move(log)) {}

    [[nodiscard]] const WorkerOptions& options() const noexcept { return options_; }

    /// Whether all of the compiler's work is done in workers.
    [[nodiscard]] bool take_all() const noexcept {
        return options_.policy == WorkerPolicy::always || options_.jail.has_value();
    }

    /// WorkerPolicy, applied to one compilation. Errors: not_supported for a limit, a jail or flags
    /// without workers; not_found without the program.
    [[nodiscard]] Result<bool> take(const CompileRequest& request, bool prefers_worker);

    /// A request with these limits and this jail, for the compiler found at `search`.
    [[nodiscard]] worker::Request request_for(CompileRequest compilation,
                                              const NvrtcSearchEnvironment& search) const;

    /// The properties of the compiler of a language, from a worker.
    [[nodiscard]] Result<CompilerProperties> properties(Source nothing,
                                                        const NvrtcSearchEnvironment& search);

    /// One compilation in a worker. Fills in the context's files.
    [[nodiscard]] Result<Image> compile(worker::Request request, const CompileContext& context);

    /// What a worker answers.
    [[nodiscard]] Result<worker::Answer> run(const worker::Request& request,
                                             const CompileControl& control);

    /// Ends those that serve no request.
    void quiesce() noexcept;

private:
    /// A request's limits, and the options' in the place of those that it doesn't have.
    [[nodiscard]] CompileLimits with_defaults(CompileLimits limits) const;

    /// The workers for a request: a jail is made for one compiler.
    [[nodiscard]] worker::Pool& pool_for(const worker::Request& request);

    const WorkerOptions options_;
    worker::Pool pool_;  ///< Those without a jail.
    std::mutex jails_mutex_;
    std::map<Source::Language, std::unique_ptr<worker::Pool>> jails_;
    const Log log_;
    std::atomic<bool> has_warned_ = false;
};

}  // namespace LODE_NAMESPACE::cache
