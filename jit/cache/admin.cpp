#include "jit/cache/admin.hpp"

#include "base/try.hpp"
#include "jit/cache/toolchain.hpp"
#include "jit/files/file_state.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/store/entry_format.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// Whether the digest of a record's key text matches the record's name.
Status check_name(const RecordKey& key, const std::string& key_text) {
    if (sha256(key_text) == key.digest) return {};
    return fail(Errc::invalid_image,
                "This cache file is damaged: it is stored under another name.");
}

}  // namespace

Status verify_record(const RecordKey& key, std::span<const std::byte> bytes,
                     RecordProperties* properties) {
    LODE_TRY_ASSIGN(const SignedRecord record, split_record(bytes));
    if (properties != nullptr) {
        for (const auto& signature : record.signatures)
            properties->signed_by.push_back(signature.key);
    }
    switch (key.kind) {
        case RecordKind::entry: {
            LODE_TRY_ASSIGN(Entry entry, parse_entry(record.sealed));
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
            LODE_TRY_ASSIGN(const Manifest manifest, parse_manifest(record.sealed));
            LODE_TRY(check_name(key, manifest.key_text));
            return check_lists(manifest);
        }
        case RecordKind::toolchain:
            LODE_TRY(parse_toolchain(record.sealed));
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
            if (const Status good = verify_record(key, record->bytes, &properties); !good) {
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

RecordKey request_of_entry(std::string_view entry_key_text) {
    const auto last_field = entry_key_text.rfind("\nheaders.sha256 ");
    return {RecordKind::manifest, sha256(entry_key_text.substr(0, last_field + 1))};
}

Result<RecordProperties> inspect_one(DiskTier& tier, std::string_view key_prefix) {
    LODE_TRY_ASSIGN(const auto all, inspect(tier));
    const RecordProperties* found = nullptr;
    std::set<std::string> keys;
    const auto search = [&](const auto& key_of) {
        for (const auto& properties : all) {
            if (properties.key.kind != RecordKind::entry) continue;
            std::string key = key_of(properties);
            if (!key.starts_with(key_prefix)) continue;
            if (found == nullptr) found = &properties;
            keys.insert(std::move(key));
        }
    };
    search([](const auto& properties) { return properties.key.digest.to_hex(); });
    if (found == nullptr) {
        search([](const auto& properties) {
            return properties.key_text.empty()
                       ? std::string()
                       : request_of_entry(properties.key_text).digest.to_hex();
        });
    }
    if (keys.size() == 1) return *found;
    return fail(Errc::not_found,
                keys.empty() ? fmt::format("No entry has a key, or answers a request with a key, "
                                           "that begins with '{}'.",
                                           key_prefix)
                             : fmt::format("{} keys begin with '{}'; give more digits.",
                                           keys.size(), key_prefix));
}

}  // namespace LODE_NAMESPACE::cache
