#include "jit/store/pack_tier.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

enum PackSection : std::uint32_t { index_section = 1, records_section };

std::pair<RecordKind, Digest> order(const PackedRecord& record) {
    return {record.key.kind, record.key.digest};
}

}  // namespace

Bytes format_pack(std::vector<PackedRecord> records) {
    std::ranges::sort(records, {}, order);
    ByteWriter index;
    ByteWriter bodies;
    index.count(records.size());
    for (const auto& record : records) {
        index.number(static_cast<std::uint8_t>(record.key.kind));
        index.raw(std::as_bytes(std::span(record.key.digest.bytes())));
        index.number(std::uint64_t{bodies.bytes().size()});
        index.number(std::uint64_t{record.bytes.size()});
        bodies.raw(record.bytes);
    }
    SealedWriter out(FileKind::pack);
    out.section(index_section, index.bytes(), SealedWriter::Effort::none);
    out.section(records_section, bodies.bytes(), SealedWriter::Effort::usual);
    return out.seal();
}

Result<std::vector<PackedRecord>> parse_pack(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(const auto file, SealedFile::parse(bytes, FileKind::pack));
    LODE_TRY_ASSIGN(const Bytes index, file.section(index_section));
    LODE_TRY_ASSIGN(const Bytes bodies, file.section(records_section));
    std::vector<PackedRecord> records;
    ByteReader in(index);
    std::uint64_t expected_offset = 0;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        PackedRecord record{{in.enumerator(RecordKind::toolchain), {}}, {}};
        std::array<std::uint8_t, Digest::size> digest{};
        const auto raw = in.raw(digest.size());
        if (!raw.empty()) std::memcpy(digest.data(), raw.data(), raw.size());
        record.key.digest = Digest(digest);
        const auto offset = in.number<std::uint64_t>();
        const auto size = in.number<std::uint64_t>();
        const bool ascends = records.empty() || order(records.back()) < order(record);
        if (!in.ok() || !ascends || offset != expected_offset || size > bodies.size() - offset) {
            return damaged("its index is invalid");
        }
        const auto body = std::span(bodies).subspan(offset, size);
        record.bytes.assign(body.begin(), body.end());
        expected_offset += size;
        records.push_back(std::move(record));
    }
    if (!in.ended() || expected_offset != bodies.size())
        return damaged("its index can't be parsed");
    return records;
}

Result<std::vector<PackedRecord>> read_pack(const std::filesystem::path& file) {
    LODE_TRY_ASSIGN(const auto bytes, read_bytes(file));
    if (!begins_as(bytes, FileKind::pack)) {
        return fail(Errc::invalid_image,
                    fmt::format("'{}' isn't a pack; `lode cache pack` and `lode warm --pack` make "
                                "packs.",
                                file.string()));
    }
    auto records = parse_pack(bytes);
    if (records) return records;
    return tl::unexpected<Error>(
        std::move(records).error().in(fmt::format("reading the pack '{}'", file.string())));
}

Result<std::unique_ptr<PackTier>> PackTier::open(const std::filesystem::path& file) {
    LODE_TRY_ASSIGN(auto records, read_pack(file));
    std::unique_ptr<PackTier> tier(new PackTier);
    for (auto& record : records)
        tier->records_.emplace(order(record), std::move(record.bytes));
    return tier;
}

Result<std::optional<Record>> PackTier::get(const RecordKey& key) {
    const auto found = records_.find({key.kind, key.digest});
    if (found == records_.end()) return std::nullopt;
    return Record{found->second, {}};
}

}  // namespace LODE_NAMESPACE::cache
