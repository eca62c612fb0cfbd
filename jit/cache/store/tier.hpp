// Tier: one place that keeps cache records. Three verbs; a miss is a value, a fault is an error.
//
// Memory comes first and keeps decoded values (memory_tier.hpp); behind it stand tiers of bytes:
// the user's disk, read-only packs, and whatever a host adds behind this interface.
#pragma once

#include "jit/cache/store/bytes.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace lode::cache {

/// What a record is; each kind has a name space of its own.
enum class RecordKind : std::uint8_t { entry, manifest, toolchain };
inline constexpr RecordKind record_kinds[] = {RecordKind::entry, RecordKind::manifest,
                                              RecordKind::toolchain};

/// "entries", "manifests" or "toolchains": the folder of a kind.
std::string_view folder_name(RecordKind kind) noexcept;

/// The name of one record.
struct RecordKey {
    RecordKind kind = RecordKind::entry;
    Digest digest = {};

    friend bool operator==(const RecordKey&, const RecordKey&) = default;
};

/// Which file a record was read from, to tell it from one that has replaced it since.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;

    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A record's bytes, not yet verified by anyone.
struct Record {
    Bytes bytes;
    FileIdentity identity;
};

/// Thread-safe. The bytes that come back may be anything: their readers verify them.
class Tier {
public:
    Tier() = default;
    virtual ~Tier() = default;
    Tier(const Tier&) = delete;
    Tier& operator=(const Tier&) = delete;

    /// "disk", "pack", …: what reports say after "hit".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Whether put and remove do anything.
    [[nodiscard]] virtual bool writable() const noexcept = 0;

    /// The record, or nullopt for a miss. Errors: file_failed, a fault of the tier.
    [[nodiscard]] virtual Result<std::optional<Record>> get(const RecordKey& key) = 0;

    /// Keeps a record: readers see the old one or the new one, whole. Errors: file_failed.
    [[nodiscard]] virtual Status put(const RecordKey& key, std::span<const std::byte> bytes) = 0;

    /// Forgets a record; fine if there is none. With `only`, just the one that was read: a record
    /// that has replaced it stays. Errors: file_failed.
    [[nodiscard]] virtual Status remove(const RecordKey& key, const FileIdentity* only) = 0;
};

}  // namespace lode::cache
