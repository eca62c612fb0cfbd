#include "jit/store/pack_tier.hpp"

#include "jit/store/entry_format.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

namespace {

std::vector<PackedRecord> example_records() {
    std::vector<PackedRecord> records;
    for (int i = 0; i < 5; ++i) {
        const Entry entry = example_entry(i, 50);
        records.push_back({{RecordKind::entry, key_of(entry).digest}, format_entry(entry)});
    }
    records.push_back({{RecordKind::manifest, records[0].key.digest}, Bytes(3)});
    return records;
}

}  // namespace

TEST_CASE("pack: every record is found again, others are misses") {
    const Scratch scratch;
    const Bytes bytes = format_pack(example_records());
    scratch.write("a.pack", as_text(bytes));
    const auto tier = PackTier::open(scratch / "a.pack");
    REQUIRE(tier);
    for (const auto& record : example_records()) {
        const auto got = *(*tier)->get(record.key);
        REQUIRE(got);
        CHECK(got->bytes == record.bytes);
    }
    CHECK_FALSE(*(*tier)->get({RecordKind::entry, lode::sha256("none")}));
    CHECK_FALSE((*tier)->writable());
}

TEST_CASE("pack: what records have in common is stored once") {
    std::vector<PackedRecord> records;
    std::size_t sum = 0;
    for (int i = 0; i < 20; ++i) {
        const Entry entry = example_entry(i, 15000);
        records.push_back({{RecordKind::entry, key_of(entry).digest}, format_entry(entry)});
        sum += records.back().bytes.size();
    }
    const Bytes bytes = format_pack(records);
    CHECK(bytes.size() < sum / 2);
    const auto read = parse_pack(bytes);
    REQUIRE(read);
    CHECK(read->size() == records.size());
}

TEST_CASE("pack: the order of the records doesn't matter") {
    auto records = example_records();
    const Bytes one = format_pack(records);
    std::reverse(records.begin(), records.end());
    CHECK(format_pack(records) == one);
}

TEST_CASE("pack: a flipped bit or a truncation is detected when it is opened") {
    Bytes bytes = format_pack({{{RecordKind::entry, lode::sha256("a")}, Bytes(40)}});
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        CHECK_FALSE(parse_pack(bytes));
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    CHECK(parse_pack(bytes));
    CHECK_FALSE(parse_pack(std::span(bytes).first(bytes.size() - 1)));
}

TEST_CASE(
    "pack: the error says whether a file is no pack, cut short, altered or of other formats") {
    const Scratch scratch;
    const auto file = scratch / "a.pack";
    const Bytes pack = format_pack({{{RecordKind::entry, lode::sha256("a")}, Bytes(40)}});
    const auto reading = [&](std::span<const std::byte> bytes) {
        REQUIRE(lode::write_atomic(file, bytes));
        const auto records = read_pack(file);
        return records ? std::string() : records.error().message;
    };
    const auto changed = [&](std::size_t at) {
        Bytes bytes = pack;
        bytes[at] ^= std::byte{1};
        return bytes;
    };
    const auto says = [](const std::string& message, std::string_view text) {
        CHECK_MESSAGE(message.find(text) != std::string::npos, message);
    };
    const std::string no_pack = "'" + file.string() + "' isn't a pack; ";
    says(reading({}), no_pack);
    says(reading(std::span(pack).first(5)), no_pack);
    const Bytes entry = format_entry(example_entry(1, 100));
    says(reading(entry), no_pack);
    says(reading(std::span(pack).first(20)), "damaged: it is cut short within its header.");
    says(reading(std::span(pack).first(pack.size() - 1)), " bytes, cut short, not ");
    says(reading(changed(pack.size() - 1)), "damaged: it was altered: section 2 ");
    says(reading(changed(60)), "damaged: it was altered: its header ");
    constexpr std::size_t version_at = 12;
    says(reading(changed(version_at)), "This cache file has format 7; this version of lode reads ");
    CHECK(reading(pack).empty());
}

TEST_CASE("pack: a missing file is named") {
    const auto tier = PackTier::open("/nonexistent/a.pack");
    REQUIRE_FALSE(tier);
    CHECK(tier.error().code == lode::Errc::not_found);
}
