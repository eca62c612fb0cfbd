#include "jit/cache/storage.hpp"

#include "jit/remote/traffic_file.hpp"
#include "jit/store/entry_format.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::size_t manifest_memory_bytes = std::size_t{32} << 20;
constexpr std::size_t failure_memory_bytes = std::size_t{4} << 20;
constexpr std::size_t queued_bytes = std::size_t{64} << 20;

std::size_t approximate_bytes(const Image& image) {
    constexpr std::size_t small_parts = 1024;  // Estimate for names, signatures and reports.
    return sizeof(Image) + image.cubin.size() + image.ptx.size() + image.lto_ir.size() +
           image.tile_ir.size() + image.optix_ir.size() + 3 * image.log.size() + small_parts;
}

/// Our sets, then those of the other manifest that ours lacks. nullopt if nothing of the other may
/// be used.
std::optional<Bytes> merge_manifests(TierStack& tiers, const RecordKey& key,
                                     std::span<const std::byte> stored,
                                     std::span<const std::byte> ours) {
    const auto theirs = tiers.admit(key, stored, RemoteTier::tier_name);
    const auto mine = tiers.admit(key, ours, RemoteTier::tier_name);
    if (!theirs || !*theirs || !mine || !*mine) return std::nullopt;
    const auto old = parse_manifest((*theirs)->sealed);
    auto merged = parse_manifest((*mine)->sealed);
    if (!old || !merged || old->key_text != merged->key_text) return std::nullopt;
    for (const auto& known : old->sets) {
        if (merged->sets.size() == Manifest::max_sets) break;
        if (std::ranges::find(merged->sets, known.list, &KnownSet::list) == merged->sets.end())
            merged->sets.push_back(known);
    }
    return tiers.to_store(key, format_manifest(*merged));
}

std::unique_ptr<RemoteTier> make_remote(const CacheOptions& options, TierStack& tiers,
                                        AtomicCounters& counters) {
    if (!options.remote.is_set() || options.mode == CacheMode::off) return nullptr;
    RemoteCacheOptions remote = options.remote;
    remote.read_only = remote.read_only || options.mode == CacheMode::read_only;
    return std::make_unique<RemoteTier>(
        remote, [remote] { return open_remote_store(remote); },
        [&tiers](const RecordKey& key, std::span<const std::byte> stored,
                 std::span<const std::byte> ours) {
            return merge_manifests(tiers, key, stored, ours);
        },
        options.log, counters);
}

}  // namespace

Storage::Storage(CacheOptions options, const os::FileOperations& operations)
    : failures(failure_memory_bytes),
      images(options.memory_bytes),
      options_(std::move(options)),
      operations_(operations),
      tiers_(options_.log, counters),
      manifests_(manifest_memory_bytes),
      remote_(make_remote(options_, tiers_, counters)),
      writes_(queued_bytes) {}

Storage::~Storage() {
    if (!remote_) return;
    writes_.wait();
    const bool is_own_process = remote_->is_own_process();
    remote_.reset();  // What it drops at its end is counted.
    const DiskTier* const disk = tiers_.disk();
    // Sums aren't worth a message.
    if (is_own_process && disk != nullptr && disk->writable())
        (void)add_traffic(disk->folder(), counters.snapshot());
}

void Storage::count_remote_miss() {
    if (remote_ != nullptr && remote_->is_usable()) ++counters.remote_misses;
}

TierStack& Storage::tiers() {
    if (!are_tiers_open_) {
        const std::lock_guard guard(tiers_mutex_);
        if (!are_tiers_open_) {
            tiers_.open(options_, operations_);
            are_tiers_open_ = true;
        }
    }
    return tiers_;
}

void Storage::quiesce() {
    writes_.quiesce();  // First: its writes may open the folder.
    if (remote_) remote_->quiesce();
    tiers_.quiesce();
    are_tiers_open_ = false;
}

template <class Value, class Parse>
std::optional<Value> Storage::find_remotely(const RecordKey& key, const Parse& parse,
                                            Bytes* bytes) {
    auto record = remote_->get(key);
    if (!record || !*record) return std::nullopt;
    const auto admitted = tiers().admit(key, (*record)->bytes, remote_->name());
    if (!admitted) {
        remote_->report_damage(key, admitted.error());
        return std::nullopt;
    }
    if (!*admitted) return std::nullopt;
    Result<Value> value = parse((*admitted)->sealed);
    if (!value) {
        remote_->report_damage(key, value.error());
        return std::nullopt;
    }
    if (bytes != nullptr) *bytes = std::move((*record)->bytes);
    return *std::move(value);
}

std::optional<Found<KeptImage>> Storage::find_entry(const Key& key, Reach reach) {
    if (const auto kept = images.get(key.digest)) {
        ++counters.memory_hits;
        return Found<KeptImage>{*kept, "memory"};
    }
    const RecordKey record{RecordKind::entry, key.digest};
    auto stored =
        tiers().find<Entry>(record, [&](auto bytes) { return parse_entry_for(bytes, key); });
    if (stored) {
        ++(stored->tier == "disk" ? counters.disk_hits : counters.pack_hits);
    } else if (reach == Reach::everywhere && remote_) {
        Bytes bytes;
        auto entry = find_remotely<Entry>(
            record, [&](auto sealed) { return parse_entry_for(sealed, key); }, &bytes);
        if (!entry) return std::nullopt;
        ++counters.remote_hits;
        const std::size_t size = bytes.size();
        writes_.add(size,
                    [this, record, bytes = std::move(bytes)] { tiers().keep(record, bytes); });
        stored = Found<Entry>{*std::move(entry), remote_->name()};
    } else {
        return std::nullopt;
    }
    const KeptImage kept{
        std::make_shared<const Image>(std::move(stored->value.image)), stored->value.compile_ms,
        stored->value.answer ? std::make_shared<const NvrtcAnswer>(*std::move(stored->value.answer))
                             : nullptr};
    keep_in_memory(key.digest, kept);
    return Found<KeptImage>{kept, stored->tier};
}

void Storage::keep_in_memory(const Digest& key, const KeptImage& kept) {
    const std::size_t answer = kept.answer ? kept.answer->approximate_bytes() : 0;
    images.put(key, std::make_shared<const KeptImage>(kept),
               approximate_bytes(*kept.image) + answer);
}

std::shared_ptr<const Manifest> Storage::known_manifest(const PreparedRequest& request) {
    return manifests_.get(request.key.digest);
}

void Storage::visit_manifests(const PreparedRequest& request,
                              const std::function<bool(Manifest)>& use) {
    tiers().visit<Manifest>(
        {RecordKind::manifest, request.key.digest},
        [&](auto bytes) { return parse_manifest_for(bytes, request.key); },
        [&](Found<Manifest> found) {
            // Stamps are meaningful only on the machine that took them.
            if (found.tier != "disk" || !found.is_own) found.value.forget_stamps();
            return use(std::move(found.value));
        });
}

std::optional<Manifest> Storage::stored_manifest(const PreparedRequest& request) {
    std::optional<Manifest> first;
    visit_manifests(request, [&](Manifest manifest) {
        first = std::move(manifest);
        return true;
    });
    return first;
}

std::optional<Manifest> Storage::remote_manifest(const PreparedRequest& request) {
    if (!remote_) return std::nullopt;
    auto manifest = find_remotely<Manifest>(
        {RecordKind::manifest, request.key.digest},
        [&](auto sealed) { return parse_manifest_for(sealed, request.key); });
    if (manifest) manifest->forget_stamps();
    return manifest;
}

std::optional<Bytes> Storage::store(const RecordKey& key, std::span<const std::byte> sealed) {
    auto bytes = tiers().to_store(key, sealed);
    if (!bytes) return std::nullopt;
    tiers().keep(key, *bytes);
    if (remote_) (void)remote_->put(key, *bytes);
    return bytes;
}

void Storage::share(const RecordKey& key, std::span<const std::byte> sealed, NextRecord next) {
    if (!remote_) return;
    if (auto bytes = tiers().to_store(key, sealed))
        remote_->put(key, *std::move(bytes), std::move(next));
}

std::shared_ptr<const Manifest> Storage::keep_in_memory(const PreparedRequest& request,
                                                        Manifest manifest) {
    const std::size_t bytes = manifest.approximate_bytes();
    auto kept = std::make_shared<const Manifest>(std::move(manifest));
    manifests_.put(request.key.digest, kept, bytes);
    return kept;
}

void Storage::write_later(const PreparedRequest& request,
                          std::shared_ptr<const Manifest> manifest) {
    const std::size_t bytes = manifest->approximate_bytes();
    const RecordKey key{RecordKind::manifest, request.key.digest};
    writes_.add(bytes, [this, key, manifest = std::move(manifest)] {
        tiers().put(key, format_manifest(*manifest));
    });
}

void Storage::remove(const RecordKey& key) {
    writes_.wait();
    tiers().remove(key);
    if (remote_) (void)remote_->remove(key, nullptr);
}

}  // namespace LODE_NAMESPACE::cache
