#include "jit/cache/storage.hpp"

#include "jit/cache/store/entry_format.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lode::cache {
namespace {

constexpr std::size_t manifest_memory_bytes = std::size_t{32} << 20;
constexpr std::size_t failure_memory_bytes = std::size_t{4} << 20;

std::size_t approximate_bytes(const Image& image) {
    constexpr std::size_t small_parts = 1024;  // Estimate for names, signatures and reports.
    return sizeof(Image) + image.cubin.size() + image.ptx.size() + image.lto_ir.size() +
           image.tile_ir.size() + 3 * image.log.size() + small_parts;
}

/// Our sets, then those of the other manifest that ours lacks.
std::optional<Bytes> merge_manifests(std::span<const std::byte> stored,
                                     std::span<const std::byte> ours) {
    const auto old = parse_manifest(stored);
    auto merged = parse_manifest(ours);
    if (!old || !merged || old->key_text != merged->key_text) return std::nullopt;
    for (const auto& known : old->sets) {
        if (merged->sets.size() == Manifest::max_sets) break;
        if (std::ranges::find(merged->sets, known.list, &KnownSet::list) == merged->sets.end())
            merged->sets.push_back(known);
    }
    return format_manifest(*merged);
}

std::unique_ptr<RemoteTier> make_remote(const CacheOptions& options, AtomicCounters& counters) {
    if (!options.remote.is_set() || options.mode == CacheMode::off) return nullptr;
    RemoteCacheOptions remote = options.remote;
    remote.read_only = remote.read_only || options.mode == CacheMode::read_only;
    return std::make_unique<RemoteTier>(
        remote, [remote] { return open_remote_store(remote); }, merge_manifests, options.log,
        counters);
}

}  // namespace

Storage::Storage(CacheOptions options)
    : failures(failure_memory_bytes),
      images(options.memory_bytes),
      options_(std::move(options)),
      tiers_(options_.log, counters),
      manifests_(manifest_memory_bytes),
      remote_(make_remote(options_, counters)) {}

TierStack& Storage::tiers() {
    std::call_once(tiers_once_, [this] { tiers_.open(options_); });
    return tiers_;
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
        const auto shared = remote_->get(record);
        if (!shared || !*shared) return std::nullopt;
        auto entry = parse_entry_for((*shared)->bytes, key);
        if (!entry) {
            remote_->report_damage(record, entry.error());
            return std::nullopt;
        }
        ++counters.remote_hits;
        tiers().put(record, (*shared)->bytes);
        stored = Found<Entry>{*std::move(entry), remote_->name()};
    } else {
        return std::nullopt;
    }
    const KeptImage kept{std::make_shared<const Image>(std::move(stored->value.image)),
                         stored->value.compile_ms};
    keep_in_memory(key.digest, kept);
    return Found<KeptImage>{kept, stored->tier};
}

void Storage::keep_in_memory(const Digest& key, const KeptImage& kept) {
    images.put(key, std::make_shared<const KeptImage>(kept), approximate_bytes(*kept.image));
}

std::shared_ptr<const Manifest> Storage::known_manifest(const PreparedRequest& request) {
    return manifests_.get(request.key.digest);
}

std::optional<Manifest> Storage::stored_manifest(const PreparedRequest& request) {
    auto stored =
        tiers().find<Manifest>({RecordKind::manifest, request.key.digest},
                               [&](auto bytes) { return parse_manifest_for(bytes, request.key); });
    if (!stored) return std::nullopt;
    // Stamps are meaningful only on the machine that took them.
    if (stored->tier != "disk") stored->value.forget_stamps();
    return std::move(stored->value);
}

std::optional<Manifest> Storage::remote_manifest(const PreparedRequest& request) {
    if (!remote_) return std::nullopt;
    const RecordKey record{RecordKind::manifest, request.key.digest};
    const auto shared = remote_->get(record);
    if (!shared || !*shared) return std::nullopt;
    auto manifest = parse_manifest_for((*shared)->bytes, request.key);
    if (!manifest) {
        remote_->report_damage(record, manifest.error());
        return std::nullopt;
    }
    manifest->forget_stamps();
    return *std::move(manifest);
}

void Storage::keep_in_memory(const PreparedRequest& request, Manifest manifest) {
    const std::size_t bytes = manifest.approximate_bytes();
    manifests_.put(request.key.digest, std::make_shared<const Manifest>(std::move(manifest)),
                   bytes);
}

}  // namespace lode::cache
