#include "jit/store/tier_stack.hpp"

#include "base/try.hpp"
#include "jit/store/pack_tier.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// "the pack /app.pack (not used: it is damaged)"
std::string place_text(std::string_view kind, const std::filesystem::path& path, const Error* why) {
    std::error_code unknown;
    const auto absolute = std::filesystem::absolute(path, unknown);
    std::string text = fmt::format("the {} {}", kind, (unknown ? path : absolute).string());
    if (why == nullptr) return text;
    if (why->code == Errc::not_found) return text + " (it doesn't exist)";
    std::string_view reason = why->message;
    reason = reason.substr(0, reason.find('\n'));
    if (reason.ends_with('.')) reason.remove_suffix(1);
    return text + fmt::format(" (not used: {})", reason);
}

}  // namespace

TierStack::Slot::Slot(std::unique_ptr<Tier> opened)
    : tier(std::move(opened)), writable(tier->writable()) {}

void TierStack::open(const CacheOptions& options, const os::FileOperations& operations) {
    if (options.mode == CacheMode::off) return;
    const bool is_first = !std::exchange(is_opened_, true);
    if (is_first) read_keys(options);
    if (!options.folder.empty()) open_disk(options, operations);
    if (is_first) open_packs(options);
}

void TierStack::read_keys(const CacheOptions& options) {
    std::optional<Error> problem;
    trust_ = Trust::read(options, problem);
    if (problem) report_fault("doesn't trust or sign as it should", *problem);
}

void TierStack::open_disk(const CacheOptions& options, const os::FileOperations& operations) {
    const bool writable = options.mode == CacheMode::on;
    auto disk = DiskTier::open(options.folder, writable, options.max_bytes, operations);
    if (!disk && writable) {
        auto unchanged = DiskTier::open(options.folder, false, options.max_bytes, operations);
        // That there is no folder doesn't say why none can be made.
        if (unchanged || unchanged.error().code != Errc::not_found) disk = std::move(unchanged);
    }
    disk_place_ = place_text("folder", options.folder, disk ? nullptr : &disk.error());
    if (disk) {
        disk_ = disk->get();
        slots_.insert(slots_.begin(), std::make_unique<Slot>(*std::move(disk)));
    } else if (writable || disk.error().code != Errc::not_found) {
        report_fault("doesn't use the disk", disk.error());
    }
}

void TierStack::open_packs(const CacheOptions& options) {
    for (const auto& file : options.packs) {
        auto pack = PackTier::open(file);
        pack_places_.push_back(place_text("pack", file, pack ? nullptr : &pack.error()));
        if (pack) {
            slots_.push_back(std::make_unique<Slot>(*std::move(pack)));
        } else {
            report_fault("doesn't use a pack", pack.error());
        }
    }
}

void TierStack::quiesce() {
    if (std::exchange(disk_, nullptr) != nullptr) slots_.erase(slots_.begin());
}

std::vector<std::string> TierStack::places() const {
    std::vector<std::string> places = pack_places_;
    if (!disk_place_.empty()) places.insert(places.begin(), disk_place_);
    return places;
}

std::optional<Record> TierStack::read(Slot& slot, const RecordKey& key) {
    if (!slot.readable) return std::nullopt;
    auto record = slot.tier->get(key);
    if (!record) {
        take_out(slot.readable, "stops reading from", slot, record.error());
        return std::nullopt;
    }
    if (*record) counters_.bytes_read += (*record)->bytes.size();
    return *std::move(record);
}

Result<std::optional<AdmittedRecord>> TierStack::admit(const RecordKey& key,
                                                       std::span<const std::byte> bytes,
                                                       std::string_view tier) {
    LODE_TRY_ASSIGN(const auto judged, trust_.admit(key, bytes));
    if (judged) return *judged;
    ++counters_.untrusted;
    const Distrust& distrust = judged.error();
    {
        const std::lock_guard guard(logged_mutex_);
        if (!logged_causes_.insert(distrust.cause).second) return std::optional<AdmittedRecord>();
    }
    log_.write(LogLevel::warning,
               fmt::format("The cache doesn't use {}/{} ({}): {}. {} are only counted from now on.",
                           folder_name(key.kind), key.digest.to_hex(), tier, distrust.reason,
                           distrust.cause.empty() ? "Records without signatures"
                                                  : "Records with this key's signature"));
    return std::optional<AdmittedRecord>();
}

void TierStack::repair(Slot& slot, const RecordKey& key, const Record& record, const Error& why) {
    ++counters_.repairs;
    log_.write(LogLevel::info, fmt::format("The cache drops {}/{} ({}): {}", folder_name(key.kind),
                                           key.digest.to_hex(), slot.tier->name(), why.message));
    if (!slot.writable) return;
    if (const Status removed = slot.tier->remove(key, &record.identity); !removed) {
        take_out(slot.writable, "stops writing to", slot, removed.error());
    }
}

bool TierStack::stores_on_disk() const noexcept {
    return disk_ != nullptr && disk_->writable() && trust_.stores();
}

std::optional<Bytes> TierStack::to_store(const RecordKey& key,
                                         std::span<const std::byte> sealed) const {
    if (!trust_.stores()) return std::nullopt;
    return trust_.seal_with_signature(key, sealed);
}

bool TierStack::put(const RecordKey& key, std::span<const std::byte> sealed) {
    const auto bytes = to_store(key, sealed);
    return bytes && keep(key, *bytes);
}

bool TierStack::keep(const RecordKey& key, std::span<const std::byte> bytes) {
    bool kept = false;
    for (const auto& slot : slots_) {
        if (!slot->writable) continue;
        if (const Status put = slot->tier->put(key, bytes); put) {
            kept = true;
            counters_.bytes_written += bytes.size();
        } else {
            take_out(slot->writable, "stops writing to", *slot, put.error());
        }
    }
    return kept;
}

void TierStack::remove(const RecordKey& key) {
    for (const auto& slot : slots_) {
        if (!slot->writable) continue;
        if (const Status removed = slot->tier->remove(key, nullptr); !removed) {
            take_out(slot->writable, "stops writing to", *slot, removed.error());
        }
    }
}

void TierStack::take_out(std::atomic<bool>& use, std::string_view verb, const Slot& slot,
                         const Error& why) {
    if (!use.exchange(false)) return;
    report_fault(fmt::format("{} the {}", verb, slot.tier->name()), why);
}

void TierStack::report_fault(std::string_view what, const Error& why) {
    ++counters_.faults;
    log_.write(LogLevel::warning, fmt::format("The cache {}: {}", what, why.message));
}

}  // namespace LODE_NAMESPACE::cache
