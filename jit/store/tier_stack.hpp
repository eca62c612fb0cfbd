// TierStack: the tiers after memory, in order. Callers see no error of a tier.
//
// A record that doesn't verify is removed and counts as a repair and a miss. A tier that fails is
// disabled, for reading or for writing, with one log line and one count; callers get their records
// from other tiers or go without. A record that Trust doesn't admit counts as a miss and stays:
// another process may trust it.
#pragma once

#include "jit/store/counters.hpp"
#include "jit/store/disk_tier.hpp"
#include "jit/store/tier.hpp"
#include "jit/store/trust.hpp"

#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// A value and the tier it came from.
template <class Value>
struct Found {
    Value value;
    std::string_view tier;
    bool is_own = true;  ///< AdmittedRecord::is_own; true for a value in memory.
};

/// Thread-safe, except for open() and quiesce(). `counters` must outlive it.
class TierStack {
public:
    TierStack(Log log, AtomicCounters& counters) : log_(std::move(log)), counters_(counters) {}

    /// Opens the disk and the packs that the options name; each one that can't be opened is a
    /// fault. After quiesce(), opens the disk again.
    void open(const CacheOptions& options,
              const os::FileOperations& operations = os::FileOperations::system());

    /// The first record that `parse` (bytes → Result<Value>) accepts.
    template <class Value, class Parse>
    std::optional<Found<Value>> find(const RecordKey& key, const Parse& parse) {
        std::optional<Found<Value>> first;
        visit<Value>(key, parse, [&](Found<Value> found) {
            first = std::move(found);
            return true;
        });
        return first;
    }

    /// Calls `use` (Found<Value> → bool) for the record of each tier that `parse` accepts, in
    /// order, until it returns true.
    template <class Value, class Parse, class Use>
    void visit(const RecordKey& key, const Parse& parse, const Use& use) {
        for (const auto& slot : slots_) {
            const auto record = read(*slot, key);
            if (!record) continue;
            const auto admitted = admit(key, record->bytes, slot->tier->name());
            if (!admitted) {
                repair(*slot, key, *record, admitted.error());
                continue;
            }
            if (!*admitted) continue;
            Result<Value> value = parse((*admitted)->sealed);
            if (!value) {
                repair(*slot, key, *record, value.error());
                continue;
            }
            if (use(Found<Value>{*std::move(value), slot->tier->name(), (*admitted)->is_own}))
                return;
        }
    }

    /// Stores a record in every writable tier, signed if there is a key for it; false if none
    /// stored it.
    bool put(const RecordKey& key, std::span<const std::byte> sealed);

    /// Stores the bytes of to_store(), or of a record that was admitted, in every writable tier;
    /// false if none stored them.
    bool keep(const RecordKey& key, std::span<const std::byte> bytes);

    /// The part of a record that may be parsed; nullopt if it isn't trusted, which is counted and
    /// logged. `tier` names where it comes from. Errors: invalid_image if it is damaged.
    [[nodiscard]] Result<std::optional<AdmittedRecord>> admit(const RecordKey& key,
                                                              std::span<const std::byte> bytes,
                                                              std::string_view tier);
    /// The bytes to store of a record, signed if there is a key for it; nullopt if it mustn't be
    /// stored.
    [[nodiscard]] std::optional<Bytes> to_store(const RecordKey& key,
                                                std::span<const std::byte> sealed) const;

    /// Whether records that need a signature can be signed.
    [[nodiscard]] bool stores() const noexcept { return trust_.stores(); }
    /// Whether put() can store anything on the disk: it is writable too.
    [[nodiscard]] bool stores_on_disk() const noexcept;

    /// Removes a record from all tiers.
    void remove(const RecordKey& key);

    /// Closes the disk. Packs and keys stay in memory.
    void quiesce();

    /// The places that the options name, and why one isn't used: "the folder /cache", "the pack
    /// /app.pack (not used: …)".
    [[nodiscard]] std::vector<std::string> places() const;

    /// The disk tier; nullptr when there is none.
    [[nodiscard]] DiskTier* disk() const noexcept { return disk_; }

private:
    struct Slot {
        explicit Slot(std::unique_ptr<Tier> opened);

        std::unique_ptr<Tier> tier;
        std::atomic<bool> readable{true};
        std::atomic<bool> writable;
    };

    void read_keys(const CacheOptions& options);
    void open_disk(const CacheOptions& options, const os::FileOperations& operations);
    void open_packs(const CacheOptions& options);
    std::optional<Record> read(Slot& slot, const RecordKey& key);
    void repair(Slot& slot, const RecordKey& key, const Record& record, const Error& why);
    void take_out(std::atomic<bool>& use, std::string_view verb, const Slot& slot,
                  const Error& why);
    void report_fault(std::string_view what, const Error& why);

    const Log log_;
    AtomicCounters& counters_;
    std::vector<std::unique_ptr<Slot>> slots_;  ///< The disk's is the first.
    std::string disk_place_;                    ///< Empty if the options name no folder.
    std::vector<std::string> pack_places_;
    DiskTier* disk_ = nullptr;
    bool is_opened_ = false;
    Trust trust_;
    std::mutex logged_mutex_;
    std::set<std::string> logged_causes_;  ///< Causes of distrust that are in the log.
};

}  // namespace LODE_NAMESPACE::cache
