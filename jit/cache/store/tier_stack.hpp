// TierStack: the tiers after memory, in order. Callers see no error of a tier.
//
// A record that doesn't verify is removed and counts as a repair and a miss. A tier that fails is
// disabled, for reading or for writing, with one log line and one count; callers get their records
// from other tiers or go without.
#pragma once

#include "jit/cache/store/counters.hpp"
#include "jit/cache/store/disk_tier.hpp"
#include "jit/cache/store/tier.hpp"

#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::cache {

/// A value and the tier it came from.
template <class Value>
struct Found {
    Value value;
    std::string_view tier;
};

/// Thread-safe after open(). `counters` must outlive it.
class TierStack {
public:
    TierStack(Log log, AtomicCounters& counters) : log_(std::move(log)), counters_(counters) {}

    /// Opens the disk and the packs that the options name; each one that can't be opened is a
    /// fault.
    void open(const CacheOptions& options);
    void add(std::unique_ptr<Tier> tier);

    /// The first record that `parse` (bytes → Result<Value>) accepts.
    template <class Value, class Parse>
    std::optional<Found<Value>> find(const RecordKey& key, const Parse& parse) {
        for (const auto& slot : slots_) {
            const auto record = read(*slot, key);
            if (!record) continue;
            Result<Value> value = parse(std::span<const std::byte>(record->bytes));
            if (value) return Found<Value>{*std::move(value), slot->tier->name()};
            repair(*slot, key, *record, value.error());
        }
        return std::nullopt;
    }

    /// Stores a record in every writable tier; false if none stored it.
    bool put(const RecordKey& key, std::span<const std::byte> bytes);

    /// Removes a record from all tiers.
    void remove(const RecordKey& key);

    /// The disk tier; nullptr when there is none.
    [[nodiscard]] DiskTier* disk() const noexcept { return disk_; }

private:
    struct Slot {
        std::unique_ptr<Tier> tier;
        std::atomic<bool> readable{true};
        std::atomic<bool> writable{true};
    };

    std::optional<Record> read(Slot& slot, const RecordKey& key);
    void repair(Slot& slot, const RecordKey& key, const Record& record, const Error& why);
    void take_out(std::atomic<bool>& use, std::string_view verb, const Slot& slot,
                  const Error& why);
    void report_fault(std::string_view what, const Error& why);

    const Log log_;
    AtomicCounters& counters_;
    std::vector<std::unique_ptr<Slot>> slots_;
    DiskTier* disk_ = nullptr;
};

}  // namespace lode::cache
