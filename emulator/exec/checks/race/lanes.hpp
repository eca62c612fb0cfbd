// Accesses by single lanes that need no closer look, for shared and global memory. Private to
// emulator/exec.
#pragma once

#include "emulator/exec/checks/race/access.hpp"

namespace lode::emulator::exec {

/// The granules of some memory, and what decides about accesses by lanes to a few of them in one
/// row. Every function returns whether the usual case applied; the access is recorded then.
template <bool shared>
class LaneTracks {
public:
    LaneTracks(const RaceAccess& a, const CellArrays& arrays)
        : arrays_(arrays),
          past_(a.past),
          word_(shared ? Track::single_of(a.own) : Track::single | static_cast<u64>(a.past.oldest)),
          site_(a.site),
          only_floor_(a.only_floor()) {}

    /// How many rows of tracks have got stamps that had none before.
    [[nodiscard]] u32 fresh_rows() const noexcept { return fresh_; }
    [[nodiscard]] bool is_elsewhere(u64 k) const { return row_of(k).elsewhere; }

    /// A weak access to granules of a row that is kept stamp by stamp or, in global memory, hasn't
    /// been accessed in this launch.
    template <bool writes, u32 granules>
    [[gnu::always_inline]] inline bool record_quickly(u64 k, Stamp own) const {
        const CellRow& row = row_of(k);
        if constexpr (writes) {
            // Usually nothing has read the row since.
            const bool unread = past_.has(row.word(first) | row.word(last));
            if (!unread &&
                !(is_fine<granules>(row, first, k, own) && is_fine<granules>(row, last, k, own)))
                return false;
        }
        if (!is_fine<granules>(row, write, k, own)) return false;
        if constexpr (writes) return store_quickly<granules>(row, write, k, own);
        if (is_fine<granules>(row, first, k, own))
            return store_quickly<granules>(row, first, k, own);
        const u64 now = row.word(first);
        return granules == 1 && only_floor_ && Track::is_single(now) &&
               (arrays_.stamps[first][k] & stamp_async) == 0 &&
               store_quickly<granules>(row, last, k, own);
    }

    /// A weak access. Where it is false, granules before the first one that needs a closer look may
    /// be recorded.
    template <bool writes>
    [[nodiscard]] LODE_RACES_BY_DESIGN bool record(u64 k, u32 granules, Stamp own) const {
        for (u64 end = k + granules; k < end; ++k) {
            const CellRow& row = row_of(k);
            if (!is_row_harmless(row, write, k, own)) return false;
            const bool is_free = is_row_harmless(row, first, k, own);
            if constexpr (writes) {
                if (!is_free || !is_row_harmless(row, last, k, own)) return false;
                put(write, k, own);
            } else {
                const bool may_add =
                    is_free || (only_floor_ && (stamp_in(row, first, k) & stamp_async) == 0);
                if (!may_add) return false;
                put(is_free ? first : last, k, own);
            }
        }
        return true;
    }

    /// A write that is strong, such as an atomic, for all threads of the memory, of a granule that
    /// only such writes have accessed since others that are harmless. Only where nothing but the
    /// floor of the block orders lanes.
    [[nodiscard]] LODE_RACES_BY_DESIGN bool record_strong(u64 k, Stamp own) const {
        const CellRow& row = row_of(k);
        if (!is_row_harmless(row, first, k, nobody)) return false;
        const Stamp before = stamp_in(row, write, k);
        const Stamp read = stamp_in(row, last, k);
        const bool has_second = stamp_is_second_write(read);
        const bool none_last = is_past(has_second ? strong_write_of(read) : read);
        if (is_past(before) || ((before ^ own) & stamp_thread_bits) == 0) {
            // A weak write of this launch has to stay; a second write is at most as old as the
            // first.
            const bool stays = stamp_is_weak(before) && before != 0 &&
                               (shared || before >= static_cast<u64>(past_.oldest));
            if (stays || !none_last) return false;
            return store_quickly<1>(row, write, k, own);
        }
        const u64 strength = before & (stamp_async | stamp_covered);
        const bool strong = strength == stamp_gpu || (shared && strength == stamp_cta);
        if (!strong || (shared && stamp_block(before) != 0) || (!none_last && !has_second))
            return false;
        const bool is_nearer = !none_last && distance(own, before) < distance(read, before);
        return is_nearer || store_quickly<1>(row, last, k, second_write(own));
    }

protected:
    enum Which : u32 { write, first, last };

    [[nodiscard]] const CellRow& row_of(u64 k) const {
        return arrays_.rows[k / Track::row_granules];
    }
    /// Those of rows that are kept stamp by stamp.
    [[nodiscard]] const Stamp* stamps(Which which) const { return arrays_.stamps[which]; }

private:
    [[nodiscard]] bool is_past(Stamp stamp) const {
        return is_harmless<shared>(stamp, nobody, past_);
    }
    [[gnu::always_inline]] inline Stamp stamp_in(const CellRow& row, Which which, u64 k) const {
        const u64 now = row.word(which);
        if (Track::is_single(now)) return arrays_.stamps[which][k];
        return Track::stamp_in(now, static_cast<u32>(k % Track::row_granules));
    }
    [[gnu::always_inline]] inline bool is_row_harmless(const CellRow& row, Which which, u64 k,
                                                       Stamp own) const {
        return is_harmless<shared>(stamp_in(row, which, k), own, past_);
    }
    /// Whether words and stamps show that no granule needs a closer look.
    template <u32 granules>
    [[gnu::always_inline]] inline bool is_fine(const CellRow& row, Which which, u64 k,
                                               Stamp own) const {
        const u64 now = row.word(which);
        if (past_.has(now)) return true;
        if (!Track::is_single(now)) return false;
        bool good = true;
        for (u32 j = 0; j < granules; ++j)
            good &= is_harmless<shared>(arrays_.stamps[which][k + j], own, past_);
        return good;
    }
    template <u32 granules>
    [[gnu::always_inline]] inline void store(Which which, u64 k, Stamp own) const {
        for (u32 j = 0; j < granules; ++j) {
            arrays_.stamps[which][k + j] = own;
            arrays_.sites[which][k + j] = site_;
        }
    }
    /// False if the row has a word of this launch, or of shared memory.
    template <u32 granules>
    [[gnu::always_inline]] inline bool store_quickly(const CellRow& row, Which which, u64 k,
                                                     Stamp own) const {
        const u64 now = row.word(which);
        if (now < word_) {
            // Whatever stamps a row of global memory had before are older than the launch, too.
            const bool may_open = shared ? Track::is_single(now) : past_.has(now);
            if (!may_open) return false;
            if (now == 0) ++fresh_;
            __atomic_store_n(&arrays_.rows[k / Track::row_granules].words[which], word_,
                             __ATOMIC_RELEASE);
        }
        store<granules>(which, k, own);
        return true;
    }
    LODE_RACES_BY_DESIGN void put(Which which, u64 k, Stamp own) const {
        arrays_.open(which, k / Track::row_granules, word_);
        store<1>(which, k, own);
    }

    CellArrays arrays_;
    HappenedBefore past_;
    u64 word_;  ///< Word of a row that is kept stamp by stamp, for an access now.
    Site site_;
    bool only_floor_;
    mutable u32 fresh_ = 0;
};

}  // namespace lode::emulator::exec
