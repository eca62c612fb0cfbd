#include "jit/store/entry_format.hpp"

#include "jit/store/sealed_file.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

TEST_CASE("entry: bytes round-trip with every field") {
    const Entry entry = example_entry();
    const auto again = parse_entry(format_entry(entry));
    REQUIRE(again);
    CHECK(*again == entry);
}

TEST_CASE("entry: a hit has everything but the header list") {
    Entry entry = example_entry();
    const auto hit = parse_entry_for(format_entry(entry), key_of(entry));
    REQUIRE(hit);
    entry.header_list.clear();
    CHECK(*hit == entry);
}

TEST_CASE("entry: a large one is compressed and round-trips") {
    Entry entry = example_entry(1, 200'000);
    for (int i = 0; i < 5000; ++i)
        entry.image.ptx += "    add.f32 %f1, %f2, %f3;\n";
    const Bytes bytes = format_entry(entry);
    CHECK(bytes.size() < entry.image.ptx.size() / 2 + entry.image.cubin.size());
    const auto again = parse_entry(bytes);
    REQUIRE(again);
    CHECK(*again == entry);
}

TEST_CASE("entry: the same entry always gives the same bytes") {
    CHECK(format_entry(example_entry()) == format_entry(example_entry()));
    CHECK(format_entry(example_entry(1)) != format_entry(example_entry(2)));
}

TEST_CASE("entry: every flipped bit is detected") {
    const Entry entry = example_entry();
    Bytes bytes = format_entry(entry);
    std::size_t undetected = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        bytes[bit / 8] ^= mask;
        if (parse_entry_for(bytes, key_of(entry))) ++undetected;
        bytes[bit / 8] ^= mask;
    }
    CHECK(undetected == 0);
    CHECK(parse_entry_for(bytes, key_of(entry)));
}

TEST_CASE("entry: every truncation and any appended byte is detected") {
    const Entry entry = example_entry();
    Bytes bytes = format_entry(entry);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(parse_entry(std::span(bytes).first(size)));
    bytes.push_back(std::byte{0});
    CHECK_FALSE(parse_entry(bytes));
}

TEST_CASE("entry: an entry that belongs to another key is refused") {
    const auto other = parse_entry_for(format_entry(example_entry(1)), key_of(example_entry(2)));
    REQUIRE_FALSE(other);
    CHECK(other.error().message.find("another key") != std::string::npos);
}

TEST_CASE("entry: LTO-IR round-trips, and a key for it needs it") {
    Entry entry = example_entry();
    entry.image.lto_ir = std::exchange(entry.image.cubin, {});
    entry.image.ptx.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));  // The key doesn't say LTO-IR.
    entry.key_text = KeyWriter(entry.key_text).field("output", lto_ir_output).finish().text;
    const auto again = parse_entry(format_entry(entry));
    REQUIRE(again);
    CHECK(*again == entry);
    entry.image.lto_ir.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));
}

TEST_CASE("entry: OptiX IR round-trips, and a key for it needs it") {
    Entry entry = example_entry();
    entry.image.optix_ir = std::exchange(entry.image.cubin, {});
    entry.image.ptx.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));  // The key doesn't say OptiX IR.
    entry.key_text = KeyWriter(entry.key_text).field("output", optix_ir_output).finish().text;
    CHECK(parse_entry(format_entry(entry)) == entry);
    entry.image.optix_ir.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));
}

TEST_CASE("entry: Tile IR round-trips beside other code and alone, and a key for it needs it") {
    Entry entry = example_entry();
    entry.image.tile_ir.assign(100, std::byte{0x7f});
    CHECK(parse_entry(format_entry(entry)) == entry);
    entry.image.cubin.clear();
    entry.image.ptx.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));  // The key doesn't say Tile IR alone.
    entry.key_text = KeyWriter(entry.key_text).field("output", tile_ir_output).finish().text;
    CHECK(parse_entry(format_entry(entry)) == entry);
    entry.image.tile_ir.clear();
    CHECK_FALSE(parse_entry(format_entry(entry)));
}

TEST_CASE("entry: the answer to a call round-trips, and a key for it needs it") {
    Entry entry = example_entry();
    entry.answer = NvrtcAnswer{6, {{"CUBIN", 0, 4, {}}}, {{"f<int>", 0, "_Z1f"}}, 9};
    CHECK(!parse_entry(format_entry(entry)));  // Its key is for an image.
    entry.key_text = KeyWriter(entry.key_text).field("output", answer_output).finish().text;
    const auto again = parse_entry(format_entry(entry));
    REQUIRE(again);
    CHECK(*again == entry);
    entry.answer.reset();
    CHECK(!parse_entry(format_entry(entry)));
}

TEST_CASE("entry: contents that contradict the key text are refused") {
    const auto refused = [](auto change) {
        Entry entry = example_entry();
        change(entry);
        const auto parsed = parse_entry(format_entry(entry));
        return !parsed && parsed.error().code == lode::Errc::invalid_image;
    };
    CHECK(refused([](Entry& e) { e.image.arch = *lode::Arch::parse("sm_90"); }));
    CHECK(refused([](Entry& e) { e.image.compiler = "NVRTC 13.0.48"; }));
    CHECK(refused([](Entry& e) { e.header_list += "x"; }));
    CHECK(refused([](Entry& e) { e.image.cubin.clear(); }));
    CHECK(refused([](Entry& e) { e.key_text += "rest"; }));
    CHECK_FALSE(refused([](Entry& e) { e.image.ptx.clear(); }));
}
