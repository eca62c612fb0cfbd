#include "jit/cache/packs.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/admin.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/store/pack_tier.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// An entry that may go into a pack, with the manifest of its request if that has one.
struct PackCandidate {
    PackedEntry what;
    std::vector<PackedRecord> records;
    bool is_chosen = false;
};

enum class Usable : std::uint8_t { yes, damaged, untrusted };

Usable judge(const Trust& trust, const RecordKey& key, std::span<const std::byte> bytes,
             RecordProperties* properties = nullptr) {
    if (!verify_record(key, bytes, properties)) return Usable::damaged;
    const auto admitted = trust.admit(key, bytes);
    return admitted && *admitted ? Usable::yes : Usable::untrusted;
}

/// Whether a record may be used; counts it otherwise.
bool is_usable(Usable judged, PackReport& report) {
    if (judged == Usable::damaged) ++report.skipped;
    if (judged == Usable::untrusted) ++report.untrusted;
    return judged == Usable::yes;
}

PackedEntry describe(const RecordProperties& properties, std::uint64_t bytes) {
    return {properties.key.digest, properties.source, properties.arch, bytes};
}

/// The records of the chosen candidates; a manifest of several entries once.
std::vector<PackedRecord> chosen_records(const std::vector<PackCandidate>& candidates) {
    std::vector<PackedRecord> records;
    std::set<std::pair<RecordKind, Digest>> known;
    for (const auto& candidate : candidates) {
        if (!candidate.is_chosen) continue;
        for (const auto& record : candidate.records) {
            if (known.emplace(record.key.kind, record.key.digest).second) records.push_back(record);
        }
    }
    return records;
}

/// Chooses candidates in order until the pack is full, and returns the pack. Records compress
/// better together than alone, so what a record costs alone never lets the pack grow too large,
/// and a further round may fill what is left.
Bytes fill_pack(std::vector<PackCandidate>& candidates, std::uint64_t most) {
    for (auto& candidate : candidates)
        candidate.is_chosen = true;
    Bytes bytes = format_pack(chosen_records(candidates));
    if (bytes.size() <= most) return bytes;
    for (auto& candidate : candidates)
        candidate.is_chosen = false;
    bytes = format_pack({});
    std::vector<std::uint64_t> cost;
    for (const auto& candidate : candidates)
        cost.push_back(format_pack(candidate.records).size());
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        std::uint64_t room = most - bytes.size();
        std::vector<PackCandidate*> added;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i].is_chosen || cost[i] > room) continue;
            room -= cost[i];
            candidates[i].is_chosen = true;
            added.push_back(&candidates[i]);
        }
        if (added.empty()) break;
        Bytes larger = format_pack(chosen_records(candidates));
        has_grown = larger.size() <= most;
        while (larger.size() > most) {
            added.back()->is_chosen = false;
            added.pop_back();
            larger = format_pack(chosen_records(candidates));
        }
        bytes = std::move(larger);
    }
    return bytes;
}

/// Writes the candidates that fit to a pack file.
Result<PackReport> write_pack(PackReport report, std::vector<PackCandidate> candidates,
                              const std::filesystem::path& file, std::uint64_t most) {
    if (const auto least = format_pack({}).size(); most < least) {
        return fail(Errc::invalid_argument,
                    fmt::format("A pack has at least {} bytes; the limit is {}.", least, most));
    }
    const Bytes bytes = fill_pack(candidates, most);
    for (const auto& record : chosen_records(candidates))
        ++(record.key.kind == RecordKind::entry ? report.entries : report.manifests);
    for (const auto& candidate : candidates) {
        if (!candidate.is_chosen) report.left_out.push_back(candidate.what);
    }
    report.bytes = bytes.size();
    LODE_TRY(write_result(file, bytes));
    return report;
}

/// An entry of the folder with its request's manifest; nullopt if it isn't there or mustn't be
/// packed.
Result<std::optional<PackCandidate>> candidate_of(DiskTier& tier, const RecordKey& key,
                                                  const Trust& trust, PackReport& report) {
    LODE_TRY_ASSIGN(auto record, tier.peek(key));
    if (!record) return std::nullopt;
    RecordProperties properties;
    properties.key = key;
    if (!is_usable(judge(trust, key, record->bytes, &properties), report)) return std::nullopt;
    PackCandidate candidate{describe(properties, record->bytes.size()), {}};
    candidate.records.push_back({key, std::move(record->bytes)});
    const RecordKey request = request_of_entry(properties.key_text);
    LODE_TRY_ASSIGN(auto manifest, tier.peek(request));
    // A result that depends only on its key has none.
    if (manifest && judge(trust, request, manifest->bytes) == Usable::yes)
        candidate.records.push_back({request, std::move(manifest->bytes)});
    return candidate;
}

Result<PackReport> pack_all(DiskTier& tier, const std::filesystem::path& file,
                            const std::optional<Arch>& arch, const PackOptions& options) {
    PackReport report;
    std::vector<std::pair<std::int64_t, Digest>> by_use;
    LODE_TRY(
        tier.for_each(RecordKind::entry, [&](const RecordKey& key, const FileIdentity& identity) {
            by_use.emplace_back(-identity.modified_ns, key.digest);
        }));
    std::ranges::sort(by_use);
    std::vector<PackCandidate> candidates;
    for (const auto& [use, digest] : by_use) {
        LODE_TRY_ASSIGN(auto candidate,
                        candidate_of(tier, {RecordKind::entry, digest}, options.trust, report));
        if (candidate && (!arch || candidate->what.arch == *arch))
            candidates.push_back(*std::move(candidate));
    }
    return write_pack(std::move(report), std::move(candidates), file, options.max_bytes);
}

/// The digests of a manifest's header lists.
std::set<Digest> lists_of(const Manifest& manifest) {
    std::set<Digest> lists;
    for (const auto& known : manifest.sets)
        lists.insert(known.list);
    return lists;
}

/// One manifest with the header sets of both, `added`'s first. If one of them has them all, it is
/// that one as it is, with its signatures.
Result<Bytes> merge_manifests(const RecordKey& key, const Bytes& base, const Bytes& added,
                              const Trust& trust, PackReport& report) {
    LODE_TRY_ASSIGN(const SignedRecord base_record, split_record(base));
    LODE_TRY_ASSIGN(const SignedRecord added_record, split_record(added));
    LODE_TRY_ASSIGN(Manifest merged, parse_manifest(base_record.sealed));
    LODE_TRY_ASSIGN(Manifest more, parse_manifest(added_record.sealed));
    const auto base_lists = lists_of(merged);
    const auto added_lists = lists_of(more);
    if (std::ranges::includes(base_lists, added_lists)) return base;
    if (std::ranges::includes(added_lists, base_lists)) return added;
    if (!trust.stores()) {
        ++report.not_merged;
        return added;
    }
    more.forget_stamps();
    std::ranges::reverse(more.sets);  // add() puts each set first, so the newest is added last.
    for (KnownSet& known : more.sets)
        merged.add(std::move(known.set));
    const bool was_signed = !base_record.signatures.empty() || !added_record.signatures.empty();
    if (was_signed && !trust.is_strict()) ++report.unsigned_merges;
    return trust.seal_with_signature(key, format_manifest(merged));
}

/// The bytes to keep in a folder of a pack's record.
Result<Bytes> bytes_to_keep(DiskTier& tier, const PackedRecord& record, const Trust& trust,
                            PackReport& report) {
    if (record.key.kind != RecordKind::manifest) return record.bytes;
    Bytes packed = record.bytes;
    LODE_TRY_ASSIGN(const SignedRecord parts, split_record(record.bytes));
    if (parts.signatures.empty()) {
        // The stamps are another machine's. A signed manifest must stay as it is, and its reader
        // ignores the stamps of other keys.
        LODE_TRY_ASSIGN(Manifest manifest, parse_manifest(parts.sealed));
        manifest.forget_stamps();
        packed = format_manifest(manifest);
    }
    LODE_TRY_ASSIGN(const auto known, tier.peek(record.key));
    if (!known || judge(trust, record.key, known->bytes) != Usable::yes) return packed;
    return merge_manifests(record.key, known->bytes, packed, trust, report);
}

}  // namespace

Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                        const PackOptions& options) {
    return pack_all(tier, file, {}, options);
}

Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file, const Arch& arch,
                        const PackOptions& options) {
    return pack_all(tier, file, arch, options);
}

Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                        std::span<const Digest> entries, const PackOptions& options) {
    PackReport report;
    std::vector<PackCandidate> candidates;
    std::set<Digest> known;
    for (const Digest& digest : entries) {
        if (!known.insert(digest).second) continue;
        const RecordKey key{RecordKind::entry, digest};
        LODE_TRY_ASSIGN(const auto record, tier.peek(key));
        if (!record) {
            return fail(Errc::not_found,
                        fmt::format("The entry {} isn't in the cache any more.", digest.to_hex()));
        }
        LODE_TRY(verify_record(key, record->bytes));
        LODE_TRY_ASSIGN(auto candidate, candidate_of(tier, key, options.trust, report));
        if (candidate) candidates.push_back(*std::move(candidate));
    }
    return write_pack(std::move(report), std::move(candidates), file, options.max_bytes);
}

std::filesystem::path pack_for(const std::filesystem::path& pack, const Arch& arch) {
    const auto extension = pack.has_extension() ? pack.extension().string() : ".pack";
    return pack.parent_path() /
           fmt::format("{}.{}{}", pack.stem().string(), arch.to_string(), extension);
}

Result<std::vector<Arch>> packed_archs(DiskTier& tier) {
    LODE_TRY_ASSIGN(const auto all, inspect(tier));
    std::map<std::string, Arch> archs;
    for (const auto& properties : all) {
        if (properties.key.kind == RecordKind::entry && properties.problem.empty())
            archs.emplace(properties.arch.to_string(), properties.arch);
    }
    std::vector<Arch> list;
    for (const auto& [name, arch] : archs)
        list.push_back(arch);
    return list;
}

Result<PackReport> unpack(DiskTier& tier, const std::filesystem::path& file, const Trust& trust) {
    LODE_TRY_ASSIGN(const auto records, read_pack(file));
    PackReport report;
    std::error_code unknown;
    report.bytes = std::filesystem::file_size(file, unknown);
    for (const auto& record : records) {
        if (!is_usable(judge(trust, record.key, record.bytes), report)) continue;
        LODE_TRY_ASSIGN(const Bytes kept, bytes_to_keep(tier, record, trust, report));
        LODE_TRY(tier.put(record.key, kept));
        ++(record.key.kind == RecordKind::entry ? report.entries : report.manifests);
    }
    return report;
}

Result<PackReport> merge_packs(std::span<const std::filesystem::path> packs,
                               const std::filesystem::path& file, const PackOptions& options) {
    PackReport report;
    std::map<Digest, Bytes> manifests;
    std::vector<std::pair<RecordKey, Bytes>> entries;
    std::set<Digest> known;
    std::vector<std::vector<PackedRecord>> read;
    for (const auto& pack : packs) {
        LODE_TRY_ASSIGN(auto records, read_pack(pack));
        read.push_back(std::move(records));
    }
    for (auto& records : read) {
        for (auto& record : records) {
            if (!is_usable(judge(options.trust, record.key, record.bytes), report)) continue;
            if (record.key.kind == RecordKind::entry) {
                if (known.insert(record.key.digest).second)
                    entries.emplace_back(record.key, std::move(record.bytes));
            } else if (record.key.kind == RecordKind::manifest) {
                const auto [place, is_new] = manifests.try_emplace(record.key.digest, record.bytes);
                if (is_new) continue;
                // The first pack's sets come first.
                LODE_TRY_ASSIGN(place->second,
                                merge_manifests(record.key, record.bytes, place->second,
                                                options.trust, report));
            }
        }
    }
    std::vector<PackCandidate> candidates;
    for (auto& [key, bytes] : entries) {
        RecordProperties properties;
        properties.key = key;
        LODE_TRY(verify_record(key, bytes, &properties));
        PackCandidate candidate{describe(properties, bytes.size()), {}};
        candidate.records.push_back({key, std::move(bytes)});
        const RecordKey request = request_of_entry(properties.key_text);
        if (const auto manifest = manifests.find(request.digest); manifest != manifests.end())
            candidate.records.push_back({request, manifest->second});
        candidates.push_back(std::move(candidate));
    }
    return write_pack(std::move(report), std::move(candidates), file, options.max_bytes);
}

}  // namespace LODE_NAMESPACE::cache
