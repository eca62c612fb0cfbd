// RemoteTier: the records that several machines share, on a RemoteStore.
//
// A record is an action (action_result.hpp) named by the SHA-256 of the record's path in the cache
// folder, which contains the version of the format. A manifest's action also names its newest entry
// and holds it if it is small, so that a hit costs one round trip, and two if it is large. It names
// older large entries too: any hit costs two round trips at most.
//
// Reads run on the caller's thread within the deadlines of the options. Writes are queued; a
// background thread sends them, renews leases and tries a server that failed. A manifest is merged
// with the one that the server has. Between that read and the write another machine's sets may get
// lost: its requests are then compiled once more.
#pragma once

#include "base/os/process.hpp"
#include "base/process_end.hpp"
#include "jit/remote/action_result.hpp"
#include "jit/remote/breaker.hpp"
#include "jit/remote/remote_store.hpp"
#include "jit/store/counters.hpp"
#include "jit/store/memory_tier.hpp"
#include "jit/store/tier.hpp"

#include <lode/base/log.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace LODE_NAMESPACE::cache {

/// The file of an action that is the record itself.
inline constexpr std::string_view record_file = "record";
/// The name of a record's action.
BlobName action_of(const RecordKey& key);
/// The path of a further record in an action.
std::string next_path(const RecordKey& key);

/// A record that readers of another one ask for next.
struct NextRecord {
    RecordKey key;
    Bytes bytes;
};

/// Thread-safe. Returns no errors: a fault is a miss, is counted and counts for the breaker; the
/// first one is logged. `counters` must outlive it.
class RemoteTier final : public Tier {
public:
    /// Makes one record of the server's and of ours; nullopt if the server's can't be used.
    using Merge = std::function<std::optional<Bytes>(
        const RecordKey& key, std::span<const std::byte> stored, std::span<const std::byte> ours)>;
    static constexpr std::string_view tier_name = "remote";
    using OpenStore = std::function<Result<std::unique_ptr<RemoteStore>>()>;

    /// Opens nothing before the first use.
    RemoteTier(RemoteCacheOptions options, OpenStore open, Merge merge, Log log,
               AtomicCounters& counters);
    /// Sends what is queued, within RemoteCacheOptions::drain. In a forked child it sends nothing.
    ~RemoteTier() override;

    [[nodiscard]] std::string_view name() const noexcept override { return tier_name; }
    [[nodiscard]] bool writable() const noexcept override { return !options_.read_only; }
    [[nodiscard]] Result<std::optional<Record>> get(const RecordKey& key) override;
    [[nodiscard]] Status put(const RecordKey& key, std::span<const std::byte> bytes) override;
    [[nodiscard]] Status remove(const RecordKey& key, const FileIdentity* only) override;

    /// Queues a manifest with its newest entry.
    void put(const RecordKey& key, Bytes bytes, NextRecord next);
    /// Reads many records at once; the next get() of each takes it from memory.
    void prefetch(std::span<const RecordKey> keys);
    /// Says that a record that get() returned isn't valid: a fault.
    void report_damage(const RecordKey& key, const Error& why);

    /// Whether requests are sent to the server now.
    [[nodiscard]] bool is_usable() const noexcept { return breaker_.is_closed(); }
    /// False in a forked child, whose counters began as its parent's.
    [[nodiscard]] bool is_own_process() const noexcept;

    /// The result of an attempt to take a lease.
    enum class Lease : std::uint8_t {
        taken,
        busy,  ///< Another machine has it.
        none   ///< The server has no leases, or can't be used.
    };
    /// Tries to take the lease of a compilation.
    [[nodiscard]] Lease acquire(const Digest& key);
    /// Gives a lease back after the writes that were queued before.
    void release(const Digest& key);

    /// Sends what is queued, within RemoteCacheOptions::drain, and ends the thread and the
    /// connections. What is left goes with the next write. A server that failed is tried again. No
    /// other call may be in progress.
    void quiesce();

private:
    struct Write {
        enum class Kind : std::uint8_t { put, remove, release };
        Kind kind = Kind::put;
        RecordKey key;
        Bytes bytes = {};
        std::optional<NextRecord> next = {};
        [[nodiscard]] std::size_t size() const noexcept {
            return bytes.size() + (next ? next->bytes.size() : 0);
        }
    };
    struct HeldLease {
        std::string owner;
        Breaker::Clock::time_point renewal;
    };
    using Files = std::optional<std::vector<OutputFile>>;

    /// nullptr if the store can't be opened or the server isn't to be used.
    [[nodiscard]] RemoteStore* store();
    void note(Traffic traffic, const Error& fault);
    template <class Value>
    bool note(Traffic traffic, const Result<Value>& result) {
        if (result) {
            breaker_.succeeded(traffic);
        } else {
            note(traffic, result.error());
        }
        return result.has_value();
    }
    void count_read(const Bytes& bytes);
    void count_write(std::size_t bytes);
    /// The files of an action that was read; notes its faults.
    [[nodiscard]] Files files_of(const RecordKey& key, BlobResult answer);
    /// Keeps the file of another record for its get().
    void keep_next(OutputFile file);
    /// The bytes of a file, from the store if they aren't in the action.
    [[nodiscard]] std::optional<Bytes> content_of(RemoteStore& store, OutputFile file);

    void enqueue(Write write);
    void work();
    /// Asks the thread to end. Needs the mutex.
    void stop();
    /// What the background thread does at the next opportunity, while it holds the lock.
    void do_next(std::unique_lock<std::mutex>& lock);
    void send(RemoteStore& store, Write& write);
    [[nodiscard]] Status send_record(RemoteStore& store, Write& write);
    /// Merges a manifest with the server's. Returns the large entries that the server's names.
    [[nodiscard]] Result<std::vector<OutputFile>> merge_stored(RemoteStore& store, Write& write);
    /// Adds a file to an action, and its content to the store if it is large.
    [[nodiscard]] Status add_file(RemoteStore& store, std::string path,
                                  std::span<const std::byte> bytes, std::vector<OutputFile>& files);
    void renew_leases(std::unique_lock<std::mutex>& lock);
    void try_again(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Breaker::Clock::time_point next_event() const;
    void start_thread();
    /// Keeps the process from ending while there is something to send, for at most
    /// RemoteCacheOptions::drain; false if it mustn't be sent any more.
    [[nodiscard]] bool hold_use(Breaker::Clock::time_point now);

    const RemoteCacheOptions options_;
    const OpenStore open_;
    const Merge merge_;
    const Log log_;
    AtomicCounters& counters_;
    const os::ProcessId process_;

    std::once_flag store_once_;
    std::unique_ptr<RemoteStore> store_;
    std::atomic<bool> was_logged_ = false;
    Breaker breaker_;
    MemoryTier<OutputFile> next_;
    MemoryTier<Bytes> prefetched_;

    std::mutex mutex_;  ///< Guards what follows.
    /// Apart, since a forked child can't destroy it: the parent's thread waits for it.
    std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
    std::deque<Write> queue_;
    std::size_t queued_bytes_ = 0;
    std::map<Digest, HeldLease> leases_;
    std::optional<Breaker::Clock::time_point> stop_by_;  ///< Set if the thread is to end.
    bool has_ended_ = false;
    std::unique_ptr<std::thread> thread_;

    // Only the thread uses these:
    std::optional<ProcessUse> use_;
    std::optional<Breaker::Clock::time_point> process_end_;  ///< When it was first seen.
};

}  // namespace LODE_NAMESPACE::cache
