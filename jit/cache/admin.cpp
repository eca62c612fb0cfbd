#include "jit/cache/admin.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/headers/manifest.hpp"
#include "jit/cache/store/entry_format.hpp"
#include "jit/cache/store/pack_tier.hpp"
#include "jit/cache/toolchain.hpp"
#include "jit/files/file_state.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace lode::cache {
namespace {

/// Whether the digest of a record's key text matches the record's name.
Status check_name(const RecordKey& key, const std::string& key_text) {
    if (sha256(key_text) == key.digest) return {};
    return fail(Errc::invalid_image,
                "This cache file is damaged: it is stored under another name.");
}

/// Verifies a record according to its kind.
Status verify(const RecordKey& key, std::span<const std::byte> bytes,
              RecordProperties* properties) {
    switch (key.kind) {
        case RecordKind::entry: {
            LODE_TRY_ASSIGN(Entry entry, parse_entry(bytes));
            LODE_TRY(check_name(key, entry.key_text));
            if (properties == nullptr) return {};
            properties->source = std::move(entry.image.name);
            properties->arch = entry.image.arch;
            properties->compiler = std::move(entry.image.compiler);
            properties->compile_ms = entry.compile_ms;
            properties->cubin_bytes = entry.image.cubin.size();
            properties->ptx_bytes = entry.image.ptx.size();
            properties->key_text = std::move(entry.key_text);
            properties->header_list = std::move(entry.header_list);
            return {};
        }
        case RecordKind::manifest: {
            LODE_TRY_ASSIGN(const Manifest manifest, parse_manifest(bytes));
            LODE_TRY(check_name(key, manifest.key_text));
            return check_lists(manifest);
        }
        case RecordKind::toolchain:
            LODE_TRY(parse_toolchain(bytes));
            return {};
    }
    return {};
}

Result<std::vector<RecordKey>> keys_of(const DiskTier& tier, RecordKind kind) {
    std::vector<RecordKey> keys;
    LODE_TRY(tier.for_each(
        kind, [&](const RecordKey& key, const FileIdentity&) { keys.push_back(key); }));
    return keys;
}

/// The record of a pack; for a manifest, merged with the header sets that the folder already has.
Result<Bytes> with_known_sets(DiskTier& tier, const PackedRecord& record) {
    if (record.key.kind != RecordKind::manifest) return record.bytes;
    LODE_TRY_ASSIGN(const auto known, tier.peek(record.key));
    if (!known || !verify(record.key, known->bytes, nullptr)) return record.bytes;
    LODE_TRY_ASSIGN(Manifest packed, parse_manifest(record.bytes));
    LODE_TRY_ASSIGN(Manifest merged, parse_manifest(known->bytes));
    std::ranges::reverse(packed.sets);  // add() puts each set first, so the newest is added last.
    for (KnownSet& known_set : packed.sets)
        merged.add(std::move(known_set.set));
    return format_manifest(merged);
}

/// The key of the request whose key text an entry's key text continues.
RecordKey request_of_entry(std::string_view entry_key_text) {
    const auto last_field = entry_key_text.rfind("\nheaders.sha256 ");
    return {RecordKind::manifest, sha256(entry_key_text.substr(0, last_field + 1))};
}

/// Writes records to a pack file, and its size to the report.
Result<PackReport> write_pack(PackReport report, std::vector<PackedRecord> records,
                              const std::filesystem::path& file) {
    const Bytes bytes = format_pack(std::move(records));
    report.bytes = bytes.size();
    LODE_TRY(write_atomic(file, bytes));
    return report;
}

}  // namespace

Result<std::vector<RecordProperties>> inspect(DiskTier& tier) {
    std::vector<RecordProperties> all;
    for (const RecordKind kind : record_kinds) {
        LODE_TRY_ASSIGN(const auto keys, keys_of(tier, kind));
        for (const auto& key : keys) {
            // Inspecting a record doesn't count as a use: the stamp stays unchanged.
            LODE_TRY_ASSIGN(const auto record, tier.peek(key));
            if (!record) continue;
            RecordProperties properties;
            properties.key = key;
            properties.bytes = record->bytes.size();
            properties.last_use = record->identity.modified_ns / ns_per_second;
            if (const Status good = verify(key, record->bytes, &properties); !good) {
                properties.problem = good.error().message;
            }
            all.push_back(std::move(properties));
        }
    }
    std::ranges::sort(all, {}, [](const RecordProperties& properties) {
        return std::tuple(properties.key.kind, -properties.last_use, properties.source,
                          properties.key.digest);
    });
    return all;
}

Result<RecordProperties> inspect_one(DiskTier& tier, std::string_view key_prefix) {
    LODE_TRY_ASSIGN(auto all, inspect(tier));
    std::erase_if(all, [&](const RecordProperties& properties) {
        return properties.key.kind != RecordKind::entry ||
               !properties.key.digest.to_hex().starts_with(key_prefix);
    });
    if (all.size() == 1) return std::move(all.front());
    return fail(Errc::not_found,
                all.empty() ? fmt::format("No entry's key begins with '{}'.", key_prefix)
                            : fmt::format("{} entries' keys begin with '{}'; give more digits.",
                                          all.size(), key_prefix));
}

Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file) {
    PackReport report;
    std::vector<PackedRecord> records;
    for (const RecordKind kind : {RecordKind::entry, RecordKind::manifest}) {
        LODE_TRY_ASSIGN(const auto keys, keys_of(tier, kind));
        for (const auto& key : keys) {
            LODE_TRY_ASSIGN(auto record, tier.peek(key));
            if (!record) continue;
            if (!verify(key, record->bytes, nullptr)) {
                ++report.skipped;
                continue;
            }
            ++(kind == RecordKind::entry ? report.entries : report.manifests);
            records.push_back({key, std::move(record->bytes)});
        }
    }
    return write_pack(report, std::move(records), file);
}

Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                        std::span<const Digest> entries) {
    PackReport report;
    std::vector<PackedRecord> records;
    std::set<Digest> requests;
    for (const Digest& digest : std::set<Digest>(entries.begin(), entries.end())) {
        const RecordKey key{RecordKind::entry, digest};
        LODE_TRY_ASSIGN(auto record, tier.peek(key));
        if (!record) {
            return fail(Errc::not_found,
                        fmt::format("The entry {} isn't in the cache any more.", digest.to_hex()));
        }
        RecordProperties properties;
        LODE_TRY(verify(key, record->bytes, &properties));
        ++report.entries;
        records.push_back({key, std::move(record->bytes)});
        const RecordKey request = request_of_entry(properties.key_text);
        if (!requests.insert(request.digest).second) continue;
        LODE_TRY_ASSIGN(auto manifest, tier.peek(request));
        // A result that depends only on its key has none.
        if (!manifest || !verify(request, manifest->bytes, nullptr)) continue;
        ++report.manifests;
        records.push_back({request, std::move(manifest->bytes)});
    }
    return write_pack(report, std::move(records), file);
}

Result<PackReport> unpack(DiskTier& tier, const std::filesystem::path& file) {
    LODE_TRY_ASSIGN(const auto bytes, read_bytes(file));
    LODE_TRY_ASSIGN(const auto records, parse_pack(bytes));
    PackReport report;
    report.bytes = bytes.size();
    for (const auto& record : records) {
        if (!verify(record.key, record.bytes, nullptr)) {
            ++report.skipped;
            continue;
        }
        LODE_TRY_ASSIGN(const Bytes bytes_to_keep, with_known_sets(tier, record));
        LODE_TRY(tier.put(record.key, bytes_to_keep));
        ++(record.key.kind == RecordKind::entry ? report.entries : report.manifests);
    }
    return report;
}

}  // namespace lode::cache
