// Stamps of consecutive granules, compared and set in loops that compilers vectorise. Private to
// emulator/exec.
#pragma once

#include "emulator/exec/checks/race/access.hpp"

namespace lode::emulator::exec {

/// Stamps for granules of one row: granule j, from `begin` on and before `end`, gets the stamp
/// own + ((j + from) >> shift).
struct PieceStamps {
    static constexpr u32 count = Track::row_granules;
    Stamp own = 0;
    u64 from = 0;
    u8 begin = 0;
    u8 end = 0;
    u8 shift = 0;

    [[nodiscard, gnu::always_inline]] Stamp stamp(u64 j) const {
        return own + ((j + from) >> shift);
    }
    template <class T>
    [[nodiscard, gnu::always_inline]] bool has(T j) const {
        return (j >= T{begin}) & (j < T{end});
    }
};

/// Stamps for a granule of each lane.
struct LaneStamps {
    static constexpr u32 count = lanes;
    Stamp own = 0;

    [[nodiscard, gnu::always_inline]] Stamp stamp(u64 j) const { return own + j; }
    template <class T>
    static constexpr bool has(T) {
        return true;
    }
};

/// For each granule and its site all ones or zero.
template <class Own>
struct Granules {
    alignas(32) u64 stamps[Own::count];
    alignas(32) u8 sites[Own::count];
};

/// Whether none of the stamps needs a closer look.
template <bool shared, class Own>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline bool all_harmless(const Stamp* stamps, Own own,
                                                                     HappenedBefore past) {
    u64 bad = 0;
    for (i64 j = 0; j < Own::count; ++j) {
        const bool fine = is_harmless<shared>(stamps[j], own.stamp(j), past);
        const bool is_bad = own.has(j) & !fine;
        bad |= is_bad ? 1 : 0;
    }
    return bad == 0;
}
/// Likewise; `found` tells which ones don't.
template <bool shared, class Own>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline bool find_harmless(const Stamp* stamps, Own own,
                                                                      HappenedBefore past,
                                                                      Granules<Own>& found) {
    u64 bad = 0;
    for (i64 j = 0; j < Own::count; ++j) {
        const u64 has = own.has(j) ? ~u64{0} : 0;
        const u64 fine = is_harmless<shared>(stamps[j], own.stamp(j), past) ? ~u64{0} : 0;
        found.stamps[j] = fine;
        bad |= has & ~fine;
    }
    for (u32 j = 0; j < Own::count; ++j)
        found.sites[j] = static_cast<u8>(found.stamps[j]);
    return bad == 0;
}

template <class Own>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline void set_stamps(Track::Row to, Own own,
                                                                   Site site) {
    for (i64 j = 0; j < Own::count; ++j)
        to.stamps[j] = own.has(j) ? own.stamp(j) : to.stamps[j];
    for (u8 j = 0; j < Own::count; ++j)
        to.sites[j] = own.has(j) ? site : to.sites[j];
}
/// Sets the stamps of the granules that are among `some`, or of the others.
template <class Own>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline void set_stamps(Track::Row to, Own own,
                                                                   Site site,
                                                                   const Granules<Own>& some,
                                                                   bool among) {
    const u64 wanted = among ? ~u64{0} : 0;
    for (i64 j = 0; j < Own::count; ++j) {
        const bool is_set = own.has(j) & (some.stamps[j] == wanted);
        to.stamps[j] = is_set ? own.stamp(j) : to.stamps[j];
    }
    for (u8 j = 0; j < Own::count; ++j) {
        const bool is_set = own.has(j) & (some.sites[j] == static_cast<u8>(wanted));
        to.sites[j] = is_set ? site : to.sites[j];
    }
}

/// Makes the stamps the first reads where those need no closer look, and the last ones elsewhere.
/// `open_last` gives the last reads, and is called only if they change.
template <bool shared, class Own, class F>
[[gnu::always_inline]] LODE_RACES_BY_DESIGN inline void add_reads(Track::Row first, F&& open_last,
                                                                  Own own,
                                                                  const HappenedBefore& past,
                                                                  Site site) {
    Granules<Own> found;
    if (find_harmless<shared>(first.stamps, own, past, found)) return set_stamps(first, own, site);
    set_stamps(first, own, site, found, true);
    set_stamps(open_last(), own, site, found, false);
}

}  // namespace lode::emulator::exec
