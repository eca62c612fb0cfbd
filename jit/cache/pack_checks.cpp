// Comparing and signing packs and cache folders.
#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/admin.hpp"
#include "jit/cache/packs.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/store/entry_format.hpp"
#include "jit/store/pack_tier.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// The records of a pack, or of a cache folder.
Result<std::vector<PackedRecord>> read_place(const std::filesystem::path& place) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(place, ignored)) return read_pack(place);
    LODE_TRY_ASSIGN(const auto tier,
                    DiskTier::open(place, false, std::numeric_limits<std::uint64_t>::max()));
    std::vector<PackedRecord> records;
    for (const RecordKind kind : record_kinds) {
        LODE_TRY_ASSIGN(const auto keys, keys_of(*tier, kind));
        for (const auto& key : keys) {
            LODE_TRY_ASSIGN(auto record, tier->peek(key));
            if (record) records.push_back({key, std::move(record->bytes)});
        }
    }
    return records;
}

/// What a comparison looks at.
struct PackContents {
    struct Item {
        PackedEntry what;
        Image image;
        std::string header_list;
        std::set<KeyId> signers;
    };
    std::map<Digest, Item> entries;
    std::set<std::pair<Digest, Digest>> sets;  ///< Pairs of request and header list.
    std::uint64_t damaged = 0;
};

Result<PackContents> contents_of(const std::filesystem::path& place) {
    LODE_TRY_ASSIGN(const auto records, read_place(place));
    PackContents contents;
    for (const auto& record : records) {
        if (record.key.kind == RecordKind::toolchain) continue;
        const auto parts = split_record(record.bytes);
        if (!parts || !verify_record(record.key, record.bytes)) {
            ++contents.damaged;
            continue;
        }
        if (record.key.kind == RecordKind::manifest) {
            LODE_TRY_ASSIGN(const Manifest manifest, parse_manifest(parts->sealed));
            for (const auto& known : manifest.sets)
                contents.sets.emplace(record.key.digest, known.list);
            continue;
        }
        LODE_TRY_ASSIGN(Entry entry, parse_entry(parts->sealed));
        PackContents::Item item{
            {record.key.digest, entry.image.name, entry.image.arch, record.bytes.size()},
            std::move(entry.image),
            std::move(entry.header_list),
            {}};
        for (const auto& signature : parts->signatures)
            item.signers.insert(signature.key);
        contents.entries.emplace(record.key.digest, std::move(item));
    }
    return contents;
}

std::vector<std::string> changed_parts(const PackContents::Item& a, const PackContents::Item& b) {
    std::vector<std::string> parts;
    const auto compare = [&](bool is_equal, const char* part) {
        if (!is_equal) parts.emplace_back(part);
    };
    compare(a.image.cubin == b.image.cubin, "cubin");
    compare(a.image.ptx == b.image.ptx, "ptx");
    compare(a.image.lto_ir == b.image.lto_ir, "LTO-IR");
    compare(a.image.tile_ir == b.image.tile_ir, "Tile IR");
    compare(a.image.optix_ir == b.image.optix_ir, "OptiX IR");
    compare(a.image.log == b.image.log, "log");
    compare(a.signers == b.signers, "signatures");
    if (parts.empty() && (a.image != b.image || a.header_list != b.header_list))
        parts.emplace_back("symbols");
    return parts;
}

std::uint64_t count_missing(const PackContents& from, const PackContents& in) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        from.sets, [&](const auto& known) { return !in.sets.contains(known); }));
}

std::vector<PackedEntry> missing_entries(const PackContents& from, const PackContents& in) {
    std::vector<PackedEntry> missing;
    for (const auto& [key, item] : from.entries) {
        if (!in.entries.contains(key)) missing.push_back(item.what);
    }
    return missing;
}

}  // namespace

Result<PackDifference> compare_packs(const std::filesystem::path& first,
                                     const std::filesystem::path& second) {
    LODE_TRY_ASSIGN(const PackContents a, contents_of(first));
    LODE_TRY_ASSIGN(const PackContents b, contents_of(second));
    PackDifference difference;
    difference.only_in_first = missing_entries(a, b);
    difference.only_in_second = missing_entries(b, a);
    for (const auto& [key, item] : a.entries) {
        const auto other = b.entries.find(key);
        if (other == b.entries.end()) continue;
        auto parts = changed_parts(item, other->second);
        if (parts.empty()) {
            ++difference.equal;
        } else {
            difference.changed.push_back({item.what, std::move(parts)});
        }
    }
    difference.sets_only_in_first = count_missing(a, b);
    difference.sets_only_in_second = count_missing(b, a);
    difference.damaged = a.damaged + b.damaged;
    return difference;
}

Result<SignReport> sign_records(DiskTier& tier, const SecretKey& key) {
    SignReport report;
    for (const RecordKind kind : record_kinds) {
        LODE_TRY_ASSIGN(const auto keys, keys_of(tier, kind));
        for (const auto& record_key : keys) {
            LODE_TRY_ASSIGN(const auto record, tier.peek(record_key));
            if (!record) continue;
            if (!verify_record(record_key, record->bytes)) {
                ++report.skipped;
                continue;
            }
            LODE_TRY_ASSIGN(const Bytes bytes, add_signature(record_key, record->bytes, key));
            LODE_TRY(tier.put(record_key, bytes));
            ++report.records;
        }
    }
    return report;
}

Result<SignReport> sign_records(const std::filesystem::path& pack, const SecretKey& key) {
    SignReport report;
    LODE_TRY_ASSIGN(auto records, read_place(pack));
    for (auto& record : records) {
        if (!verify_record(record.key, record.bytes)) {
            ++report.skipped;
            continue;
        }
        LODE_TRY_ASSIGN(record.bytes, add_signature(record.key, record.bytes, key));
        ++report.records;
    }
    LODE_TRY(write_result(pack, format_pack(std::move(records))));
    return report;
}

Result<TrustReport> check_trust(const std::filesystem::path& place, const Trust& trust) {
    LODE_TRY_ASSIGN(const auto records, read_place(place));
    TrustReport report;
    for (const auto& record : records) {
        ++report.records;
        const Status intact = verify_record(record.key, record.bytes);
        if (!intact) {
            report.refused.push_back({record.key, intact.error().message});
            continue;
        }
        const auto admitted = trust.admit(record.key, record.bytes);
        if (!admitted) {
            report.refused.push_back({record.key, admitted.error().message});
        } else if (!*admitted) {
            report.refused.push_back({record.key, admitted->error().reason});
        }
    }
    return report;
}

}  // namespace LODE_NAMESPACE::cache
