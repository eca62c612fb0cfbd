#include "emulator/exec/checks/race/cells.hpp"

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

TEST_CASE("race cells: a page has smaller granules only in launches that access bytes") {
    constexpr std::uint64_t begin = 1 << 20;
    GlobalCells all(begin, 1 << 16);
    const auto launch = [&] { return all.begin(10) << stamp_block_shift; };
    const Stamp first = launch();
    Cells* const coarse = all.find(begin, false);
    coarse->write.set(7, first | stamp_of(0, 5, 0, 1), 3);
    Cells* const fine = all.find(begin, true);
    CHECK(fine->shift == 0);
    CHECK(fine->write.at(7 * 4 + 1) == (first | stamp_of(0, 5, 0, 1)));
    CHECK(all.find(begin, false) == fine);
    const Stamp second = launch();
    CHECK(all.find(begin, true) == fine);  // Keeps it for the launch.
    fine->write.set(40, second | stamp_of(0, 6, 0, 2), 3);
    CHECK(all.find(begin, false) == fine);
    const Stamp third = launch();
    CHECK(all.find(begin, false) == coarse);
    CHECK(!all.rows_at(begin, 64)->elsewhere);
    for (std::uint32_t k = 0; k < 1024; ++k)
        REQUIRE(coarse->write.at(k) < third);
    coarse->write.set(9, third | stamp_of(0, 7, 0, 4), 5);
    CHECK(all.find(begin, true) == fine);
    CHECK(fine->write.at(40) < third);
    CHECK(fine->write.at(9 * 4) == (third | stamp_of(0, 7, 0, 4)));
    CHECK(fine->write.site_at(9 * 4) == 5);
}

TEST_CASE(
    "race cells: the word of a row tells whether one of its stamps is of some time or later") {
    std::mt19937 engine(11);
    const auto below = [&](std::uint32_t end) {
        return static_cast<std::uint32_t>(engine() % end);
    };
    Cells cells;
    cells.reset(4 * granules, 2);
    for (int round = 0; round < 4000; ++round) {
        const std::uint32_t row = below(granules / Track::row_granules);
        const Stamp stamp = stamp_of(below(4), 1 + below(6), Stamp{below(3)} << 10, below(64) * 16);
        if (below(8) == 0) {
            cells.write.set_row(row, Track::word_of(stamp & ~stamp_covered, 0), 1);
        } else {
            cells.write.set(row * Track::row_granules + below(16), stamp, 1);
        }
        const Stamp end = stamp_of(below(5), below(8), 0, 0);
        std::uint32_t late = 0;
        for (std::uint32_t k = 0; k < Track::row_granules; ++k)
            late += cells.write.at(row * Track::row_granules + k) >= end ? 1 : 0;
        // It may stay later than all stamps are, if the latest one has been replaced.
        if (Track::is_older(cells.write.word(row), end)) REQUIRE(late == 0);
        if (round % 100 == 0) cells.reset(4 * granules, 2);
    }
    cells.reset(4 * granules, 2);
    cells.write.set(3, second_write(stamp_of(0, 5, stamp_gpu, 0)), 1);
    CHECK(Track::is_older(cells.write.word(0), stamp_of(0, 7, 0, 0)));
    cells.write.set(3, stamp_of(0, 5, 0, 0) | stamp_async, 1);
    CHECK(!Track::is_older(cells.write.word(0), stamp_of(0, 1000, 0, 0)));
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
