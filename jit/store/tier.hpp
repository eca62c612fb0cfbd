// Tier: one place that stores cache records, with get, put and remove. A miss is a value, a fault
// is an error.
//
// The memory tier comes first and keeps decoded values (memory_tier.hpp); it is followed by tiers
// of bytes: the user's disk, read-only packs, and tiers that a host adds through this interface.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The kind of a record; each kind has its own namespace.
enum class RecordKind : std::uint8_t { entry, manifest, toolchain };
inline constexpr RecordKind record_kinds[] = {RecordKind::entry, RecordKind::manifest,
                                              RecordKind::toolchain};

/// "entries", "manifests" or "toolchains": the folder of a kind.
std::string_view folder_name(RecordKind kind) noexcept;

/// A digest from its 64 lower-case hexadecimal digits; nullopt if the text isn't that.
std::optional<Digest> digest_from_hex(std::string_view hex);

/// Identifies one record.
struct RecordKey {
    RecordKind kind = RecordKind::entry;
    Digest digest = {};

    friend bool operator==(const RecordKey&, const RecordKey&) = default;
};

/// Identifies the file that a record was read from, to detect that it was replaced.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;

    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A record's bytes, not yet verified.
struct Record {
    Bytes bytes;
    FileIdentity identity;
};

/// Thread-safe. Returned bytes are unverified: their readers verify them.
class Tier {
public:
    Tier() = default;
    virtual ~Tier() = default;
    Tier(const Tier&) = delete;
    Tier& operator=(const Tier&) = delete;

    /// "disk", "pack", …: shown in reports after "hit".
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Whether put and remove have an effect.
    [[nodiscard]] virtual bool writable() const noexcept = 0;

    /// The record, or nullopt for a miss. Errors: file_failed, a fault of the tier.
    [[nodiscard]] virtual Result<std::optional<Record>> get(const RecordKey& key) = 0;

    /// Stores a record: readers see the whole old record or the whole new one. Errors: file_failed.
    [[nodiscard]] virtual Status put(const RecordKey& key, std::span<const std::byte> bytes) = 0;

    /// Removes a record; does nothing if there is none. With `only`, removes the record only if it
    /// is still that file: a replacement stays. Errors: file_failed.
    [[nodiscard]] virtual Status remove(const RecordKey& key, const FileIdentity* only) = 0;
};

}  // namespace LODE_NAMESPACE::cache
