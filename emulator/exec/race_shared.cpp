// The race check of a block's own shared memory where warps don't access whole rows: lanes that
// each access one granule, and runs that begin anywhere.
#include "emulator/exec/race_access.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lode::emulator::exec {

namespace {

/// The tracks of shared memory with granules of 4 bytes, and what decides about an access.
class SharedTracks {
public:
    explicit SharedTracks(const RaceAccess& a)
        : cells_(a.order.shared),
          rows_(cells_.rows),
          tracks_{cells_.write.all(), cells_.first.all(), cells_.last.all()},
          end_(a.past.end),
          site_(a.site) {
        const WarpOrder& warp = a.order.warps[a.c.warp->index];
        only_floor_ = !a.order.is_fine && warp.warp_floor <= warp.floor;
    }

    /// Whether the usual case applied, and the access is recorded.
    template <bool writes>
    [[nodiscard]] bool record(u32 k, Stamp own) {
        const CellRow& row = rows_[k / Track::row_granules];
        if (!is_plain(row, write, k, own)) return false;
        if constexpr (writes) {
            if (!is_plain(row, first, k, own) || !is_plain(row, last, k, own)) return false;
            put(write, k, own);
            return true;
        }
        if (is_plain(row, first, k, own)) {
            put(first, k, own);
            return true;
        }
        if (!only_floor_ || (stamp_in(row, first, k) & stamp_async) != 0) return false;
        put(last, k, own);
        return true;
    }
    /// Likewise for strong writes, such as atomics, of what only strong ones have accessed since.
    /// Only where nothing but the floor of the block orders lanes.
    [[nodiscard]] bool record_strong(u32 k, Stamp own) {
        const CellRow& row = rows_[k / Track::row_granules];
        if (row.words[write] != Track::single) return false;
        constexpr u64 others = (~u64{0} << stamp_block_shift) | stamp_async | stamp_covered;
        const Stamp before = tracks_[write].stamps[k];
        const bool strong = (before & others) == stamp_gpu || (before & others) == stamp_cta;
        const Stamp read = stamp_in(row, last, k);
        if (!strong || !is_old(stamp_in(row, first, k))) return false;
        const bool has_second = stamp_is_second_write(read);
        const bool none_last = is_old(has_second ? strong_write_of(read) : read);
        if (!none_last && !has_second) return false;
        if (is_old(before) || ((before ^ own) & stamp_thread_bits) == 0) {
            // A second write is at most as old as the first.
            if (!none_last) return false;
            put(write, k, own);
            return true;
        }
        constexpr u64 warp = 0x3ff & ~u64{lanes - 1};
        const bool is_nearer = ((own ^ before) & warp) == 0 && ((read ^ before) & warp) != 0;
        if (none_last || !is_nearer) put(last, k, second_write(own));
        return true;
    }

#if defined(__AVX2__)
    /// Whether strong writes by all lanes change nothing: each granule has two of this time, by
    /// different warps or by threads of this one, and nothing else since. These stand for the
    /// others. Only where nothing but the floor of the block orders lanes. Stamps of rows that
    /// aren't kept one by one are compared, too, although they mean nothing: that costs a closer
    /// look at most.
    [[nodiscard]] bool are_repeated(const u64* addresses, Stamp own) const {
        constexpr u64 warp_bits = 0x3ff & ~u64{lanes - 1};
        const __m256i zero = _mm256_setzero_si256();
        const __m256i end = _mm256_set1_epi64x(end_ - 1);
        const __m256i writes = _mm256_set1_epi64x(static_cast<i64>(own));
        const __m256i seconds = _mm256_set1_epi64x(static_cast<i64>(second_write(own)));
        const __m256i warps = _mm256_set1_epi64x(static_cast<i64>(warp_bits));
        __m256i all_words = _mm256_set1_epi64x(-1);
        __m256i young_words = zero;
        __m256i off = zero;  // Bits in which stamps differ from those wanted, but for threads'.
        __m256i young = zero;
        __m256i near = zero;
        for (u32 i = 0; i < lanes; i += 4) {
            u32 k[4];
            for (u32 j = 0; j < 4; ++j) {
                k[j] = static_cast<u32>(addresses[i + j] / 4);
                const __m256i row = _mm256_load_si256(
                    reinterpret_cast<const __m256i*>(rows_ + k[j] / Track::row_granules));
                all_words = _mm256_and_si256(all_words, row);
                young_words = _mm256_or_si256(young_words, _mm256_cmpgt_epi64(row, end));
            }
            const auto four = [&k](const Stamp* from) {
                return _mm256_setr_epi64x(
                    static_cast<i64>(from[k[0]]), static_cast<i64>(from[k[1]]),
                    static_cast<i64>(from[k[2]]), static_cast<i64>(from[k[3]]));
            };
            const __m256i w = four(tracks_[write].stamps);
            const __m256i s = four(tracks_[last].stamps);
            const __m256i from_own = _mm256_xor_si256(w, writes);
            off = _mm256_or_si256(off, _mm256_or_si256(from_own, _mm256_xor_si256(s, seconds)));
            const auto in_one_warp = [&](__m256i differing) {
                return _mm256_cmpeq_epi64(_mm256_and_si256(differing, warps), zero);
            };
            near = _mm256_or_si256(near, _mm256_andnot_si256(in_one_warp(from_own),
                                                             in_one_warp(_mm256_xor_si256(w, s))));
            young = _mm256_or_si256(young, _mm256_cmpgt_epi64(four(tracks_[first].stamps), end));
        }
        off = _mm256_and_si256(off, _mm256_set1_epi64x(~i64{0x3ff}));
        const __m256i wrong = _mm256_or_si256(_mm256_or_si256(off, near), young);
        const __m256i single = _mm256_cmpeq_epi8(all_words, _mm256_set1_epi8(-1));
        const auto track = [](__m256i of, u32 which) {
            return (static_cast<u32>(_mm256_movemask_epi8(of)) >> (8 * which)) & 0xff;
        };
        static_assert(Track::single == ~u64{0} && offsetof(CellRow, words) == 0);
        return _mm256_testz_si256(wrong, wrong) != 0 && track(young_words, first) == 0 &&
               (track(single, write) & track(single, last)) == 0xff;
    }
#endif

    /// Whether nothing but the floor of the block orders lanes.
    [[nodiscard]] bool only_floor() const noexcept {
        return only_floor_;
    }

private:
    enum Which : u32 { write, first, last };

    [[nodiscard]] Stamp stamp_in(const CellRow& row, Which which, u32 k) const {
        const u64 word = row.words[which];
        return word == Track::single ? tracks_[which].stamps[k] : word;
    }
    /// plain() of a granule's stamp.
    [[nodiscard]] bool is_plain(const CellRow& row, Which which, u32 k, Stamp own) const {
        Stamp stamp = row.words[which];
        if (stamp == Track::single) {
            stamp = tracks_[which].stamps[k];
        } else if (static_cast<i64>(stamp) >= end_) {
            stamp = Track::stamp_in(stamp, k % Track::row_granules);
        }
        return static_cast<i64>(stamp) < end_ || ((stamp ^ own) & stamp_same_bits) == 0;
    }
    void put(Which which, u32 k, Stamp own) {
        if (rows_[k / Track::row_granules].words[which] != Track::single) [[unlikely]]
            split(which, k / Track::row_granules);
        tracks_[which].stamps[k] = own;
        tracks_[which].sites[k] = site_;
    }
    void split(Which which, u32 row) {
        (which == write ? cells_.write : which == first ? cells_.first : cells_.last).split(row);
    }
    [[nodiscard]] bool is_old(Stamp stamp) const {
        return static_cast<i64>(stamp) < end_;
    }

    Cells& cells_;
    CellRow* rows_;
    std::array<Track::Row, 3> tracks_;
    i64 end_;
    Site site_;
    bool only_floor_ = false;
};

#if defined(__AVX2__)

/// 32 granules of a track that a warp's lanes access in order.
class Lanes {
public:
    Lanes(Track& track, u32 k)
        : track_(track),
          k_(k),
          from_(k / Track::row_granules),
          to_((k + lanes - 1) / Track::row_granules) {}

    /// Whether words show that no stamp needs a closer look.
    [[nodiscard]] bool words_are_plain(i64 end) const {
        bool plain = true;
        for (u32 row = from_; row <= to_; ++row) {
            const u64 word = track_.word(row);
            plain = plain && word != Track::single && static_cast<i64>(word) < end;
        }
        return plain;
    }
    /// Makes the rows ones that are kept stamp by stamp, which the following need.
    void open() {
        all_ = track_.all();
        for (u32 row = from_; row <= to_; ++row)
            track_.split(row);
    }
    [[nodiscard]] __m256i stamps(u32 q) const {
        return _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(all_.stamps + k_ + std::size_t{4} * q));
    }
    void put(u32 q, __m256i stamps) const {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(all_.stamps + k_ + std::size_t{4} * q),
                            stamps);
    }
    /// Sets the sites of the lanes whose bytes have their highest bits set.
    void put_sites(__m256i which, Site site) const {
        auto* const at = reinterpret_cast<__m256i*>(all_.sites + k_);
        _mm256_storeu_si256(at,
                            _mm256_blendv_epi8(_mm256_loadu_si256(at),
                                               _mm256_set1_epi8(static_cast<char>(site)), which));
    }

private:
    Track& track_;
    u32 k_, from_, to_;
    Track::Row all_{};
};

/// A byte for each lane, from eight vectors of four lanes that are all ones or zeros.
__m256i bytes_of(const __m256i* quads) {
    __m256i words[4];  // Of 32 bits, from two quads each; the packing mixes halves of 128 bits.
    for (u32 k = 0; k < 4; ++k) {
        const __m256i low =
            _mm256_permutevar8x32_epi32(quads[2 * k], _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        const __m256i high = _mm256_permutevar8x32_epi32(quads[2 * k + 1],
                                                         _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        words[k] = _mm256_blend_epi32(low, high, 0xf0);
    }
    const __m256i halves[2] = {_mm256_packs_epi32(words[0], words[1]),
                               _mm256_packs_epi32(words[2], words[3])};
    const __m256i packed = _mm256_packs_epi16(halves[0], halves[1]);
    // In units of 4 lanes, packed holds 0 2 4 6 1 3 5 7.
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// A run's own stamps, four by four, and the comparison of a track with them.
struct OwnStamps {
    explicit OwnStamps(const RaceAccess& a)
        : own(_mm256_add_epi64(_mm256_set1_epi64x(static_cast<i64>(a.own)),
                               _mm256_setr_epi64x(0, 1, 2, 3))),
          past(a.past) {}
    [[nodiscard]] __m256i of(u32 q) const {
        return _mm256_add_epi64(own, _mm256_set1_epi64x(i64{4} * q));
    }
    /// Opens the track unless its words show it.
    [[nodiscard]] bool all_plain(Lanes& track) const {
        if (track.words_are_plain(past.end)) return true;
        track.open();
        __m256i all = _mm256_set1_epi64x(-1);
        for (u32 q = 0; q < lanes / 4; ++q)
            all = _mm256_and_si256(all, plain_quad<true>(track.stamps(q), of(q), past));
        return _mm256_movemask_epi8(all) == -1;
    }

    __m256i own;
    const Past& past;
};

#endif

}  // namespace

#if defined(__AVX2__)

bool race_shared_run(const RaceAccess& a, u32 k) {
    Cells& cells = a.order.shared;
    const OwnStamps own(a);
    Lanes write(cells.write, k);
    Lanes first(cells.first, k);
    Lanes last(cells.last, k);
    if (!own.all_plain(write)) return false;
    const __m256i all = _mm256_set1_epi64x(-1);
    if (a.writes()) {
        if (!own.all_plain(first) || !own.all_plain(last)) return false;
        write.open();
        for (u32 q = 0; q < lanes / 4; ++q)
            write.put(q, own.of(q));
        write.put_sites(all, a.site);
        return true;
    }
    first.open();
    __m256i free[lanes / 4];
    __m256i every = all;
    for (u32 q = 0; q < lanes / 4; ++q) {
        free[q] = plain_quad<true>(first.stamps(q), own.of(q), a.past);
        every = _mm256_and_si256(every, free[q]);
    }
    if (_mm256_movemask_epi8(every) == -1) {
        for (u32 q = 0; q < lanes / 4; ++q)
            first.put(q, own.of(q));
        first.put_sites(all, a.site);
        return true;
    }
    last.open();
    for (u32 q = 0; q < lanes / 4; ++q) {
        first.put(q, _mm256_blendv_epi8(first.stamps(q), own.of(q), free[q]));
        last.put(q, _mm256_blendv_epi8(own.of(q), last.stamps(q), free[q]));
    }
    const __m256i in_first = bytes_of(free);
    first.put_sites(in_first, a.site);
    last.put_sites(_mm256_andnot_si256(in_first, all), a.site);
    return true;
}

#else

bool race_shared_run(const RaceAccess&, u32) {
    return false;
}

#endif

void race_shared_lanes(const RaceAccess& a, const u64* addresses) {
    const u32 bytes = a.c.shared_bytes;
    if (bytes < 4) return;
    SharedTracks tracks(a);
#if defined(__AVX2__)
    const bool repeats = a.strength != 0 && a.writes() && tracks.only_floor() &&
                         a.c.mask == all_lanes &&
                         std::all_of(addresses, addresses + lanes,
                                     [&](u64 address) { return address <= bytes - 4; });
    if (repeats && tracks.are_repeated(addresses, a.own)) return;
#endif
    const auto each = [&](auto&& record) {
        each_lane(a.c.mask, [&](u32 i) {
            if (addresses[i] + 4 > bytes) return;
            if (!record(static_cast<u32>(addresses[i] / 4), a.own + i)) check_lane(a, i, addresses);
        });
    };
    if (a.strength == 0 && a.writes()) {
        each([&](u32 k, Stamp own) { return tracks.record<true>(k, own); });
    } else if (a.strength == 0) {
        each([&](u32 k, Stamp own) { return tracks.record<false>(k, own); });
    } else if (a.writes() && tracks.only_floor()) {
        each([&](u32 k, Stamp own) { return tracks.record_strong(k, own); });
    } else {
        each([&](u32, Stamp) { return false; });
    }
}

}  // namespace lode::emulator::exec
