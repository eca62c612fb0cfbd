#include "base/lz4.hpp"
#include "base/try.hpp"

#include <lode/base/fatbin.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>

namespace LODE_NAMESPACE {
namespace {

// The layout of the files that CUDA 13.0's fatbinary writes; cuobjdump lists the same parts.
constexpr std::uint32_t fatbin_magic_number = 0xba55ed50;

struct FileHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t entries_bytes;
};

struct EntryHeader {
    std::uint16_t kind;
    std::uint16_t version;
    std::uint32_t header_bytes;
    std::uint64_t payload_bytes;     ///< Including padding.
    std::uint32_t compressed_bytes;  ///< 0 if it isn't compressed.
    std::uint32_t options_offset;
    std::uint16_t version_minor;
    std::uint16_t version_major;
    std::uint32_t sm;
    std::uint32_t name_offset;
    std::uint32_t name_bytes;
    std::uint64_t flags;
    std::uint64_t unused;
    std::uint64_t plain_bytes;  ///< 0 if it isn't compressed.
};
static_assert(sizeof(FileHeader) == 16 && sizeof(EntryHeader) == 64);

constexpr std::uint16_t ptx_kind = 1;
constexpr std::uint16_t cubin_kind = 2;
constexpr std::uint16_t lto_ir_kind = 8;
constexpr std::uint64_t lz4_flag = 0x2000;
constexpr std::uint64_t zstd_flag = 0x8000;
constexpr std::uint64_t suffix_a_flag = 0x100000;
constexpr std::uint64_t suffix_f_flag = 0x200000;

template <class Struct>
std::optional<Struct> read_struct(std::span<const std::byte> bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Struct)) return std::nullopt;
    Struct value;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

tl::unexpected<Error> refuse_fatbin(std::string_view name, std::string_view why) {
    return fail(Errc::invalid_image, fmt::format("'{}' isn't a fat binary: {}.", name, why));
}

FatbinEntry entry_of(const EntryHeader& header, std::size_t offset) {
    FatbinEntry entry;
    if (header.kind == ptx_kind) entry.kind = FatbinEntry::Kind::ptx;
    if (header.kind == cubin_kind) entry.kind = FatbinEntry::Kind::cubin;
    if (header.kind == lto_ir_kind) entry.kind = FatbinEntry::Kind::lto_ir;
    const auto suffix = (header.flags & suffix_a_flag) != 0   ? ArchSuffix::specific
                        : (header.flags & suffix_f_flag) != 0 ? ArchSuffix::family
                                                              : ArchSuffix::none;
    constexpr std::uint32_t highest_number = 9999;
    entry.arch =
        Arch(ComputeCapability::from_number(static_cast<int>(std::min(header.sm, highest_number))),
             suffix);
    if (entry.kind == FatbinEntry::Kind::ptx) entry.arch = entry.arch.as_virtual();
    if ((header.flags & lz4_flag) != 0) entry.compression = FatbinEntry::Compression::lz4;
    if ((header.flags & zstd_flag) != 0) entry.compression = FatbinEntry::Compression::zstd;
    const bool is_plain = entry.compression == FatbinEntry::Compression::none;
    entry.stored_bytes = is_plain ? header.payload_bytes : header.compressed_bytes;
    entry.plain_bytes = is_plain ? header.payload_bytes : header.plain_bytes;
    entry.offset = offset;
    return entry;
}

/// The decompressed bytes of a part; nullopt if they can't be decompressed.
std::optional<std::vector<std::byte>> plain_bytes_of(const FatbinEntry& entry,
                                                     std::span<const std::byte> file) {
    constexpr std::size_t largest_part = std::size_t{4} << 30;
    // No compression that is in use reaches this ratio; a damaged size must not exhaust the memory.
    constexpr std::size_t highest_ratio = 100'000;
    const auto stored = file.subspan(entry.offset, entry.stored_bytes);
    if (entry.compression == FatbinEntry::Compression::none)
        return std::vector(stored.begin(), stored.end());
    if (entry.plain_bytes > largest_part || entry.plain_bytes / highest_ratio > stored.size())
        return std::nullopt;
    if (entry.compression == FatbinEntry::Compression::lz4)
        return decompress_lz4(stored, entry.plain_bytes);
    std::vector<std::byte> plain(entry.plain_bytes);
    const std::size_t size =
        ZSTD_decompress(plain.data(), plain.size(), stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || size != plain.size()) return std::nullopt;
    return plain;
}

}  // namespace

std::string_view to_string(FatbinEntry::Kind kind) noexcept {
    switch (kind) {
        case FatbinEntry::Kind::ptx:
            return "PTX";
        case FatbinEntry::Kind::cubin:
            return "machine code";
        case FatbinEntry::Kind::lto_ir:
            return "LTO-IR";
        case FatbinEntry::Kind::other:
            break;
    }
    return "other";
}

std::string_view to_string(FatbinEntry::Compression compression) noexcept {
    if (compression == FatbinEntry::Compression::none) return "none";
    return compression == FatbinEntry::Compression::lz4 ? "LZ4" : "zstd";
}

bool has_image(const FatbinEntry& entry) noexcept {
    return entry.kind == FatbinEntry::Kind::ptx || entry.kind == FatbinEntry::Kind::cubin;
}

bool is_fatbin(std::span<const std::byte> bytes) noexcept {
    const auto magic = read_struct<std::uint32_t>(bytes, 0);
    return magic && *magic == fatbin_magic_number;
}

Result<std::vector<FatbinEntry>> fatbin_entries(std::span<const std::byte> bytes,
                                                std::string_view name) {
    const auto header = read_struct<FileHeader>(bytes, 0);
    if (!header || header->magic != fatbin_magic_number)
        return refuse_fatbin(name, "it doesn't begin with a fat binary's number");
    if (header->header_bytes < sizeof(FileHeader) || header->header_bytes > bytes.size() ||
        header->entries_bytes > bytes.size() - header->header_bytes)
        return refuse_fatbin(name, fmt::format("it is cut off after {} bytes", bytes.size()));

    std::vector<FatbinEntry> entries;
    const auto file = bytes.first(header->header_bytes + header->entries_bytes);
    for (std::size_t at = header->header_bytes; at < file.size();) {
        const auto part = read_struct<EntryHeader>(file, at);
        const std::size_t left = file.size() - at;
        const bool is_whole = part && part->header_bytes >= sizeof(EntryHeader) &&
                              part->header_bytes <= left &&
                              part->payload_bytes <= left - part->header_bytes &&
                              part->compressed_bytes <= part->payload_bytes;
        if (!is_whole) {
            return refuse_fatbin(
                name, fmt::format("its part {} extends beyond its end", entries.size() + 1));
        }
        entries.push_back(entry_of(*part, at + part->header_bytes));
        at += part->header_bytes + part->payload_bytes;
    }
    return entries;
}

namespace {

/// The images of the parts that `is_wanted`.
Result<std::vector<Image>> images_where(std::span<const std::byte> bytes, const std::string& name,
                                        bool (*is_wanted)(const FatbinEntry& entry)) {
    LODE_TRY_ASSIGN(const auto entries, fatbin_entries(bytes, name));
    std::vector<Image> images;
    for (const auto& entry : entries) {
        if (!is_wanted(entry)) continue;
        const std::string part = fmt::format("{} ({})", name, entry.arch.to_string());
        const auto plain = plain_bytes_of(entry, bytes);
        if (!plain) {
            return fail(Errc::invalid_image,
                        fmt::format("A part of '{}' can't be decompressed ({}, {} bytes).", part,
                                    to_string(entry.compression), entry.stored_bytes));
        }
        if (entry.kind == FatbinEntry::Kind::cubin) {
            LODE_TRY_ASSIGN(images.emplace_back(), Image::from_cubin(*plain, part, entry.arch));
            continue;
        }
        std::string text(reinterpret_cast<const char*>(plain->data()), plain->size());
        text.resize(std::min(text.find('\0'), text.size()));
        LODE_TRY_ASSIGN(images.emplace_back(), Image::from_ptx(std::move(text), part));
    }
    return images;
}

}  // namespace

Result<std::vector<Image>> images_of_fatbin(std::span<const std::byte> bytes,
                                            const std::string& name) {
    return images_where(bytes, name, [](const FatbinEntry& entry) { return has_image(entry); });
}

Result<std::vector<Image>> ptx_of_fatbin(std::span<const std::byte> bytes,
                                         const std::string& name) {
    return images_where(
        bytes, name, [](const FatbinEntry& entry) { return entry.kind == FatbinEntry::Kind::ptx; });
}

const Image* newest_ptx_for(std::span<const Image> images, ComputeCapability device) noexcept {
    const Image* best = nullptr;
    for (const Image& image : images) {
        const Arch arch = image.arch.as_virtual();
        if (image.ptx.empty() || !arch.runs_on(device)) continue;
        if (best == nullptr || best->arch.as_virtual() < arch) best = &image;
    }
    return best;
}

}  // namespace LODE_NAMESPACE
