// The race check of accesses by whole warps: consecutive elements, or the same one.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/exec/checks/race/quick.hpp"
#include "emulator/exec/checks/race/stamps.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

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

/// The part of a run in one row of granules, which it counts from the start of the row.
struct Piece {
    PieceStamps stamps;
    u32 row = 0;
    u64 word = Track::single;  ///< The word for the row, if the piece is a row that has one.
};

template <class F>
[[gnu::always_inline]] inline void each_piece(u32 index, u32 granules, u32 shift, Stamp own,
                                              F&& f) {
    for (u32 k = 0; k < granules;) {
        const u32 at = (index + k) % Track::row_granules;
        const u32 count = std::min(granules - k, Track::row_granules - at);
        Piece piece{{own, u64{k} - at, static_cast<u8>(at), static_cast<u8>(at + count),
                     static_cast<u8>(shift)}};
        piece.row = (index + k) / Track::row_granules;
        if (count == Track::row_granules && index % Track::row_granules == 0 &&
            shift <= Track::most_shift) {
            piece.word = Track::word_of(own + (k >> shift), shift);
        }
        k += count;
        f(piece);
    }
}

// GCC doesn't vectorise loops as short as these where they are inlined into others.

template <bool shared>
[[gnu::noinline]] LODE_RACES_BY_DESIGN bool all_harmless(const Stamp* stamps, const Piece& piece,
                                                         const HappenedBefore& past) {
    return all_harmless<shared>(stamps, piece.stamps, past);
}
[[gnu::noinline]] LODE_RACES_BY_DESIGN void set_stamps(const Track::Row& to, const Piece& piece,
                                                       Site site) {
    set_stamps(to, piece.stamps, site);
}
/// Makes the stamps the first reads where those need no closer look, and the last ones elsewhere.
template <bool shared>
[[gnu::noinline]] LODE_RACES_BY_DESIGN void add_reads(Cells& cells, const Piece& piece,
                                                      const HappenedBefore& past, Site site) {
    add_reads<shared>(
        cells.first.open(piece.row, piece.stamps.own),
        [&] { return cells.last.open(piece.row, piece.stamps.own); }, piece.stamps, past, site);
}

/// Whether no stamp of a track needs a closer look.
template <bool shared>
LODE_RACES_BY_DESIGN inline bool all_harmless(const Track& track, const Piece& piece,
                                              const HappenedBefore& past) {
    const u64 word = track.word(piece.row);
    if (past.has(word)) return true;
    if (Track::is_single(word)) return all_harmless<shared>(track.stamps(piece.row), piece, past);
    // All its stamps have the same time. The marker is in the bits of the thread.
    if (is_harmless<shared>(word, nobody, past)) return true;
    if (((word ^ piece.word) & stamp_thread_bits) == 0) return true;
    if (((word ^ piece.stamps.own) & stamp_thread_bits) / lanes != 0)
        return false;  // Another warp's.
    Stamp stamps[Track::row_granules];
    const Stamp first = word & (word - 1);
    const u32 shift = 3 - static_cast<u32>(std::countr_zero(word));
    for (u32 j = 0; j < Track::row_granules; ++j)
        stamps[j] = first + (u64{j} >> shift);
    return all_harmless<shared>(stamps, piece, past);
}

LODE_RACES_BY_DESIGN inline void record(Track& track, const Piece& piece, Site site) {
    if (piece.word != Track::single) return track.set_row(piece.row, piece.word, site);
    set_stamps(track.open(piece.row, piece.stamps.own), piece, site);
}

/// Like record(), for the last reads of a row: one that is kept granule by granule stays so, as
/// readers that aren't aligned to rows alternate with others.
LODE_RACES_BY_DESIGN inline void record_last(Track& track, Piece piece, Site site) {
    if (Track::is_single(track.word(piece.row))) piece.word = Track::single;
    record(track, piece, site);
}

/// Whether a row's stamps are one word, and none of them is by the thread that has the piece's.
[[gnu::always_inline]] inline bool is_others(u64 word, const Piece& piece) {
    if (Track::is_single(word) || word == 0) return false;
    if (((word ^ piece.stamps.own) & stamp_thread_bits) / lanes != 0)
        return true;  // Another warp's.
    // Both count threads by granules, from different ones.
    constexpr u64 marker = 8;
    return piece.stamps.shift == 0 && (word & (2 * marker - 1)) == marker &&
           (((word - marker + piece.stamps.begin) ^ piece.stamps.stamp(piece.stamps.begin)) &
            stamp_thread_bits) != 0;
}

/// Records a piece of reads.
template <bool shared>
LODE_RACES_BY_DESIGN inline void record_reads(const RaceAccess& a, Cells& cells,
                                              const Piece& piece) {
    if (all_harmless<shared>(cells.first, piece, a.past)) return record(cells.first, piece, a.site);
    if (is_others(cells.first.word(piece.row), piece))
        return record_last(cells.last, piece, a.site);
    add_reads<shared>(cells, piece, a.past, a.site);
}

/// The piece by the other half of the warp.
inline Piece twin_of(Piece piece) {
    piece.stamps.own += lanes / 2;
    if (piece.word != Track::single) piece.word += lanes / 2;
    return piece;
}

template <bool shared>
bool record_run(const RaceAccess& a, const Place& place, u32 granules, u32 shift, const Run& run) {
    Cells& cells = *place.cells;
    const Stamp own = a.own + run.lane;
    bool fine = true;
    if (!a.writes()) {
        each_piece(place.index, granules, shift, own, [&](const Piece& piece) {
            fine = fine && all_harmless<shared>(cells.write, piece, a.past) &&
                   (!run.twin || all_harmless<shared>(cells.write, twin_of(piece), a.past));
        });
        if (!fine) return false;
        each_piece(place.index, granules, shift, own, [&](const Piece& piece) {
            record_reads<shared>(a, cells, piece);
            if (run.twin) record(cells.last, twin_of(piece), a.site);
        });
        return true;
    }
    each_piece(place.index, granules, shift, own, [&](const Piece& piece) {
        fine = fine && all_harmless<shared>(cells.write, piece, a.past) &&
               all_harmless<shared>(cells.first, piece, a.past) &&
               all_harmless<shared>(cells.last, piece, a.past);
    });
    if (!fine) return false;
    // The reads may stay: what is ordered after this write is ordered after them.
    each_piece(place.index, granules, shift, own,
               [&](const Piece& piece) { record(cells.write, piece, a.site); });
    return true;
}

/// Records reads of one element by several lanes.
bool record_uniform(const RaceAccess& a, const Place& place, u32 granules, const Run& run) {
    const Stamp from = a.own + run.lane;
    const Stamp to = from + run.count - 1;
    Cells& cells = *place.cells;
    for (u32 k = place.index; k < place.index + granules; ++k)
        if (!is_harmless(cells.write.at(k), nobody, a.past)) return false;
    for (u32 k = place.index; k < place.index + granules; ++k) {
        if (is_harmless(cells.first.at(k), nobody, a.past)) cells.first.set(k, from, a.site);
        cells.last.set(k, to, a.site);
    }
    return true;
}

/// Calls f with the constants 0 to count - 1: compilers keep what it computes in registers.
template <u32 count, class F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
    [&]<u32... k>(std::integer_sequence<u32, k...>) {
        (f(std::integral_constant<u32, k>{}), ...);
    }
    (std::make_integer_sequence<u32, count>{});
}

/// What decides about the whole rows of a warp.
struct Quick {
    HappenedBefore past;
    Stamp own;
    Site site;

    template <bool shared>
    [[nodiscard]] bool fine(u64 word, u64 mine) const {
        // Neither of the latter is true of a row kept stamp by stamp, whose word is negative.
        const bool is_mine = ((word ^ mine) & stamp_thread_bits) == 0;
        const auto when = static_cast<i64>(word);
        const bool is_own_past = !shared & (when >= past.lo) & (when < past.end);
        return past.has(word) | is_own_past | is_mine;
    }
};

/// Records rows that a warp accesses whole, whose words alone decide and change. False if an
/// earlier access needs a closer look, or a row isn't one word; nothing has changed then.
template <bool shared, bool writes, u32 shift>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline bool quick_rows(const Quick& q, CellRow* rows) {
    constexpr u32 count = 2u << shift;
    constexpr u32 step = Track::row_granules >> shift;
    u64 words[count][3];
    bool good = true;
    unrolled<count>([&](auto k) {
        const u64 mine = Track::word_of(q.own + u64{k} * step, shift);
        unrolled<3>([&](auto track) {
            words[k][track] = __atomic_load_n(&rows[k].words[track], __ATOMIC_RELAXED);
        });
        const u64 first = words[k][1];
        good &= !rows[k].elsewhere;
        good &= q.fine<shared>(words[k][0], mine);
        if constexpr (writes) {
            good &= q.fine<shared>(first, mine);
            good &= q.fine<shared>(words[k][2], mine);
        } else {
            const bool whole = !Track::is_single(first | words[k][2]);
            const bool other =
                whole & (first != 0) & (((first ^ mine) & stamp_thread_bits) / lanes != 0);
            good &= q.fine<shared>(first, mine) | other;
        }
    });
    if (!good) return false;
    unrolled<count>([&](auto k) {
        const u64 mine = Track::word_of(q.own + u64{k} * step, shift);
        const u32 track = writes ? 0 : q.fine<shared>(words[k][1], mine) ? 1 : 2;
        rows[k].sites[track] = q.site;
        __atomic_store_n(&rows[k].words[track], mine, __ATOMIC_RELEASE);
    });
    return true;
}

/// One element that all lanes read.
template <bool shared>
LODE_RACES_BY_DESIGN bool quick_uniform(const Quick& q, const CellRow& row, Cells& cells, u32 k) {
    const u32 at = k / Track::row_granules;
    if (!Track::is_single(row.words[1] & row.words[2])) return false;
    const Stamp write = !Track::is_single(row.words[0]) ? row.words[0] : cells.write.at(k);
    if (!q.past.has(row.words[0]) && !is_harmless<shared>(write, nobody, q.past)) return false;
    const Track::Row first = cells.first.open(at, q.own);
    const Track::Row last = cells.last.open(at, q.own);
    const u32 j = k % Track::row_granules;
    if (is_harmless<shared>(first.stamps[j], nobody, q.past)) {
        first.stamps[j] = q.own;
        first.sites[j] = q.site;
    }
    last.stamps[j] = q.own + lanes - 1;
    last.sites[j] = q.site;
    return true;
}

/// Whether a run of words by a whole warp makes or finds rows that are kept stamp by stamp.
bool is_by_stamps(const CellArrays& arrays, u64 k, bool writes) {
    if (k % Track::row_granules != 0) return true;
    const auto is_single = [&](u64 row) {
        return Track::is_single(arrays.rows[row].word(writes ? 0 : 1));
    };
    return is_single(k / Track::row_granules) && is_single(k / Track::row_granules + 1);
}

/// Records a whole warp's access to consecutive words, if it needs no closer look and isn't one for
/// words of rows.
bool record_words(const RaceAccess& a, u64 address) {
    const auto record = [&]<bool shared>(const CellArrays& arrays, u64 k) {
        // In global memory, whole rows become words again.
        const bool wanted =
            shared ? is_by_stamps(arrays, k, a.writes()) : k % Track::row_granules != 0;
        return wanted && race_word_run<shared>(a, arrays, k);
    };
    if (a.shared) {
        const Cells& cells = a.home.shared;
        return cells.shift == 2 && record.operator()<true>(cells.arrays, address / 4);
    }
    constexpr u64 bytes = u64{4} * lanes;
    const GlobalCells::Region region = a.c.launch->accesses->cells.region_of(address);
    const u64 at = address - region.first;
    if (region.bytes < bytes || at > region.bytes - bytes) return false;
    for (u64 row = at / GlobalCells::row_bytes; row <= (at + bytes - 1) / GlobalCells::row_bytes;
         ++row)
        if (region.arrays.rows[row].elsewhere) return false;
    return record.operator()<false>(region.arrays, at / 4);
}

void check_run(const RaceAccess& a, const Run& run) {
    const u32 bytes = a.noted.bytes;
    const u64 total = run.uniform ? bytes : u64{bytes} * run.count;
    const u64 room =
        a.shared ? total : GlobalCells::page_bytes - run.address % GlobalCells::page_bytes;
    if (a.shared && run.address + total > a.c.shared_bytes) return;
    const bool is_whole = !run.uniform && run.count == lanes && bytes == 4;
    if (is_whole && record_words(a, run.address)) return;
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
    if (run.twin) std::copy_n(addresses, lanes / 2, addresses + lanes / 2);
    const u32 count = run.twin ? lanes : run.count;
    const u32 mask = (count == lanes ? all_lanes : (1u << count) - 1) << run.lane;
    if (!a.shared) return race_global_lanes(a, addresses, mask);
    each_lane(mask, [&](u32 i) { check_lane(a, i, addresses); });
}

}  // namespace

void race_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    if (c.block->order->spent || (!shared && reads_unwritten(c, op))) return;
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

template <bool shared, bool writes, u32 bytes, bool uniform>
bool race_quick(WarpContext& c, const Op* op, u64 address) {
    BlockOrder& order = *c.block->order;
    if (order.spent) return true;
    if constexpr (!shared && !writes) {
        if (reads_unwritten(c, op)) return true;
    }
    if (op->order.is_strong() || op->order.data || op->order.validated) return false;
    constexpr u32 row_bytes = 4 * Track::row_granules;
    constexpr u32 total = uniform ? bytes : bytes * lanes;
    if (!uniform && address % row_bytes != 0) return false;
    const u64 base = (shared ? 0 : order.block) << stamp_block_shift;
    const WarpOrder& warp = order.warps[c.warp->index];
    const auto end = static_cast<i64>(base + ((u64{warp.floor} + 1) << stamp_time_shift));
    LaunchOrder& launch = *c.launch->accesses;
    const auto oldest = static_cast<i64>(launch.first_block << stamp_block_shift);
    const Quick q{shared ? HappenedBefore{end, end, end}
                         : HappenedBefore{oldest, static_cast<i64>(base), end},
                  base | (u64{order.time} << stamp_time_shift) | (u64{c.warp->index} * lanes),
                  site_of(op->cache)};
    if constexpr (shared) {
        Cells& cells = order.shared;
        if (cells.shift != 2 || address + total > c.shared_bytes) return false;
        CellRow* const rows = cells.arrays.rows + address / row_bytes;
        if constexpr (uniform)
            return quick_uniform<true>(q, *rows, cells, static_cast<u32>(address / 4));
        else
            return quick_rows<true, writes, bytes / 8>(q, rows);
    } else {
        CellRow* const rows = launch.cells.rows_at(address, total);
        if (rows == nullptr) return false;
        if constexpr (uniform) {
            if (rows->elsewhere) return false;
            Cells* const cells = launch.cells.find(address, false);
            if (cells == nullptr || cells->shift != 2) return false;
            return quick_uniform<false>(q, *rows, *cells,
                                        static_cast<u32>(address % GlobalCells::page_bytes) / 4);
        } else {
            return quick_rows<false, writes, bytes / 8>(q, rows);
        }
    }
}

template bool race_quick<false, false, 4, false>(WarpContext&, const Op*, u64);
template bool race_quick<false, true, 4, false>(WarpContext&, const Op*, u64);
template bool race_quick<true, false, 4, false>(WarpContext&, const Op*, u64);
template bool race_quick<true, true, 4, false>(WarpContext&, const Op*, u64);
template bool race_quick<false, false, 8, false>(WarpContext&, const Op*, u64);
template bool race_quick<false, true, 8, false>(WarpContext&, const Op*, u64);
template bool race_quick<true, false, 8, false>(WarpContext&, const Op*, u64);
template bool race_quick<true, true, 8, false>(WarpContext&, const Op*, u64);
template bool race_quick<false, false, 4, true>(WarpContext&, const Op*, u64);
template bool race_quick<true, false, 4, true>(WarpContext&, const Op*, u64);

}  // namespace lode::emulator::exec
