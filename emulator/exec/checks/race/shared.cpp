// The race check where warps don't access whole rows of granules of 4 bytes: runs that begin
// anywhere, and lanes that each access one granule of the block's own shared memory.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/exec/checks/race/lanes.hpp"
#include "emulator/exec/checks/race/stamps.hpp"

#include <algorithm>
#include <cstddef>

namespace lode::emulator::exec {

namespace {

/// The block's own shared memory, with granules of 4 bytes.
class SharedTracks : public LaneTracks<true> {
public:
    explicit SharedTracks(const RaceAccess& a) : LaneTracks(a, a.order.shared.arrays) {}

    /// Whether strong writes by all lanes change nothing: each granule has two of this time, by
    /// different warps or by threads of this one, and nothing else since. These stand for the
    /// others. Only where nothing but the floor of the block orders lanes. Stamps of rows that
    /// aren't kept one by one are compared, too, although they mean nothing: that costs a closer
    /// look at most.
    [[nodiscard]] bool are_repeated(const u64* addresses, Stamp own, i64 floor_end) const {
        // Four numbers, or what comparisons of them say: all ones or zero.
        using Four [[gnu::vector_size(32), gnu::may_alias]] = i64;
        constexpr i64 thread_bits = 0x3ff;
        constexpr i64 warp_bits = thread_bits & ~i64{lanes - 1};
        const auto first_write = static_cast<i64>(own);
        const auto second = static_cast<i64>(second_write(own));
        const i64 end = floor_end - 1;
        Four words = Four{} - 1;
        Four young_words{};
        Four off{};  // Bits in which stamps differ from those wanted, but for threads'.
        Four wrong{};
        for (u32 i = 0; i < lanes; i += 4) {
            u64 k[4];
            for (u32 j = 0; j < 4; ++j) {
                k[j] = addresses[i + j] / 4;
                const auto& row = reinterpret_cast<const Four&>(row_of(k[j]));
                words &= row;
                young_words |= row > end;
            }
            const auto four = [&k](const Stamp* from) {
                return Four{static_cast<i64>(from[k[0]]), static_cast<i64>(from[k[1]]),
                            static_cast<i64>(from[k[2]]), static_cast<i64>(from[k[3]])};
            };
            const Four w = four(stamps(write));
            const Four s = four(stamps(last));
            off |= (w ^ first_write) | (s ^ second);
            const Four in_own_warp = ((w ^ first_write) & warp_bits) == 0;
            wrong |= ~in_own_warp & (((w ^ s) & warp_bits) == 0);
            wrong |= four(stamps(first)) > end;
        }
        wrong |= off & ~thread_bits;
        static_assert(Track::is_single(Track::single) && offsetof(CellRow, words) == 0);
        return (wrong[0] | wrong[1] | wrong[2] | wrong[3]) == 0 && young_words[first] == 0 &&
               (words[write] & words[last]) < 0;
    }
};

/// 32 granules of a track that a warp's lanes access in order.
template <bool shared>
class WordRun {
public:
    WordRun(const RaceAccess& a, const CellArrays& arrays, u32 which, u64 k)
        : a_(a), arrays_(arrays), which_(which), k_(k), own_{a.own} {}

    /// Whether no stamp needs a closer look. Makes the rows ones that are kept stamp by stamp
    /// unless their words show it.
    [[nodiscard]] LODE_RACES_BY_DESIGN bool is_run_harmless() const {
        bool fine = true;
        each_row([&](u64 row) {
            const u64 word = arrays_.rows[row].word(which_);
            fine &= a_.past.has(word) ||
                    (!Track::is_single(word) && is_harmless<shared>(word, nobody, a_.past));
        });
        return fine || all_harmless<shared>(open(0).stamps, own_, a_.past);
    }
    LODE_RACES_BY_DESIGN void set() const { set_stamps(open(a_.own), own_, a_.site); }
    /// Makes this the first reads where those are harmless, and the last ones elsewhere.
    LODE_RACES_BY_DESIGN void add_reads(const WordRun& last) const {
        exec::add_reads<shared>(
            open(a_.own), [&] { return last.open(a_.own); }, own_, a_.past, a_.site);
    }

private:
    template <class F>
    void each_row(F&& f) const {
        for (u64 row = k_ / Track::row_granules; row <= (k_ + lanes - 1) / Track::row_granules;
             ++row)
            f(row);
    }
    /// Makes the rows ones that are kept stamp by stamp, for those of the time of this one.
    [[nodiscard]] Track::Row open(Stamp stamp) const {
        each_row([&](u64 row) { arrays_.open(which_, row, Track::single_of(stamp)); });
        return {arrays_.stamps[which_] + k_, arrays_.sites[which_] + k_};
    }

    const RaceAccess& a_;
    const CellArrays& arrays_;
    u32 which_;
    u64 k_;
    LaneStamps own_;
};

}  // namespace

template <bool shared>
bool race_word_run(const RaceAccess& a, const CellArrays& arrays, u64 k) {
    const WordRun<shared> write(a, arrays, 0, k);
    const WordRun<shared> first(a, arrays, 1, k);
    const WordRun<shared> last(a, arrays, 2, k);
    if (!write.is_run_harmless()) return false;
    if (!a.writes()) {
        first.add_reads(last);
        return true;
    }
    if (!first.is_run_harmless() || !last.is_run_harmless()) return false;
    write.set();
    return true;
}

template bool race_word_run<false>(const RaceAccess&, const CellArrays&, u64);
template bool race_word_run<true>(const RaceAccess&, const CellArrays&, u64);

namespace {

/// Weak accesses by single lanes to so many granules each.
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
    const bool repeats =
        a.c.mask == all_lanes && std::all_of(addresses, addresses + lanes,
                                             [&](u64 address) { return address + 4 <= bytes; });
    if (repeats && tracks.are_repeated(addresses, a.own, a.past.end)) return;
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
