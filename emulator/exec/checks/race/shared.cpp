// The race check where warps don't access whole rows of granules of 4 bytes: runs that begin
// anywhere, and lanes that each access one granule of the block's own shared memory.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/exec/checks/race/lanes.hpp"

#include <algorithm>
#include <cstddef>

namespace lode::emulator::exec {

namespace {

/// The block's own shared memory, with granules of 4 bytes.
class SharedTracks : public LaneTracks<true> {
public:
    explicit SharedTracks(const RaceAccess& a) : LaneTracks(a, a.order.shared.arrays) {}

#if defined(__AVX2__)
    /// Whether strong writes by all lanes change nothing: each granule has two of this time, by
    /// different warps or by threads of this one, and nothing else since. These stand for the
    /// others. Only where nothing but the floor of the block orders lanes. Stamps of rows that
    /// aren't kept one by one are compared, too, although they mean nothing: that costs a closer
    /// look at most.
    [[nodiscard]] bool are_repeated(const u64* addresses, Stamp own, i64 floor_end) const {
        constexpr u64 warp_bits = 0x3ff & ~u64{lanes - 1};
        const __m256i zero = _mm256_setzero_si256();
        const __m256i end = _mm256_set1_epi64x(floor_end - 1);
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
                const __m256i row =
                    _mm256_load_si256(reinterpret_cast<const __m256i*>(&row_of(k[j])));
                all_words = _mm256_and_si256(all_words, row);
                young_words = _mm256_or_si256(young_words, _mm256_cmpgt_epi64(row, end));
            }
            const auto four = [&k](const Stamp* from) {
                return _mm256_setr_epi64x(
                    static_cast<i64>(from[k[0]]), static_cast<i64>(from[k[1]]),
                    static_cast<i64>(from[k[2]]), static_cast<i64>(from[k[3]]));
            };
            const __m256i w = four(stamps(write));
            const __m256i s = four(stamps(last));
            const __m256i from_own = _mm256_xor_si256(w, writes);
            off = _mm256_or_si256(off, _mm256_or_si256(from_own, _mm256_xor_si256(s, seconds)));
            const auto in_one_warp = [&](__m256i differing) {
                return _mm256_cmpeq_epi64(_mm256_and_si256(differing, warps), zero);
            };
            near = _mm256_or_si256(near, _mm256_andnot_si256(in_one_warp(from_own),
                                                             in_one_warp(_mm256_xor_si256(w, s))));
            young = _mm256_or_si256(young, _mm256_cmpgt_epi64(four(stamps(first)), end));
        }
        off = _mm256_and_si256(off, _mm256_set1_epi64x(~i64{0x3ff}));
        const __m256i wrong = _mm256_or_si256(_mm256_or_si256(off, near), young);
        const int single = _mm256_movemask_pd(_mm256_castsi256_pd(all_words));
        const auto track = [](__m256i of, u32 which) {
            return (static_cast<u32>(_mm256_movemask_epi8(of)) >> (8 * which)) & 0xff;
        };
        static_assert(Track::is_single(Track::single) && offsetof(CellRow, words) == 0);
        return _mm256_testz_si256(wrong, wrong) != 0 && track(young_words, first) == 0 &&
               ((single >> write) & (single >> last) & 1) != 0;
    }
#endif
};

#if defined(__AVX2__)

/// 32 granules of a track that a warp's lanes access in order.
class LaneStamps {
public:
    LaneStamps(const CellArrays& arrays, u32 which, u64 k)
        : arrays_(arrays),
          which_(which),
          k_(k),
          from_(k / Track::row_granules),
          to_((k + lanes - 1) / Track::row_granules) {}

    /// Whether words show that no stamp needs a closer look.
    template <bool shared>
    [[nodiscard]] bool words_are_plain(const Past& past) const {
        bool fine = true;
        for (u64 row = from_; row <= to_; ++row) {
            const u64 word = arrays_.rows[row].word(which_);
            fine = fine && (past.has(word) ||
                            (!Track::is_single(word) && plain<shared>(word, nobody, past)));
        }
        return fine;
    }
    /// Makes the rows ones that are kept stamp by stamp, for those of the time of this one. The
    /// following need that.
    void open(Stamp stamp) const {
        for (u64 row = from_; row <= to_; ++row)
            arrays_.open(which_, row, Track::single_of(stamp));
    }
    [[nodiscard]] LODE_RACES_BY_DESIGN __m256i stamps(u32 q) const {
        return _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(arrays_.stamps[which_] + k_ + std::size_t{4} * q));
    }
    LODE_RACES_BY_DESIGN void put(u32 q, __m256i stamps) const {
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(arrays_.stamps[which_] + k_ + std::size_t{4} * q), stamps);
    }
    /// Sets the sites of the lanes whose bytes have their highest bits set.
    LODE_RACES_BY_DESIGN void put_sites(__m256i where, Site site) const {
        auto* const at = reinterpret_cast<__m256i*>(arrays_.sites[which_] + k_);
        _mm256_storeu_si256(at,
                            _mm256_blendv_epi8(_mm256_loadu_si256(at),
                                               _mm256_set1_epi8(static_cast<char>(site)), where));
    }

private:
    const CellArrays& arrays_;
    u32 which_;
    u64 k_, from_, to_;
};

/// A byte for each lane, from eight vectors of four lanes that are all ones or zeros.
__m256i bytes_of(const __m256i* quads) {
    __m256i words[4];  // 32-bit words, each from two quads; the packing mixes halves of 128 bits.
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
template <bool shared>
struct OwnStamps {
    explicit OwnStamps(const RaceAccess& a)
        : own(_mm256_add_epi64(_mm256_set1_epi64x(static_cast<i64>(a.own)),
                               _mm256_setr_epi64x(0, 1, 2, 3))),
          past(a.past) {}
    [[nodiscard]] __m256i of(u32 q) const {
        return _mm256_add_epi64(own, _mm256_set1_epi64x(i64{4} * q));
    }
    [[nodiscard]] __m256i are_plain(const LaneStamps& track, u32 q) const {
        return plain_quad<shared>(track.stamps(q), of(q), past);
    }
    /// Opens the track unless its words show it.
    [[nodiscard]] bool all_plain(const LaneStamps& track) const {
        if (track.words_are_plain<shared>(past)) return true;
        track.open(0);
        __m256i all = _mm256_set1_epi64x(-1);
        for (u32 q = 0; q < lanes / 4; ++q)
            all = _mm256_and_si256(all, are_plain(track, q));
        return _mm256_movemask_epi8(all) == -1;
    }

    __m256i own;
    const Past& past;
};

#endif

}  // namespace

#if defined(__AVX2__)

template <bool shared>
bool race_word_run(const RaceAccess& a, const CellArrays& arrays, u64 k) {
    const OwnStamps<shared> own(a);
    const LaneStamps write(arrays, 0, k);
    const LaneStamps first(arrays, 1, k);
    const LaneStamps last(arrays, 2, k);
    if (!own.all_plain(write)) return false;
    const __m256i all = _mm256_set1_epi64x(-1);
    if (a.writes()) {
        if (!own.all_plain(first) || !own.all_plain(last)) return false;
        write.open(a.own);
        for (u32 q = 0; q < lanes / 4; ++q)
            write.put(q, own.of(q));
        write.put_sites(all, a.site);
        return true;
    }
    first.open(a.own);
    __m256i free[lanes / 4];
    __m256i every = all;
    for (u32 q = 0; q < lanes / 4; ++q) {
        free[q] = own.are_plain(first, q);
        every = _mm256_and_si256(every, free[q]);
    }
    if (_mm256_movemask_epi8(every) == -1) {
        for (u32 q = 0; q < lanes / 4; ++q)
            first.put(q, own.of(q));
        first.put_sites(all, a.site);
        return true;
    }
    last.open(a.own);
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

template <bool shared>
bool race_word_run(const RaceAccess&, const CellArrays&, u64) {
    return false;
}

#endif

template bool race_word_run<false>(const RaceAccess&, const CellArrays&, u64);
template bool race_word_run<true>(const RaceAccess&, const CellArrays&, u64);

namespace {

/// Weak accesses by single lanes to this many granules each.
template <bool writes, u32 granules>
void record_weak(const RaceAccess& a, const u64* addresses) {
    const SharedTracks tracks(a);
    const u32 shift = a.order.shared.shift;
    const u32 bytes = a.noted.bytes;
    const u64 end = a.c.shared_bytes;
    each_lane(a.c.mask, [&](u32 i) {
        const u64 k = addresses[i] >> shift;
        const Stamp own = a.own + i;
        if (addresses[i] + bytes > end) return;
        if (!tracks.record_quickly<writes, granules>(k, own) &&
            !tracks.record<writes>(k, granules, own))
            check_lane(a, i, addresses);
    });
}

template <bool writes>
void record_weak(const RaceAccess& a, const u64* addresses) {
    switch (std::max(1u, a.noted.bytes >> a.order.shared.shift)) {
        case 1:
            return record_weak<writes, 1>(a, addresses);
        case 2:
            return record_weak<writes, 2>(a, addresses);
        case 4:
            return record_weak<writes, 4>(a, addresses);
        default:
            each_lane(a.c.mask, [&](u32 i) { check_lane(a, i, addresses); });
    }
}

/// Atomics and other strong writes of words by single lanes.
void record_strong(const RaceAccess& a, const u64* addresses) {
    const SharedTracks tracks(a);
    const u32 bytes = a.c.shared_bytes;
#if defined(__AVX2__)
    const bool repeats =
        a.c.mask == all_lanes && std::all_of(addresses, addresses + lanes,
                                             [&](u64 address) { return address + 4 <= bytes; });
    if (repeats && tracks.are_repeated(addresses, a.own, a.past.end)) return;
#endif
    each_lane(a.c.mask, [&](u32 i) {
        if (addresses[i] + 4 <= bytes && !tracks.record_strong(addresses[i] / 4, a.own + i))
            check_lane(a, i, addresses);
    });
}

}  // namespace

void race_shared_lanes(const RaceAccess& a, const u64* addresses) {
    Cells& cells = a.order.shared;
    if (a.noted.bytes < 4 && cells.shift != 0) cells.refine();
    if (a.strength == 0)
        return a.writes() ? record_weak<true>(a, addresses) : record_weak<false>(a, addresses);
    if (a.writes() && a.noted.bytes == 4 && cells.shift == 2 && a.only_floor())
        return record_strong(a, addresses);
    each_lane(a.c.mask, [&](u32 i) { check_lane(a, i, addresses); });
}

}  // namespace lode::emulator::exec
