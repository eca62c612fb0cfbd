// CachedCompiler::State: the tiers, the compiler behind them, and the way of one request through
// both. request.cpp says how a request is answered, keep.cpp how a result is kept.
#pragma once

#include "base/once_per_key.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/counters.hpp"
#include "jit/cache/entry_format.hpp"
#include "jit/cache/header_collect.hpp"
#include "jit/cache/header_store.hpp"
#include "jit/cache/manifest.hpp"
#include "jit/cache/memory_tier.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/cache/tier_stack.hpp"

#include <lode/jit/cache.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace lode {

namespace cache {

/// An entry in memory.
struct KeptImage {
    std::shared_ptr<const Image> image;
    double compile_ms = 0;
};

/// A failed compilation, and the headers that it depended on.
struct KeptFailure {
    Error error;
    HeaderSet headers;
};

/// One request on its way: everything derived from what the caller passed.
struct Journey {
    const Source& source;  ///< Pinned: read() gives the text below.
    const std::string& text;
    const Arch& arch;
    const CompileOptions& options;
    std::span<const std::string> names;
    SearchFolders folders;
    Key key;
    bool free_of_includes = false;

    [[nodiscard]] Request request(const CompilerInfo& compiler) const;
};

}  // namespace cache

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
    void discard(const CachedImage& refused);
    [[nodiscard]] CacheCounters counters() const { return counters_.snapshot(); }
    [[nodiscard]] const CacheOptions& options() const noexcept { return options_; }

private:
    using Journey = cache::Journey;

    /// Opens the tiers, on first use.
    cache::TierStack& tiers();
    /// The compiler's facts, by record where there is one.
    [[nodiscard]] Result<std::shared_ptr<const CompilerInfo>> identify();
    /// Asks the compiler itself after a compilation has shown that the record is wrong.
    void identify_anew();

    /// Fills in what is derived: folders and key.
    [[nodiscard]] Status prepare(Journey& journey, const CompilerInfo& compiler) const;
    [[nodiscard]] Result<CachedImage> answer(const Journey& journey);
    [[nodiscard]] Result<CachedImage> compile_once(const Journey& journey, std::string reason);
    [[nodiscard]] Result<CachedImage> compile_past_cache(const Source& source, const Arch& arch,
                                                         const CompileOptions& options,
                                                         std::span<const std::string> names,
                                                         std::string why);
    [[nodiscard]] Result<CachedImage> compile_and_keep(const Journey& journey, std::string reason);
    [[nodiscard]] Status permit(const Source& source, const Arch& arch, std::string_view reason);

    /// A hit, or nullopt and the reason for the miss.
    std::optional<CachedImage> look_up(const Journey& journey, std::string& reason);
    std::optional<CachedImage> look_in(const Journey& journey, const cache::Manifest& known,
                                       bool from_memory, std::string& reason);
    [[nodiscard]] cache::CollectedHeaders collect(const Journey& journey, const CompileFiles& files,
                                                  const Image* image);
    std::optional<CachedImage> find_entry(const Journey& journey, const cache::Key& key);
    CachedImage found(const Journey& journey, const Digest& key, const cache::KeptImage& kept,
                      std::string_view tier);

    /// Puts an image into every tier; says why it couldn't be kept, empty when it was.
    std::string keep(const cache::Entry& entry, const Digest& key,
                     std::shared_ptr<const Image> image);
    void keep_manifest(const Journey& journey, cache::HeaderSet set);
    void keep_in_memory(const Digest& key, const cache::KeptImage& kept);
    void remember_failure(const Journey& journey, const Error& error, const CompileFiles& files);
    std::optional<Error> remembered_failure(const Journey& journey);
    [[nodiscard]] Digest flight_key(const Journey& journey) const;
    void count_miss(std::string_view reason);

    const CacheOptions options_;
    const std::unique_ptr<cache::CompilerBackend> backend_;
    cache::AtomicCounters counters_;
    std::once_flag tiers_once_;
    cache::TierStack tiers_;
    std::mutex info_mutex_;
    std::shared_ptr<const CompilerInfo> info_;  ///< Guarded by info_mutex_; nullptr while unknown.
    cache::HeaderStore headers_;
    cache::MemoryTier<cache::KeptImage> images_;
    cache::MemoryTier<cache::Manifest> manifests_;
    cache::MemoryTier<cache::KeptFailure> failures_;
    OncePerKey<Digest, CachedImage> flights_;
};

}  // namespace lode
