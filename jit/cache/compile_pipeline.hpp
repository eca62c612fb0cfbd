// CompilePipeline: answers requests to compile. Lookup searches the cache, the backend compiles,
// Publisher stores the result.
#pragma once

#include "base/once_per_key.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/compiler_identity.hpp"
#include "jit/cache/lookup.hpp"
#include "jit/cache/prepared_request.hpp"
#include "jit/cache/publisher.hpp"
#include "jit/cache/request_context.hpp"
#include "jit/cache/requests.hpp"
#include "jit/cache/source_store.hpp"
#include "jit/cache/storage.hpp"

#include <lode/jit/cache.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// Requests that one answer serves, of all threads.
using Flights = OncePerKey<Digest, CachedImage>;

/// Thread-safe. `storage` and the others must outlive it.
class CompilePipeline {
public:
    CompilePipeline(std::unique_ptr<CompilerBackend> backend, Backends&& others, Storage& storage,
                    Requests& requests, Flights& flights)
        : compiler_(std::move(backend), storage),
          storage_(storage),
          requests_(requests),
          flights_(flights) {
        for (auto& [language, other] : others)
            others_.try_emplace(language, std::move(other), storage);
    }

    [[nodiscard]] Result<CompilerInfo> info(Source::Language language);
    /// The answer of the cache or the compiler. Reads the source. `shared` is set to true where
    /// another thread's compilation may give the answer.
    [[nodiscard]] Result<CachedImage> answer(CompileRequest& request, const RequestContext& context,
                                             bool& shared);
    /// Reads the source, and calls `use` unless the request has an error or can't be cached.
    void with_prepared(CompileRequest request,
                       const std::function<void(const PreparedRequest&)>& use);
    /// The answer if it is a hit; also publishes its headers' new stamps.
    [[nodiscard]] std::optional<CachedImage> look_up(const PreparedRequest& request,
                                                     CacheMiss& miss);
    [[nodiscard]] Result<CacheExplanation> explain(CompileRequest request);
    [[nodiscard]] PrefetchReport prefetch(std::span<const CompileRequest> requests);
    [[nodiscard]] bool is_current(const CompileRequest& request, const Digest& key);
    /// The headers of a request that the cache can answer.
    [[nodiscard]] std::optional<std::vector<std::filesystem::path>> headers_of(
        const CompileRequest& request);
    void discard(const CachedImage& refused) const { publisher_.withdraw(refused.report); }
    void quiesce() { compiler_.backend->quiesce(); }  // The others have the same workers.

private:
    struct Compiler {
        Compiler(std::unique_ptr<CompilerBackend> made, Storage& storage)
            : backend(std::move(made)), identity(*backend, storage) {}

        const std::unique_ptr<CompilerBackend> backend;
        CompilerIdentity identity;
    };

    [[nodiscard]] Compiler& compiler_of(Source::Language language) {
        const auto other = others_.find(language);
        return other != others_.end() ? other->second : compiler_;
    }
    [[nodiscard]] Compiler& compiler_of(const CompileRequest& request) {
        return is_wrapped(request) ? compiler_ : compiler_of(request.source.language());
    }
    /// Whether a request is for the PTX that its source is.
    [[nodiscard]] bool is_wrapped(const CompileRequest& request) const {
        return request.source.language() == Source::Language::ptx &&
               (!request.arch.is_real() || !others_.contains(Source::Language::ptx));
    }
    /// cache::prepare() with this compiler's options.
    [[nodiscard]] Result<PreparedRequest> prepare(const CompileRequest& request,
                                                  const KnownCompiler& compiler);
    /// The answer to a request that no other thread answers.
    [[nodiscard]] Result<CachedImage> answer_alone(const PreparedRequest& request,
                                                   const RequestContext& context,
                                                   std::function<bool()> is_awaited);
    /// As look_up(), from the remote cache, which that doesn't ask.
    [[nodiscard]] std::optional<CachedImage> look_up_remote(const PreparedRequest& request);
    [[nodiscard]] CachedImage answer_of(Hit hit, const PreparedRequest& request);
    [[nodiscard]] Result<CachedImage> compile_and_publish(const PreparedRequest& request,
                                                          CacheMiss miss,
                                                          const CompileControl& control);
    [[nodiscard]] Result<CachedImage> compile_uncached(const CompileRequest& request,
                                                       CacheMiss miss,
                                                       const RequestContext& context,
                                                       const SourceFiles& source_files = {});

    Compiler compiler_;
    std::map<Source::Language, Compiler> others_;  ///< Those without compile with `compiler_`.
    Storage& storage_;
    Requests& requests_;
    Flights& flights_;
    Lookup lookup_{storage_};
    Publisher publisher_{storage_};
    SourceStore source_store_{storage_};
};

}  // namespace LODE_NAMESPACE::cache
