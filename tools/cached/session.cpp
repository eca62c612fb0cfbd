#include "tools/cached/session.hpp"

#include <lode/jit/cache.hpp>

#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <pthread.h>

namespace lode::cached {
namespace {

std::mutex session_mutex;
constinit bool has_ended = false;

/// Ends the session with the process: what the remote cache is to get is sent then.
struct Holder {
    std::shared_ptr<Session> session;

    ~Holder() {
        const std::lock_guard guard(session_mutex);
        has_ended = true;
        session = nullptr;
    }
};
Holder& holder() {
    static Holder held;
    return held;
}

void lock_for_fork() {
    session_mutex.lock();
}
void unlock_after_fork() {
    session_mutex.unlock();
}
/// The parent's threads and workers aren't the child's.
void forget_after_fork() {
    (void)new (std::nothrow) std::shared_ptr<Session>(std::exchange(holder().session, nullptr));
    session_mutex.unlock();
}

}  // namespace

std::shared_ptr<Session> Session::of_process(const std::filesystem::path& library,
                                             MakeBackend* make_backend) noexcept {
    try {
        const std::lock_guard guard(session_mutex);
        if (has_ended) return nullptr;
        static const int forks =
            ::pthread_atfork(&lock_for_fork, &unlock_after_fork, &forget_after_fork);
        if (forks != 0) return nullptr;
        auto& session = holder().session;
        if (session == nullptr)
            session =
                std::make_shared<Session>(library, make_backend, CacheOptions::from_environment());
        return session->library_ == library ? session : nullptr;
    } catch (...) {  // Out of memory.
        return nullptr;
    }
}

Session::Session(std::filesystem::path library, MakeBackend* make_backend,
                 Result<CacheOptions> options)
    : library_(std::move(library)) {
    if (!options) {
        unusable_ = options.error().message;
    } else if (options->mode == CacheMode::off) {
        unusable_ = "the cache is off (LODE_CACHE)";
    } else if (options->workers.policy == WorkerPolicy::never) {
        unusable_ = "workers are off (LODE_WORKERS)";
    } else {
        options->workers.policy = WorkerPolicy::always;
        options->log = Log([this, log = options->log](LogLevel level, std::string_view line) {
            log.write(level, line);
            if (level != LogLevel::warning) return;
            const std::lock_guard guard(warning_mutex_);
            warning_ = line;
        });
        auto backend = make_backend(library_, *options);
        storage_ = std::make_unique<cache::Storage>(*std::move(options));
        pipeline_ = std::make_unique<cache::CallPipeline>(std::move(backend), *storage_);
    }
}

Result<cache::AnsweredCall> Session::answer(const NvrtcCall& call) {
    if (pipeline_ == nullptr) return fail(Errc::not_supported, unusable_);
    // A worker would open the new file, while this process goes on with the old one.
    if (stamp_of(library_) != stamp_)
        return fail(Errc::not_supported, "the library's file has changed since it was loaded");
    auto answered = pipeline_->answer(call);
    if (answered && answered->tier.empty() && answered->not_kept.empty()) {
        const std::lock_guard guard(warning_mutex_);
        answered->not_kept = warning_;
    }
    return answered;
}

}  // namespace lode::cached
