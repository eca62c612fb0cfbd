// Packs for `lode cache` and `lode warm`: writing, reading, merging, comparing, signing.
#pragma once

#include "jit/store/disk_tier.hpp"
#include "jit/store/trust.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// An entry, for messages.
struct PackedEntry {
    Digest key = {};
    std::string source;
    Arch arch = {};
    std::uint64_t bytes = 0;  ///< Size of the record.
};

/// What was packed, unpacked or merged.
struct PackReport {
    std::uint64_t entries = 0;
    std::uint64_t manifests = 0;
    std::uint64_t bytes = 0;            ///< Size of the pack file.
    std::uint64_t skipped = 0;          ///< Records that don't verify.
    std::uint64_t untrusted = 0;        ///< Records that no trusted key has signed.
    std::uint64_t unsigned_merges = 0;  ///< Manifests that lost their signatures in a merge.
    std::uint64_t not_merged = 0;       ///< Manifests that replaced another, for lack of a key.
    std::vector<PackedEntry> left_out;  ///< Entries that don't fit.
};

/// How to make a pack.
struct PackOptions {
    /// The largest size of the file. Entries are packed in order; one that doesn't fit is left out,
    /// and smaller ones after it may still be packed.
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
    Trust trust = {};  ///< Which records may be packed.
};

/// A pack of the folder's entries, the most recently used first, and of their requests' manifests.
/// Records that don't verify are skipped. Errors: invalid_argument if the limit is too small for an
/// empty pack; file_failed.
[[nodiscard]] Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                                      const PackOptions& options = {});

/// The same for entries of one architecture.
[[nodiscard]] Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                                      const Arch& arch, const PackOptions& options = {});

/// The same for these entries, in this order. Errors: also not_found for an entry that isn't in the
/// folder; invalid_image for one that doesn't verify.
[[nodiscard]] Result<PackReport> pack(DiskTier& tier, const std::filesystem::path& file,
                                      std::span<const Digest> entries,
                                      const PackOptions& options = {});

/// "app.pack" for sm_90 is "app.sm_90.pack": the pack of one architecture.
std::filesystem::path pack_for(const std::filesystem::path& pack, const Arch& arch);

/// The architectures of the folder's entries, ascending by name. Errors: file_failed.
[[nodiscard]] Result<std::vector<Arch>> packed_archs(DiskTier& tier);

/// Puts a pack's records into the folder; header sets that the folder knows stay. Errors:
/// not_found, file_failed, invalid_image.
[[nodiscard]] Result<PackReport> unpack(DiskTier& tier, const std::filesystem::path& file,
                                        const Trust& trust = {});

/// One pack of several, with all their header sets. If two entries have one key, that of the first
/// pack is taken. Errors: as unpack() and pack().
[[nodiscard]] Result<PackReport> merge_packs(std::span<const std::filesystem::path> packs,
                                             const std::filesystem::path& file,
                                             const PackOptions& options = {});

/// How two packs or cache folders differ. Compile times and stamps don't count.
struct PackDifference {
    struct Changed {
        PackedEntry entry;               ///< As in the first.
        std::vector<std::string> parts;  ///< "cubin", "ptx", "signatures", …
    };
    std::vector<PackedEntry> only_in_first, only_in_second;
    std::vector<Changed> changed;
    std::uint64_t equal = 0;                                        ///< Entries.
    std::uint64_t sets_only_in_first = 0, sets_only_in_second = 0;  ///< Header sets.
    std::uint64_t damaged = 0;                                      ///< Records that don't verify.

    [[nodiscard]] bool any() const noexcept {
        return !only_in_first.empty() || !only_in_second.empty() || !changed.empty() ||
               sets_only_in_first != 0 || sets_only_in_second != 0 || damaged != 0;
    }
};

/// Compares two packs, or cache folders. Errors: not_found, file_failed, invalid_image.
[[nodiscard]] Result<PackDifference> compare_packs(const std::filesystem::path& first,
                                                   const std::filesystem::path& second);

/// What was signed.
struct SignReport {
    std::uint64_t records = 0;  ///< Signed now.
    std::uint64_t skipped = 0;  ///< Records that don't verify.
};

/// Adds a signature to every record of a folder that verifies. Errors: file_failed;
/// invalid_argument for a record with too many signatures.
[[nodiscard]] Result<SignReport> sign_records(DiskTier& tier, const SecretKey& key);
/// The same for a pack, which is replaced. Errors: also not_found, invalid_image.
[[nodiscard]] Result<SignReport> sign_records(const std::filesystem::path& pack,
                                              const SecretKey& key);

/// One record that isn't to be used.
struct RefusedRecord {
    RecordKey key;
    std::string reason;
};
/// The records of a pack or a cache folder that are damaged or that no trusted key has signed, and
/// the number of all. Errors: not_found, file_failed, invalid_image.
struct TrustReport {
    std::uint64_t records = 0;
    std::vector<RefusedRecord> refused;
};
[[nodiscard]] Result<TrustReport> check_trust(const std::filesystem::path& place,
                                              const Trust& trust);

}  // namespace LODE_NAMESPACE::cache
