#include "emulator/exec/race_cells.hpp"

#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::emulator::exec;

namespace {

constexpr std::uint32_t granules = 96;

}  // namespace

TEST_CASE("race cells: rows in one word and single stamps are those of a plain array") {
    std::mt19937 engine(7);
    const auto below = [&](std::uint32_t end) {
        return static_cast<std::uint32_t>(engine() % end);
    };
    Cells cells;
    cells.reset(4 * granules, 2);
    Track& track = cells.first;
    std::vector<Stamp> stamps(granules);
    std::vector<Site> sites(granules);
    for (int round = 0; round < 4000; ++round) {
        const auto site = static_cast<Site>(1 + below(255));
        const std::uint32_t time = 1 + below(1000);
        const Stamp strength = Stamp{below(4)} << 10;
        if (below(3) == 0) {
            const std::uint32_t k = below(granules);
            stamps[k] = stamp_of(below(5), time, strength, below(1024));
            sites[k] = site;
            track.set(k, stamps[k], site);
        } else {
            const std::uint32_t row = below(granules / Track::row_granules);
            const std::uint32_t shift = below(Track::most_shift + 1);
            const std::uint32_t step = Track::row_granules >> shift;
            const Stamp first = stamp_of(below(5), time, strength, below(1024 / step) * step) |
                                (below(2) != 0 ? stamp_async : 0);
            for (std::uint32_t k = 0; k < Track::row_granules; ++k) {
                stamps[row * Track::row_granules + k] = first + (k >> shift);
                sites[row * Track::row_granules + k] = site;
            }
            track.set_row(row, Track::word_of(first, shift), site);
        }
        bool same = true;
        for (std::uint32_t k = 0; k < granules; ++k) {
            same = same && track.at(k) == stamps[k];
            if (stamps[k] != 0) same = same && track.site_at(k) == sites[k];
        }
        REQUIRE(same);
    }
    track.clear();
    for (std::uint32_t k = 0; k < granules; ++k) {
        CHECK(track.at(k) == 0);
        CHECK(cells.write.at(k) == 0);
        CHECK(cells.last.at(k) == 0);
    }
}

TEST_CASE("race cells: a page's rows hold what was recorded before smaller granules are needed") {
    constexpr std::uint64_t begin = 1 << 20;
    GlobalCells all(begin, 1 << 16);
    CHECK(all.rows_at(begin - 64, 64) == nullptr);
    CHECK(all.rows_at(begin + (1 << 16) - 64, 128) == nullptr);
    // A quick access knows only the rows.
    CellRow* const rows = all.rows_at(begin + 4096 + 128, 64);
    REQUIRE(rows != nullptr);
    rows->words[0] = Track::word_of(stamp_of(3, 5, 0, 64), 0);
    rows->sites[0] = 9;
    Cells* const coarse = all.find(begin + 4096, false);
    REQUIRE(coarse != nullptr);
    CHECK(coarse->shift == 2);
    CHECK(coarse->write.at(33) == stamp_of(3, 5, 0, 65));
    CHECK(coarse->write.site_at(33) == 9);
    coarse->last.set(34, stamp_of(3, 6, 0, 1), 8);
    CHECK(!rows->elsewhere);
    Cells* const fine = all.find(begin + 4096, true);
    REQUIRE(fine != nullptr);
    CHECK(fine->shift == 0);
    CHECK(rows->elsewhere);
    CHECK(all.find(begin + 4096, false) == fine);
    CHECK(fine->write.at(33 * 4 + 3) == stamp_of(3, 5, 0, 65));
    CHECK(fine->last.at(34 * 4) == stamp_of(3, 6, 0, 1));
    CHECK(!all.rows_at(begin, 64)->elsewhere);
}

TEST_CASE("race cells: smaller granules have the stamps of those that contain them") {
    Cells cells;
    cells.reset(4 * granules, 2);
    cells.write.set_row(1, Track::word_of(stamp_of(0, 5, 0, 64), 0), 9);
    cells.last.set(40, stamp_of(0, 6, 0, 3), 8);
    cells.refine();
    CHECK(cells.shift == 0);
    REQUIRE(cells.count == 4 * granules);
    for (std::uint32_t byte = 0; byte < 4 * granules; ++byte) {
        const std::uint32_t k = byte / 4;
        CHECK(cells.write.at(byte) == (k / 16 == 1 ? stamp_of(0, 5, 0, 64 + k % 16) : 0));
        CHECK(cells.last.at(byte) == (k == 40 ? stamp_of(0, 6, 0, 3) : 0));
        CHECK(cells.first.at(byte) == 0);
    }
    CHECK(cells.write.site_at(64) == 9);
}
