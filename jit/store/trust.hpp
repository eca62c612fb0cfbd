// Trust: which records a cache takes, and how it signs its own. The only place that decides it, for
// every tier: a record's bytes become a value only after admit().
//
// A cache that signs takes only signed records, whatever its options say: a manifest that it
// stores names header sets that it has read before, and its signature vouches for those too.
#pragma once

#include "jit/store/key_files.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>

#include <optional>
#include <span>
#include <string>

namespace LODE_NAMESPACE::cache {

/// A record that may be parsed.
struct AdmittedRecord {
    std::span<const std::byte> sealed;  ///< A view into the record's bytes.
    /// Whether this machine's own key has signed it, or nothing needs to be signed: what it says of
    /// this machine's files holds.
    bool is_own = true;
};

/// Why a record isn't taken.
struct Distrust {
    /// What many records have in common: a key's id, or empty for records without signatures.
    std::string cause;
    std::string reason;  ///< "it isn't signed"
};

/// Immutable, so thread-safe.
class Trust {
public:
    /// Takes every record, and signs none.
    Trust() = default;
    Trust(CacheTrust mode, KeyRing keys, std::optional<SecretKey> secret);

    /// Reads the keys that the options name. If a file can't be used, the result takes no record
    /// at all or stores none, and `problem` says why: trust never widens by a fault.
    [[nodiscard]] static Trust read(const CacheOptions& options, std::optional<Error>& problem);

    /// Whether only signed records are taken.
    [[nodiscard]] bool is_strict() const noexcept { return mode_ == CacheTrust::signed_only; }
    /// Whether records may be stored: not if they need a signature and there is no key for it.
    [[nodiscard]] bool stores() const noexcept { return !is_strict() || secret_.has_value(); }

    /// The sealed file in a record's bytes; Distrust if it mustn't be used. Errors: invalid_image
    /// if the bytes are damaged.
    [[nodiscard]] Result<tl::expected<AdmittedRecord, Distrust>> admit(
        const RecordKey& key, std::span<const std::byte> bytes) const;

    /// The bytes to store of a sealed file that this process made: signed if there is a key. Only
    /// if stores().
    [[nodiscard]] Bytes seal_with_signature(const RecordKey& key,
                                            std::span<const std::byte> sealed) const;

private:
    CacheTrust mode_ = CacheTrust::any;
    KeyRing keys_;
    std::optional<SecretKey> secret_;
};

}  // namespace LODE_NAMESPACE::cache
