// Administration of a cache folder for `lode cache`: inspect, verify, clean, pack, unpack.
#pragma once

#include "jit/cache/store/disk_tier.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::cache {

/// One record of a folder, read and verified.
struct RecordProperties {
    RecordKey key = {};
    std::uint64_t bytes = 0;
    std::int64_t last_use = 0;  ///< Seconds since the epoch, precise to an hour.
    std::string problem;        ///< Why verification failed; empty when it succeeded.
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

/// The only entry whose key begins with these hexadecimal digits. Errors: not_found, also when
/// several match; file_failed.
[[nodiscard]] Result<RecordProperties> inspect_one(DiskTier& tier, std::string_view key_prefix);

/// How many records were packed or unpacked.
struct PackReport {
    std::uint64_t entries = 0;
    std::uint64_t manifests = 0;
    std::uint64_t bytes = 0;    ///< Of the pack file.
    std::uint64_t skipped = 0;  ///< Records that don't verify.
};

/// Writes all entries and manifests that verify to a pack file. Errors: file_failed.
[[nodiscard]] Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file);

/// Writes these entries, and the manifests of their requests, to a pack file. Errors: not_found for
/// an entry that isn't in the folder; invalid_image for one that doesn't verify; file_failed.
[[nodiscard]] Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                                      std::span<const Digest> entries);

/// Puts a pack's records into the folder. Errors: not_found, file_failed, invalid_image.
[[nodiscard]] Result<PackReport> unpack(DiskTier& tier, const std::filesystem::path& file);

}  // namespace lode::cache
