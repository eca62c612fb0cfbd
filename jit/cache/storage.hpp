// Storage: the cache's data and tiers. Lookup reads it, Publisher writes it.
#pragma once

#include "jit/cache/prepared_request.hpp"
#include "jit/headers/header_store.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/remote/remote_tier.hpp"
#include "jit/request/nvrtc_call.hpp"
#include "jit/store/counters.hpp"
#include "jit/store/memory_tier.hpp"
#include "jit/store/tier_stack.hpp"
#include "jit/store/write_queue.hpp"

#include <lode/base/image.hpp>
#include <lode/jit/cache.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// An entry in memory.
struct KeptImage {
    std::shared_ptr<const Image> image;
    double compile_ms = 0;
    std::shared_ptr<const NvrtcAnswer> answer = nullptr;  ///< To a program's call.
};

/// A failed compilation, and the headers that it depended on.
struct KeptFailure {
    Error error;
    HeaderSet headers;
};

/// Which tiers a search asks.
enum class Reach : std::uint8_t {
    local,      ///< Memory, the folder and the packs.
    everywhere  ///< Then the remote cache.
};

/// Thread-safe.
class Storage {
public:
    /// `operations` are those of the folder, and must outlive the storage.
    explicit Storage(CacheOptions options,
                     const os::FileOperations& operations = os::FileOperations::system());
    /// Ends the remote cache, and adds its traffic to the folder's sums.
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    [[nodiscard]] const CacheOptions& options() const noexcept { return options_; }
    /// The folder and the packs; the first call opens them, and the first after quiesce() the
    /// folder.
    [[nodiscard]] TierStack& tiers();

    /// The remote cache; nullptr if there is none. Nothing is opened before its first use.
    [[nodiscard]] RemoteTier* remote() noexcept { return remote_.get(); }

    /// The entry of a key and the tier that has it; memory is searched first. Counts the hit. An
    /// entry of the remote cache is stored in the folder, in the background.
    [[nodiscard]] std::optional<Found<KeptImage>> find_entry(const Key& key, Reach reach);
    void keep_in_memory(const Digest& key, const KeptImage& kept);

    /// The manifest of a request from memory; nullptr if memory has none.
    [[nodiscard]] std::shared_ptr<const Manifest> known_manifest(const PreparedRequest& request);
    /// Calls `use` for the manifest of each tier, the folder's first, until it returns true. Stamps
    /// from other machines are cleared.
    void visit_manifests(const PreparedRequest& request, const std::function<bool(Manifest)>& use);
    /// The first of them.
    [[nodiscard]] std::optional<Manifest> stored_manifest(const PreparedRequest& request);
    /// The manifest from the remote cache, without stamps. Whether its digests are those of its
    /// sets isn't verified.
    [[nodiscard]] std::optional<Manifest> remote_manifest(const PreparedRequest& request);
    std::shared_ptr<const Manifest> keep_in_memory(const PreparedRequest& request,
                                                   Manifest manifest);
    /// Stores a manifest in the folder, in the background.
    void write_later(const PreparedRequest& request, std::shared_ptr<const Manifest> manifest);

    /// Counts a request that the remote cache hasn't answered, if it is in use.
    void count_remote_miss();

    /// Returns when the folder has what the remote cache has answered.
    void wait_for_writes() { writes_.wait(); }

    /// Writes and sends what is queued, ends the threads, and closes the connections and the
    /// folder. No other call may be in progress.
    void quiesce();

    /// Removes a record from every tier, the remote cache included.
    void remove(const RecordKey& key);

    /// Stores a record in every tier, the remote cache included, and returns the bytes stored:
    /// signed if there is a key for it; nullopt if it mustn't be stored.
    std::optional<Bytes> store(const RecordKey& key, std::span<const std::byte> sealed);
    /// Queues a record for the remote cache alone, with the stored record that its readers ask for
    /// next; does nothing without a remote cache.
    void share(const RecordKey& key, std::span<const std::byte> sealed, NextRecord next);

    AtomicCounters counters;
    HeaderStore headers;
    MemoryTier<KeptFailure> failures;
    MemoryTier<KeptImage> images;

private:
    /// What `parse` makes of a record of the remote cache that is trusted; `bytes` becomes the
    /// whole record.
    template <class Value, class Parse>
    [[nodiscard]] std::optional<Value> find_remotely(const RecordKey& key, const Parse& parse,
                                                     Bytes* bytes = nullptr);

    const CacheOptions options_;
    const os::FileOperations& operations_;
    std::mutex tiers_mutex_;  ///< Held while the tiers are opened.
    std::atomic<bool> are_tiers_open_ = false;
    TierStack tiers_;
    MemoryTier<Manifest> manifests_;
    std::unique_ptr<RemoteTier> remote_;
    WriteQueue writes_;  ///< Writes answers of the remote cache. Last: it uses the tiers.
};

}  // namespace LODE_NAMESPACE::cache
