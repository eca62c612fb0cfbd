// PackTier: many records in one read-only file, to ship with an application or a container.
//
// A sealed file of kind pack with two sections: 1, the index, with rows ascending by kind and
// digest (kind u8, digest, offset u64, size u64), and 2, the records' bytes, one after another. The
// second is compressed where that pays: the records of one program resemble each other. The file is
// read once, when it is opened, and verified as a whole; each record is a sealed file too, and its
// reader verifies it again.
#pragma once

#include "jit/store/tier.hpp"

#include <filesystem>
#include <map>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// One record of a pack.
struct PackedRecord {
    RecordKey key;
    Bytes bytes;
};

/// The bytes of a pack file. Toolchain records are specific to one machine and must not be
/// included.
Bytes format_pack(std::vector<PackedRecord> records);

/// The records of a pack file. Accepts any bytes. Errors: invalid_image, with the reason.
[[nodiscard]] Result<std::vector<PackedRecord>> parse_pack(std::span<const std::byte> bytes);

/// The records of a pack. Errors: not_found; file_failed; invalid_image, also for another kind of
/// file. All name the file.
[[nodiscard]] Result<std::vector<PackedRecord>> read_pack(const std::filesystem::path& file);

/// Thread-safe; never writes.
class PackTier final : public Tier {
public:
    /// Errors: those of read_pack().
    [[nodiscard]] static Result<std::unique_ptr<PackTier>> open(const std::filesystem::path& file);

    [[nodiscard]] std::string_view name() const noexcept override { return "pack"; }
    [[nodiscard]] bool writable() const noexcept override { return false; }
    [[nodiscard]] Result<std::optional<Record>> get(const RecordKey& key) override;
    [[nodiscard]] Status put(const RecordKey&, std::span<const std::byte>) override { return {}; }
    [[nodiscard]] Status remove(const RecordKey&, const FileIdentity*) override { return {}; }

private:
    PackTier() = default;
    std::map<std::pair<RecordKind, Digest>, Bytes> records_;
};

}  // namespace LODE_NAMESPACE::cache
