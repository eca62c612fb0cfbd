// CachedCompiler::State: processes requests. Lookup searches the cache, the backend compiles,
// Publisher stores the result; all three share one Storage. AsyncTasks runs what doesn't block.
#pragma once

#include "base/once_per_key.hpp"
#include "jit/cache/async_tasks.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/compiler_identity.hpp"
#include "jit/cache/lookup.hpp"
#include "jit/cache/prepared_request.hpp"
#include "jit/cache/publisher.hpp"
#include "jit/cache/recorder.hpp"
#include "jit/cache/request_context.hpp"
#include "jit/cache/source_store.hpp"
#include "jit/cache/storage.hpp"

#include <lode/jit/cache.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

class detail::CachedCompilerState : public std::enable_shared_from_this<CachedCompilerState> {
public:
    using State = CachedCompilerState;

    /// `operations` are those of the cache's folder, and must outlive the state.
    CachedCompilerState(std::unique_ptr<cache::CompilerBackend> backend, CacheOptions options,
                        const os::FileOperations& operations = os::FileOperations::system());

    [[nodiscard]] Result<CompilerInfo> info();
    [[nodiscard]] Result<CachedImage> compile(const Source& source, const Arch& arch,
                                              const CompileOptions& options,
                                              std::span<const std::string> names,
                                              const CompileLimits& limits = {});
    [[nodiscard]] Result<CacheExplanation> explain(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names);
    [[nodiscard]] Result<CachedImage> link(const Linker& linker, std::span<const LinkInput> inputs,
                                           const Arch& target, const LinkOptions& options);
    [[nodiscard]] Result<std::vector<std::filesystem::path>> dependencies(
        const CompileRequest& request);
    [[nodiscard]] bool is_current(const CompileRequest& request, const Digest& key);
    [[nodiscard]] PrefetchReport prefetch(std::span<const CompileRequest> requests);
    void discard(const CachedImage& refused) { publisher_.withdraw(refused.report); }
    [[nodiscard]] CacheCounters counters() const { return storage_.counters.snapshot(); }
    [[nodiscard]] const CacheOptions& options() const noexcept { return storage_.options(); }

    using RequestCompletion = std::function<Status(CompileRequest&)>;
    using PendingImage = std::shared_ptr<detail::PendingState<CachedImage>>;
    [[nodiscard]] PendingImage compile_async(CompileRequest request, RequestCompletion complete);
    /// Ends what is asynchronous; called when the last CachedCompiler is gone.
    void shut_down() noexcept { tasks_.shut_down(); }

private:
    using PreparedRequest = cache::PreparedRequest;
    using RequestContext = cache::RequestContext;

    struct Job;  ///< An asynchronous request.
    /// The quick part of a job: answers it from the cache, or posts the rest.
    void begin(const std::shared_ptr<Job>& job);
    class Leader;
    /// Posts the slow part of a job, or lets it wait for an equal one that has been posted. Without
    /// a key it is equal to none.
    void lead_or_follow(const std::shared_ptr<Job>& job, const std::optional<Digest>& key);
    void end(const Job& job, Result<CachedImage> answer, bool shared);

    [[nodiscard]] RequestContext new_request(const CompileLimits& limits);
    /// Calls the hook for events; fills in what all have in common.
    void tell(const RequestContext& context, CompileEvent event) const;
    /// Completes the report of an answer and tells the end of the request.
    [[nodiscard]] Result<CachedImage> finish(const RequestContext& context, std::string_view source,
                                             const Arch& arch, Result<CachedImage> answer,
                                             bool shared);

    /// The result of compile(), before finish(). `shared` is set to true where another thread's
    /// compilation may give the answer.
    [[nodiscard]] Result<CachedImage> request(const Source& source, const Arch& arch,
                                              const CompileOptions& options,
                                              std::span<const std::string> names,
                                              const RequestContext& context, bool& shared);
    [[nodiscard]] Result<CachedImage> answer(const PreparedRequest& request,
                                             const RequestContext& context,
                                             std::function<bool()> is_awaited);
    /// The answer if it is a hit; also publishes its headers' new stamps.
    [[nodiscard]] std::optional<CachedImage> look_up(const PreparedRequest& request,
                                                     CacheMiss& miss);
    /// The same from the remote cache, which look_up() doesn't ask.
    [[nodiscard]] std::optional<CachedImage> look_up_remote(const PreparedRequest& request);
    [[nodiscard]] CachedImage answer_of(cache::Hit hit, const PreparedRequest& request);
    /// cache::prepare() with this compiler's options; `source` is pinned to `text`.
    [[nodiscard]] Result<PreparedRequest> prepare(const Source& source, const std::string& text,
                                                  const Arch& arch, const CompileOptions& options,
                                                  std::span<const std::string> names,
                                                  const cache::KnownCompiler& compiler) {
        return cache::prepare(source, text, arch, options, names, compiler,
                              this->options().workers.jail,
                              source_store_.make(source, text, options));
    }
    /// Calls `use` with the request unless it has an error or can't be cached.
    void prepare(const CompileRequest& request,
                 const std::function<void(const PreparedRequest&)>& use);
    /// What link() is asked to do. An empty key text means that the result isn't kept, for the
    /// reason in `miss`; `report` names the request.
    struct LinkRequest {
        const Linker& linker;
        std::span<const LinkInput> inputs;
        const Arch& target;
        const LinkOptions& options;
        const cache::Key& key;
        const CacheMiss& miss;
        const CompileReport& report;
    };
    /// Links, or returns the link from the cache.
    [[nodiscard]] Result<CachedImage> answer_link(const LinkRequest& request,
                                                  const RequestContext& context);
    [[nodiscard]] std::optional<CachedImage> look_up_link(const LinkRequest& request,
                                                          cache::Reach reach);
    [[nodiscard]] Result<CachedImage> link_and_publish(const LinkRequest& request);
    /// Whether JitPolicy allows a miss to be compiled.
    [[nodiscard]] Status permit(const Source& source, const Arch& arch, const CacheMiss& miss,
                                const std::optional<Digest>& key);
    /// What the compiler is told: the request's limits, when to stop, and where its phases go.
    [[nodiscard]] CompileControl control_of(const RequestContext& context, const Source& source,
                                            const Arch& arch, const Digest& key,
                                            std::function<bool()> is_awaited) const;
    /// Work that several processes or machines may want to do at the same time.
    struct SharedWork {
        Digest key;
        std::string name;  ///< For messages.
        /// The answer that others have published in the folder, or remotely.
        std::function<std::optional<CachedImage>()> look_up, look_up_remote;
        std::function<Result<CachedImage>()> make;  ///< Does the work and publishes its result.
    };
    /// Does the work, or waits for another process that does it.
    [[nodiscard]] Result<CachedImage> make_once(const SharedWork& work,
                                                const CompileControl& control);
    /// The same for other machines, where the remote cache has leases.
    [[nodiscard]] Result<CachedImage> make_once_remotely(const SharedWork& work,
                                                         const CompileControl& control);
    /// Counts a request that the remote cache hasn't answered, if it is in use.
    void count_remote_miss();
    [[nodiscard]] Result<CachedImage> compile_and_publish(const PreparedRequest& request,
                                                          CacheMiss miss,
                                                          const CompileControl& control);
    [[nodiscard]] Result<CachedImage> compile_uncached(const Source& source, const Arch& arch,
                                                       const CompileOptions& options,
                                                       std::span<const std::string> names,
                                                       CacheMiss miss,
                                                       const RequestContext& context,
                                                       const SourceFiles& source_files = {});

    const std::unique_ptr<cache::CompilerBackend> backend_;
    cache::Storage storage_;
    cache::CompilerIdentity identity_{*backend_, storage_};
    cache::Lookup lookup_{storage_};
    cache::Publisher publisher_{storage_};
    cache::SourceStore source_store_{storage_};
    const std::unique_ptr<cache::Recorder> recorder_ = cache::Recorder::make(storage_.options());
    OncePerKey<Digest, CachedImage> flights_;
    std::atomic<std::uint64_t> requests_ = 0;

    /// Jobs that wait for an equal one, without a thread each.
    struct Followers {
        const Job* leader;
        std::vector<std::shared_ptr<Job>> jobs;
    };
    std::mutex followers_mutex_;
    std::map<Digest, Followers> followers_;  ///< By PreparedRequest::flight_key().
    cache::AsyncTasks tasks_;
};

}  // namespace LODE_NAMESPACE
