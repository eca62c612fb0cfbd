// Administration of a cache folder for `lode cache`: inspect and verify. Packs: packs.hpp.
#pragma once

#include "jit/store/disk_tier.hpp"
#include "jit/store/signature.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// One record of a folder, read and verified.
struct RecordProperties {
    RecordKey key = {};
    std::uint64_t bytes = 0;
    std::int64_t last_use = 0;     ///< Seconds since the epoch, precise to an hour.
    std::string problem;           ///< Why verification failed; empty when it succeeded.
    std::vector<KeyId> signed_by;  ///< Not verified.
    // Only for entries that verify:
    std::string source;
    Arch arch = {};
    std::string compiler;
    double compile_ms = 0;
    std::uint64_t cubin_bytes = 0;
    std::uint64_t ptx_bytes = 0;
    std::string key_text;
    std::string header_list;
};

/// Every record, entries first, the most recently used first within a kind. Errors: file_failed.
[[nodiscard]] Result<std::vector<RecordProperties>> inspect(DiskTier& tier);

/// The key of the request that an entry answers, which messages name.
RecordKey request_of_entry(std::string_view entry_key_text);

/// The only entry whose key begins with these hexadecimal digits; else the one used last of those
/// that answer the only request whose key does. Errors: not_found, also when several keys match;
/// file_failed.
[[nodiscard]] Result<RecordProperties> inspect_one(DiskTier& tier, std::string_view key_prefix);

/// Verifies a record: its checksums, its content, its name; not who has signed it. Writes what it
/// finds to `properties`, if that isn't null. Errors: invalid_image, with the reason.
[[nodiscard]] Status verify_record(const RecordKey& key, std::span<const std::byte> bytes,
                                   RecordProperties* properties = nullptr);

/// The keys of all records of a kind, in no particular order. Errors: file_failed.
[[nodiscard]] Result<std::vector<RecordKey>> keys_of(const DiskTier& tier, RecordKind kind);

}  // namespace LODE_NAMESPACE::cache
