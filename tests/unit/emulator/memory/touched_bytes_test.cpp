// The bytes that operations touch, against sets of single bytes.
#include "emulator/memory/touched_bytes.hpp"

#include <random>
#include <set>

#include <doctest/doctest.h>

using namespace lode::emulator;

namespace {

std::set<std::uint64_t> bytes_of(const ByteRanges& ranges) {
    std::set<std::uint64_t> bytes;
    std::uint64_t last = 0;
    for (const ByteRange& range : ranges.all()) {
        CHECK(range.first < range.end);
        CHECK((bytes.empty() || range.first > last));  // Neighbours are joined.
        last = range.end;
        for (std::uint64_t k = range.first; k < range.end; ++k)
            bytes.insert(k);
    }
    return bytes;
}

TouchedBytes one(Touch touch, ByteRange range) {
    TouchedBytes touched;
    touched[static_cast<std::size_t>(touch)].add(range);
    return touched;
}

bool conflict(Touch first, Touch second) {
    return conflict_of(one(first, {100, 200}), one(second, {199, 300})).has_value();
}

}  // namespace

TEST_CASE("touched bytes: ranges and pages hold exactly what was added") {
    std::minstd_rand random(1);
    for (int round = 0; round < 200; ++round) {
        ByteRanges ranges;
        TouchedPages pages[2];
        std::set<std::uint64_t> expected;
        const int count = 1 + static_cast<int>(random() % 40);
        for (int k = 0; k < count; ++k) {
            const std::uint64_t first = 4000 + random() % 600;
            const std::uint64_t bytes = 1 + random() % (round % 2 == 0 ? 8 : 300);
            ranges.add({first, first + bytes});
            pages[random() % 2].add(Touch::write, first, bytes);
            for (std::uint64_t at = first; at < first + bytes; ++at)
                expected.insert(at);
        }
        CHECK(bytes_of(ranges) == expected);
        pages[0].take(pages[1]);
        const TouchedBytes touched = pages[0].take_ranges();
        CHECK(bytes_of(touched[static_cast<std::size_t>(Touch::write)]) == expected);
        CHECK(touched[static_cast<std::size_t>(Touch::read)].all().empty());
        CHECK(pages[0].take_ranges()[1].all().empty());
    }
}

TEST_CASE("touched bytes: an overlap is the first byte range in both") {
    ByteRanges a;
    ByteRanges b;
    a.add({10, 20});
    a.add({30, 40});
    b.add({20, 30});
    CHECK_FALSE(a.overlap(b).has_value());
    b.add({35, 60});
    const auto both = a.overlap(b);
    REQUIRE(both.has_value());
    CHECK(both->first == 35);
    CHECK(both->end == 40);
}

TEST_CASE("touched bytes: what conflicts without an order") {
    CHECK_FALSE(conflict(Touch::read, Touch::read));
    CHECK_FALSE(conflict(Touch::read, Touch::strong_read));
    CHECK(conflict(Touch::read, Touch::write));
    CHECK(conflict(Touch::write, Touch::read));
    CHECK(conflict(Touch::write, Touch::write));
    CHECK(conflict(Touch::read, Touch::same_write));
    CHECK_FALSE(conflict(Touch::write, Touch::same_write));
    CHECK(conflict(Touch::same_write, Touch::write));
    CHECK_FALSE(conflict(Touch::strong_write, Touch::strong_write));
    CHECK(conflict(Touch::strong_write, Touch::read));
    CHECK(conflict(Touch::write, Touch::strong_read));
}

TEST_CASE("touched bytes: a strong load of a strong store may order the rest") {
    TouchedBytes first = one(Touch::write, {0, 64});
    first[static_cast<std::size_t>(Touch::strong_write)].add({64, 68});
    TouchedBytes second = one(Touch::read, {0, 64});
    CHECK(conflict_of(first, second).has_value());
    second[static_cast<std::size_t>(Touch::strong_read)].add({64, 68});
    CHECK_FALSE(conflict_of(first, second).has_value());
}
