// The race check of accesses by whole warps: consecutive elements, or the same one.
#include "emulator/exec/race_access.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

/// Consecutive lanes that access consecutive elements, or all the same one.
struct Run {
    u64 address = 0;
    u32 lane = 0;
    u32 count = lanes;
    bool uniform = false;
    bool twin = false;  ///< The other half of the warp reads the same bytes.
};

/// The part of a run in one row of granules. Its granule k has the stamp own + (k >> shift), where
/// k counts from the start of the run.
struct Piece {
    u32 row = 0;
    u32 at = 0;  ///< In the row.
    u32 count = 0;
    u32 k = 0;
    u32 shift = 0;
    Stamp own = 0;
    u64 word = Track::single;  ///< The word for the row, if the piece is a row that has one.

    [[nodiscard]] Stamp stamp(u32 j) const { return own + ((k + j) >> shift); }
};

template <class F>
[[gnu::always_inline]] inline void each_piece(u32 index, u32 granules, u32 shift, Stamp own,
                                              F&& f) {
    for (u32 k = 0; k < granules;) {
        Piece piece;
        piece.row = (index + k) / Track::row_granules;
        piece.at = (index + k) % Track::row_granules;
        piece.count = std::min(granules - k, Track::row_granules - piece.at);
        piece.k = k;
        piece.shift = shift;
        piece.own = own;
        if (piece.count == Track::row_granules && index % Track::row_granules == 0 &&
            shift <= Track::most_shift) {
            piece.word = Track::word_of(own + (k >> shift), shift);
        }
        k += piece.count;
        f(piece);
    }
}

/// Whether no stamp of a track needs a closer look.
template <bool shared>
LODE_RACES_BY_DESIGN inline bool all_plain(const Track& track, const Piece& piece,
                                           const Past& past) {
    const u64 word = track.word(piece.row);
    u64 bad = 0;
    if (word == Track::single) [[unlikely]] {
        const Stamp* const stamps = track.stamps(piece.row) + piece.at;
        for (u32 j = 0; j < piece.count; ++j)
            bad |= u64{!plain<shared>(stamps[j], piece.stamp(j), past)};
        return bad == 0;
    }
    // All its stamps have the same time. The marker is in the bits of the thread.
    if (plain<shared>(word, ~Stamp{0}, past)) return true;
    if (((word ^ piece.word) & stamp_thread_bits) == 0) return true;
    if (((word ^ piece.own) & stamp_thread_bits) / lanes != 0) return false;  // Another warp's.
    for (u32 j = 0; j < piece.count; ++j)
        bad |= u64{!plain<shared>(Track::stamp_in(word, piece.at + j), piece.stamp(j), past)};
    return bad == 0;
}

LODE_RACES_BY_DESIGN inline void record(Track& track, const Piece& piece, Site site) {
    if (piece.word != Track::single) return track.set_row(piece.row, piece.word, site);
    const Track::Row row = track.open(piece.row);
    for (u32 j = 0; j < piece.count; ++j)
        row.stamps[piece.at + j] = piece.stamp(j);
    for (u32 j = 0; j < piece.count; ++j)
        row.sites[piece.at + j] = site;
}

/// Whether a row's stamps are one word, and none of them is by the thread that has the piece's.
[[gnu::always_inline]] inline bool is_others(u64 word, const Piece& piece) {
    if (word == Track::single || word == 0) return false;
    if (((word ^ piece.own) & stamp_thread_bits) / lanes != 0) return true;  // Another warp's.
    // Both count threads by granules, from different ones.
    constexpr u64 marker = 8;
    return piece.shift == 0 && (word & (2 * marker - 1)) == marker &&
           (((word - marker + piece.at) ^ piece.stamp(0)) & stamp_thread_bits) != 0;
}

/// Records a piece of reads; false if an earlier write needs a closer look.
template <bool shared>
LODE_RACES_BY_DESIGN inline bool record_reads(const RaceAccess& a, Cells& cells,
                                              const Piece& piece) {
    const bool fine = all_plain<shared>(cells.write, piece, a.past);
    if (all_plain<shared>(cells.first, piece, a.past)) {
        record(cells.first, piece, a.site);
        return fine;
    }
    if (is_others(cells.first.word(piece.row), piece)) {
        record(cells.last, piece, a.site);
        return fine;
    }
    const Track::Row first = cells.first.open(piece.row);
    const Track::Row last = cells.last.open(piece.row);
    LODE_INDEPENDENT_LANES
    for (u32 j = 0; j < piece.count; ++j) {
        const u32 k = piece.at + j;
        const Stamp mine = piece.stamp(j);
        const Stamp before = first.stamps[k];
        const bool free = plain<shared>(before, mine, a.past);
        first.stamps[k] = free ? mine : before;
        last.stamps[k] = free ? last.stamps[k] : mine;
        first.sites[k] = free ? a.site : first.sites[k];
        last.sites[k] = free ? last.sites[k] : a.site;
    }
    return fine;
}

template <bool shared>
bool record_run(const RaceAccess& a, const Place& place, u32 granules, u32 shift, const Run& run) {
    Cells& cells = *place.cells;
    const Stamp own = a.own + run.lane;
    bool fine = true;
    if (!a.writes()) {
        each_piece(place.index, granules, shift, own, [&](const Piece& piece) {
            fine &= record_reads<shared>(a, cells, piece);
            if (!run.twin) return;
            Piece twin = piece;
            twin.own += lanes / 2;
            if (twin.word != Track::single) twin.word += lanes / 2;
            record(cells.last, twin, a.site);
        });
        return fine;
    }
    each_piece(place.index, granules, shift, own, [&](const Piece& piece) {
        fine = fine && all_plain<shared>(cells.write, piece, a.past) &&
               all_plain<shared>(cells.first, piece, a.past) &&
               all_plain<shared>(cells.last, piece, a.past);
    });
    if (!fine) return false;
    // The reads may stay: what is ordered behind this write is ordered behind them.
    each_piece(place.index, granules, shift, own,
               [&](const Piece& piece) { record(cells.write, piece, a.site); });
    return true;
}

/// Records reads of one element by several lanes.
bool record_uniform(const RaceAccess& a, const Place& place, u32 granules, const Run& run) {
    const Stamp from = a.own + run.lane;
    const Stamp to = from + run.count - 1;
    constexpr Stamp nobody = ~Stamp{0};
    Cells& cells = *place.cells;
    bool fine = true;
    for (u32 k = place.index; k < place.index + granules; ++k) {
        fine &= plain(cells.write.at(k), nobody, a.past);
        if (plain(cells.first.at(k), nobody, a.past)) cells.first.set(k, from, a.site);
        cells.last.set(k, to, a.site);
    }
    return fine;
}

void check_run(const RaceAccess& a, const Run& run) {
    const u32 bytes = a.noted.bytes;
    const u64 total = run.uniform ? bytes : u64{bytes} * run.count;
    const u64 room =
        a.shared ? total : GlobalCells::page_bytes - run.address % GlobalCells::page_bytes;
    if (a.shared && run.address + total > a.c.shared_bytes) return;
    if (total <= room) {
        const Place place = place_of_cells(a, run.address, bytes);
        if (place.cells == nullptr) return;
        const u32 shift = place.cells->shift;
        const auto granules = static_cast<u32>(total >> shift);
        const auto per_lane = static_cast<u32>(std::countr_zero(bytes >> shift));
        const bool fine = run.uniform ? record_uniform(a, place, granules, run)
                          : a.shared  ? record_run<true>(a, place, granules, per_lane, run)
                                      : record_run<false>(a, place, granules, per_lane, run);
        if (fine) return;
    }
    alignas(32) u64 addresses[lanes] = {};
    for (u32 i = 0; i < run.count; ++i)
        addresses[run.lane + i] = run.address + (run.uniform ? 0 : u64{i} * bytes);
    for (u32 i = 0; i < run.count; ++i)
        check_lane(a, run.lane + i, addresses, total > room);
    if (!run.twin) return;
    std::copy_n(addresses, lanes / 2, addresses + lanes / 2);
    for (u32 i = lanes / 2; i < lanes; ++i)
        check_lane(a, i, addresses, true);
}

}  // namespace

void race_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    if (c.block->order->spent) return;
    const RaceAccess a = race_access(c, op, shared, noted);
    const bool uniform = pattern == Pattern::uniform || pattern == Pattern::half_uniform;
    if (pattern == Pattern::run || pattern == Pattern::uniform) {
        check_run(a, {first, 0, lanes, uniform, false});
        return;
    }
    const bool twin = first == second && !uniform && !a.writes();
    check_run(a, {first, 0, lanes / 2, uniform, twin});
    if (!twin) check_run(a, {second, lanes / 2, lanes / 2, uniform, false});
}

}  // namespace lode::emulator::exec
