// The container format of all cache files: sections with checksums that cover every bit.
//
//   sealed file  = header, table, seal, section bytes
//   header       = magic "\x89lode\r\n\x1a", kind u32, version u32, section count u32, zero u32,
//                  whole file size u64                                                 (32 bytes)
//   table        = per section, ascending by id: id u32, codec u32 (0 plain, 1 zstd), offset u64,
//                  stored size u64, plain size u64, SHA-256 of the stored bytes   (64 bytes each)
//   seal         = SHA-256 of header and table                                         (32 bytes)
//
// Sections follow one another with no gap and end with the file; all numbers are little-endian.
// Any changed bit invalidates the magic, a size, the seal or a section's checksum.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// The kind of a sealed file. The values are part of the format.
enum class FileKind : std::uint32_t { entry = 1, manifest = 2, toolchain = 3, pack = 4, pch = 5 };

/// The format version of all kinds; also names the folder of the files.
inline constexpr std::uint32_t format_version = 6;

/// The largest size of a section, stored or plain.
inline constexpr std::uint64_t max_section_bytes = std::uint64_t{1} << 30;

/// Collects sections and seals them.
class SealedWriter {
public:
    /// What compressing may cost. Digests and stamps lose nothing by a quick one.
    enum class Effort : std::uint8_t { none, quick, usual };

    explicit SealedWriter(FileKind kind) noexcept : kind_(kind) {}

    /// Adds a section; ids ascend. Unless `effort` is none, a section that is large enough is
    /// compressed with zstd if that saves at least an eighth.
    void section(std::uint32_t id, std::span<const std::byte> plain, Effort effort);

    [[nodiscard]] Bytes seal() const;

private:
    struct Section {
        std::uint32_t id;
        std::uint32_t codec;
        std::uint64_t plain_size;
        Bytes stored;
    };
    FileKind kind_;
    std::vector<Section> sections_;
};

/// Whether the bytes begin as those of a sealed file of this kind, of any format version. They may
/// be cut short.
[[nodiscard]] bool begins_as(std::span<const std::byte> bytes, FileKind kind) noexcept;

/// A verified sealed file: views into the caller's bytes, which must outlive it.
class SealedFile {
public:
    /// Verifies magic, kind, version, sizes, seal and every section's checksum. Accepts any bytes.
    /// Errors: invalid_image, with the reason.
    [[nodiscard]] static Result<SealedFile> parse(std::span<const std::byte> bytes, FileKind kind);

    [[nodiscard]] bool has(std::uint32_t id) const noexcept;

    /// The plain bytes of a section. Errors: invalid_image if it is absent or can't be
    /// decompressed.
    [[nodiscard]] Result<Bytes> section(std::uint32_t id) const;

    /// The plain bytes of a section as text.
    [[nodiscard]] Result<std::string> text(std::uint32_t id) const;

private:
    struct Section {
        std::uint32_t id = 0;
        std::uint32_t codec = 0;
        std::uint64_t plain_size = 0;
        std::span<const std::byte> stored;
    };
    template <class Buffer>
    [[nodiscard]] Result<Buffer> unpack(std::uint32_t id) const;

    std::vector<Section> sections_;
};

/// The size that a sealed file gives itself, from its header; nullopt if the bytes are no sealed
/// file's. Verifies nothing else.
std::optional<std::size_t> sealed_size(std::span<const std::byte> bytes) noexcept;

/// The seal of a sealed file, as it stands there: not compared with anything. nullopt if the bytes
/// end before it.
std::optional<std::span<const std::byte>> seal_of(std::span<const std::byte> bytes) noexcept;

/// "This cache file is damaged: `what`."
tl::unexpected<Error> damaged(std::string_view what);

}  // namespace LODE_NAMESPACE::cache
