#include "jit/cache/storage.hpp"

#include "jit/cache/store/entry_format.hpp"

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

}  // namespace

Storage::Storage(CacheOptions options, const FileOperations& operations)
    : failures(failure_memory_bytes),
      images(options.memory_bytes),
      options_(std::move(options)),
      operations_(operations),
      tiers_(options_.log, counters),
      manifests_(manifest_memory_bytes) {}

TierStack& Storage::tiers() {
    std::call_once(tiers_once_, [this] { tiers_.open(options_, operations_); });
    return tiers_;
}

std::optional<Found<KeptImage>> Storage::find_entry(const Key& key) {
    if (const auto kept = images.get(key.digest)) {
        ++counters.memory_hits;
        return Found<KeptImage>{*kept, "memory"};
    }
    auto stored = tiers().find<Entry>({RecordKind::entry, key.digest},
                                      [&](auto bytes) { return parse_entry_for(bytes, key); });
    if (!stored) return std::nullopt;
    ++(stored->tier == "disk" ? counters.disk_hits : counters.pack_hits);
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

void Storage::keep_in_memory(const PreparedRequest& request, Manifest manifest) {
    const std::size_t bytes = manifest.approximate_bytes();
    manifests_.put(request.key.digest, std::make_shared<const Manifest>(std::move(manifest)),
                   bytes);
}

}  // namespace lode::cache
