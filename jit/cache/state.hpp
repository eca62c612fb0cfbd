// CachedCompiler::State: processes one request. Lookup searches the cache, the backend compiles,
// Publisher stores the result; all three share one Storage.
#pragma once

#include "base/once_per_key.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/compiler_identity.hpp"
#include "jit/cache/lookup.hpp"
#include "jit/cache/prepared_request.hpp"
#include "jit/cache/publisher.hpp"
#include "jit/cache/recorder.hpp"
#include "jit/cache/storage.hpp"

#include <lode/jit/cache.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lode {

class CachedCompiler::State {
public:
    State(std::unique_ptr<cache::CompilerBackend> backend, CacheOptions options);

    [[nodiscard]] Result<CompilerInfo> info();
    [[nodiscard]] Result<CachedImage> compile(const Source& source, const Arch& arch,
                                              const CompileOptions& options,
                                              std::span<const std::string> names);
    [[nodiscard]] Result<CacheExplanation> explain(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names);
    [[nodiscard]] Result<CachedImage> link(const Linker& linker, std::span<const LinkInput> inputs,
                                           const Arch& target, const LinkOptions& options);
    void discard(const CachedImage& refused) { publisher_.withdraw(refused.report); }
    [[nodiscard]] CacheCounters counters() const { return storage_.counters.snapshot(); }
    [[nodiscard]] const CacheOptions& options() const noexcept { return storage_.options(); }

private:
    using PreparedRequest = cache::PreparedRequest;

    /// The result of compile() without the time. `shared` is set to true where another thread's
    /// compilation may give the answer.
    [[nodiscard]] Result<CachedImage> request(const Source& source, const Arch& arch,
                                              const CompileOptions& options,
                                              std::span<const std::string> names, bool& shared);
    [[nodiscard]] Result<CachedImage> answer(const PreparedRequest& request);
    /// The answer if it is a hit; also publishes its headers' new stamps.
    [[nodiscard]] std::optional<CachedImage> look_up(const PreparedRequest& request,
                                                     CacheMiss& miss);
    /// Links, or returns the link of `key` from the cache. An empty key text means that the result
    /// isn't kept, for the reason in `miss`.
    [[nodiscard]] Result<CachedImage> answer_link(const Linker& linker,
                                                  std::span<const LinkInput> inputs,
                                                  const Arch& target, const LinkOptions& options,
                                                  const cache::Key& key, CacheMiss miss);
    /// Whether JitPolicy allows a miss to be compiled.
    [[nodiscard]] Status permit(const Source& source, const Arch& arch, const CacheMiss& miss);
    /// Compiles, or waits for another process that compiles the same key.
    [[nodiscard]] Result<CachedImage> compile_once(const PreparedRequest& request, CacheMiss miss);
    [[nodiscard]] Result<CachedImage> compile_and_publish(const PreparedRequest& request,
                                                          CacheMiss miss);
    [[nodiscard]] Result<CachedImage> compile_uncached(const Source& source, const Arch& arch,
                                                       const CompileOptions& options,
                                                       std::span<const std::string> names,
                                                       CacheMiss miss);

    const std::unique_ptr<cache::CompilerBackend> backend_;
    cache::Storage storage_;
    cache::CompilerIdentity identity_{*backend_, storage_};
    cache::Lookup lookup_{storage_};
    cache::Publisher publisher_{storage_};
    const std::unique_ptr<cache::Recorder> recorder_ = cache::Recorder::make(storage_.options());
    OncePerKey<Digest, CachedImage> flights_;
};

}  // namespace lode
