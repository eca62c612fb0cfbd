#include "jit/store/sealed_file.hpp"

#include "base/try.hpp"

#include <lode/base/digest.hpp>

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <zstd.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::string_view magic = "\x89lode\r\n\x1a";
constexpr std::size_t header_size = 32;
constexpr std::size_t row_size = 64;
constexpr std::uint32_t max_sections = 64;
constexpr std::uint32_t codec_plain = 0;
constexpr std::uint32_t codec_zstd = 1;
/// Smaller sections are faster to read than to decompress, and a file takes at least one block
/// anyway.
constexpr std::size_t smallest_to_compress = std::size_t{16} * 1024;
constexpr int usual_level = 3;
constexpr int quick_level = -1;
/// Bounds how much a small file can make its reader allocate: a large section with a higher ratio
/// is stored uncompressed.
constexpr std::uint64_t largest_ratio = 256;
constexpr std::uint64_t always_affordable = std::uint64_t{16} * 1024 * 1024;

bool is_affordable(std::uint64_t plain_size, std::uint64_t stored_size) noexcept {
    return plain_size <= always_affordable || plain_size / largest_ratio <= stored_size;
}

struct DeleteContext {
    void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// One context per thread: creating one costs more than compressing most sections.
ZSTD_CCtx* compression_context() {
    thread_local const std::unique_ptr<ZSTD_CCtx, DeleteContext> context(ZSTD_createCCtx());
    return context.get();
}

/// As above, for decompressing.
ZSTD_DCtx* decompression_context() {
    thread_local const std::unique_ptr<ZSTD_DCtx, DeleteContext> context(ZSTD_createDCtx());
    return context.get();
}

/// Empty if it can't be compressed.
Bytes compressed(std::span<const std::byte> plain, int level) {
    ZSTD_CCtx* const context = compression_context();
    if (context == nullptr) return {};
    Bytes out(ZSTD_compressBound(plain.size()));
    const std::size_t size =
        ZSTD_compressCCtx(context, out.data(), out.size(), plain.data(), plain.size(), level);
    if (ZSTD_isError(size) != 0) return {};
    out.resize(size);
    return out;
}

}  // namespace

tl::unexpected<Error> damaged(std::string_view what) {
    return fail(Errc::invalid_image, fmt::format("This cache file is damaged: {}.", what));
}

bool begins_as(std::span<const std::byte> bytes, FileKind kind) noexcept {
    ByteReader in(bytes);
    return as_text(in.raw(magic.size())) == magic &&
           in.number<std::uint32_t>() == static_cast<std::uint32_t>(kind);
}

std::optional<std::size_t> sealed_size(std::span<const std::byte> bytes) noexcept {
    ByteReader in(bytes);
    if (as_text(in.raw(magic.size())) != magic) return std::nullopt;
    in.raw(header_size - magic.size() - sizeof(std::uint64_t));
    const auto size = in.number<std::uint64_t>();
    if (!in.ok()) return std::nullopt;
    return size;
}

std::optional<std::span<const std::byte>> seal_of(std::span<const std::byte> bytes) noexcept {
    ByteReader in(bytes);
    in.raw(magic.size() + 2 * sizeof(std::uint32_t));
    const auto count = in.number<std::uint32_t>();
    if (!in.ok() || count > max_sections) return std::nullopt;
    const std::size_t offset = header_size + count * row_size;
    if (bytes.size() < offset + Digest::size) return std::nullopt;
    return bytes.subspan(offset, Digest::size);
}

void SealedWriter::section(std::uint32_t id, std::span<const std::byte> plain, Effort effort) {
    Section section{id, codec_plain, plain.size(), {}};
    if (effort != Effort::none && plain.size() >= smallest_to_compress) {
        section.stored = compressed(plain, effort == Effort::quick ? quick_level : usual_level);
        const bool pays = section.stored.size() <= plain.size() - plain.size() / 8 &&
                          is_affordable(plain.size(), section.stored.size());
        if (pays) section.codec = codec_zstd;
    }
    if (section.codec == codec_plain) section.stored.assign(plain.begin(), plain.end());
    sections_.push_back(std::move(section));
}

Bytes SealedWriter::seal() const {
    std::uint64_t offset = header_size + sections_.size() * row_size + Digest::size;
    std::uint64_t end = offset;
    for (const auto& section : sections_)
        end += section.stored.size();

    ByteWriter out;
    out.raw(as_bytes(magic));
    out.number(static_cast<std::uint32_t>(kind_));
    out.number(format_version);
    out.count(sections_.size());
    out.number(std::uint32_t{0});
    out.number(end);
    for (const auto& section : sections_) {
        out.number(section.id);
        out.number(section.codec);
        out.number(offset);
        out.number(static_cast<std::uint64_t>(section.stored.size()));
        out.number(section.plain_size);
        out.raw(std::as_bytes(std::span(sha256(section.stored).bytes())));
        offset += section.stored.size();
    }
    const Digest seal = sha256(out.bytes());
    out.raw(std::as_bytes(std::span(seal.bytes())));
    for (const auto& section : sections_)
        out.raw(section.stored);
    return std::move(out).take();
}

Result<SealedFile> SealedFile::parse(std::span<const std::byte> bytes, FileKind kind) {
    ByteReader in(bytes);
    if (as_text(in.raw(magic.size())) != magic)
        return damaged("it doesn't begin with the magic number");
    if (in.number<std::uint32_t>() != static_cast<std::uint32_t>(kind)) {
        return damaged("it is another kind of file");
    }
    if (const auto version = in.number<std::uint32_t>(); version != format_version) {
        return fail(Errc::invalid_image,
                    fmt::format("This cache file has format {}; this version of lode reads format "
                                "{}.",
                                version, format_version));
    }
    const auto count = in.number<std::uint32_t>();
    const auto zero = in.number<std::uint32_t>();
    const auto size = in.number<std::uint64_t>();
    if (!in.ok()) return damaged("it is cut short within its header");
    if (count > max_sections || zero != 0) return damaged("its header is invalid");
    if (size != bytes.size()) {
        return damaged(fmt::format("it has {} bytes{}, not {}", bytes.size(),
                                   bytes.size() < size ? ", cut short" : "", size));
    }
    ByteReader table(in.raw(count * row_size));
    const auto seal = in.raw(Digest::size);
    if (!in.ok()) return damaged("it ends inside its table");
    const Digest real = sha256(bytes.first(header_size + count * row_size));
    if (!std::ranges::equal(std::as_bytes(std::span(real.bytes())), seal)) {
        return damaged("it was altered: its header doesn't match its seal");
    }

    SealedFile file;
    std::uint64_t expected_offset = header_size + count * row_size + Digest::size;
    for (std::uint32_t i = 0; i < count; ++i) {
        Section section;
        section.id = table.number<std::uint32_t>();
        section.codec = table.number<std::uint32_t>();
        const auto offset = table.number<std::uint64_t>();
        const auto stored_size = table.number<std::uint64_t>();
        section.plain_size = table.number<std::uint64_t>();
        const auto checksum = table.raw(Digest::size);
        const bool ascends = file.sections_.empty() || section.id > file.sections_.back().id;
        const bool possible = section.codec == codec_zstd ||
                              (section.codec == codec_plain && stored_size == section.plain_size);
        if (!ascends || !possible || offset != expected_offset || stored_size > in.rest().size() ||
            section.plain_size > max_section_bytes ||
            !is_affordable(section.plain_size, stored_size)) {
            return damaged(fmt::format("the row of section {} is invalid", section.id));
        }
        section.stored = in.raw(stored_size);
        const Digest digest = sha256(section.stored);
        if (!std::ranges::equal(std::as_bytes(std::span(digest.bytes())), checksum)) {
            return damaged(
                fmt::format("it was altered: section {} doesn't match its checksum", section.id));
        }
        expected_offset += stored_size;
        file.sections_.push_back(section);
    }
    if (!in.ended()) return damaged("it has extra bytes after its last section");
    return file;
}

template <class Buffer>
Result<Buffer> SealedFile::unpack(std::uint32_t id) const {
    const auto found = std::ranges::find(sections_, id, &Section::id);
    if (found == sections_.end()) return damaged(fmt::format("section {} is missing", id));
    Buffer plain;
    if (found->codec == codec_plain) {
        const auto* first =
            reinterpret_cast<const typename Buffer::value_type*>(found->stored.data());
        plain.assign(first, first + found->stored.size());
        return plain;
    }
    // The frame's size is checked before that much memory is allocated.
    if (ZSTD_getFrameContentSize(found->stored.data(), found->stored.size()) != found->plain_size) {
        return damaged(fmt::format("section {} isn't the zstd frame it claims to be", id));
    }
    plain.resize(found->plain_size);
    const std::size_t size =
        ZSTD_decompressDCtx(decompression_context(), plain.data(), plain.size(),
                            found->stored.data(), found->stored.size());
    if (size != found->plain_size) {
        return damaged(fmt::format("section {} doesn't decompress", id));
    }
    return plain;
}

bool SealedFile::has(std::uint32_t id) const noexcept {
    return std::ranges::find(sections_, id, &Section::id) != sections_.end();
}

Result<Bytes> SealedFile::section(std::uint32_t id) const {
    return unpack<Bytes>(id);
}

Result<std::string> SealedFile::text(std::uint32_t id) const {
    return unpack<std::string>(id);
}

}  // namespace LODE_NAMESPACE::cache
