// One access as the race check sees it, and the report of a race. Private to emulator/exec.
#pragma once

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"

namespace lode::emulator::exec {

/// The stamps that happened before what any lane of the warp does now: those below `oldest`, and
/// those in [lo, end). Signed, because processors compare vectors that way; stamps are positive.
struct HappenedBefore {
    i64 oldest;
    i64 lo;
    i64 end;

    /// Whether a row has only accesses below `oldest`.
    [[nodiscard]] bool has(u64 word) const {
        return Track::is_older(word, static_cast<Stamp>(oldest));
    }
};

/// One op's accesses by the lanes of a warp.
struct RaceAccess {
    WarpContext& c;
    const Op* op;
    const Noted& noted;
    BlockOrder& order;
    BlockOrder& home;  ///< The block whose shared memory is accessed.
    const u8* memory;  ///< That shared memory.
    bool shared;
    Site site;
    u64 strength;
    u64 own;  ///< The stamp of the warp's first thread.
    HappenedBefore past;

    [[nodiscard]] bool writes() const { return noted.access != Access::read; }
    /// Whether nothing but the floor of the block orders lanes.
    [[nodiscard]] bool only_floor() const {
        const WarpOrder& warp = order.warps[c.warp->index];
        return !order.is_fine && warp.warp_floor <= warp.floor;
    }
};

/// The number of the block that made an access.
inline u64 block_of(const RaceAccess& a, Stamp before) {
    const u64 in_stamp = stamp_block(before);
    if (!a.shared) return in_stamp;
    if (in_stamp == stamp_products) return products_of(a.home.block);
    return in_stamp == 0 ? a.home.block : a.home.cluster[in_stamp - 1];
}

/// An access that another may race with.
struct EarlierAccess {
    Stamp stamp = 0;
    Site site = 0;
    bool wrote = false;
};

/// Whether an access needs no closer look: there was none, or it is the thread's own of the same
/// strength, or ordered for every lane.
template <bool shared = false>
[[gnu::always_inline]] inline bool is_harmless(Stamp s, Stamp own, const HappenedBefore& past) {
    const auto when = static_cast<i64>(s);
    const bool mine = ((s ^ own) & stamp_same_bits) == 0;
    if constexpr (shared) return (when < past.end) | mine;
    return (when < past.oldest) | ((when >= past.lo) & (when < past.end)) | mine;
}

/// How far the threads of two accesses are from each other: in one warp, in one block, or not.
inline u32 distance(Stamp x, Stamp y) {
    if (stamp_block(x) != stamp_block(y)) return 2;
    return stamp_thread(x) / lanes != stamp_thread(y) / lanes ? 1 : 0;
}

/// Whether the race check has nothing to do for an access to global memory.
inline bool reads_unwritten(const WarpContext& c, const Op* op) noexcept {
    return c.launch->accesses->unwritten[op->cache].load(std::memory_order_relaxed);
}

/// For is_harmless(): no thread's own.
inline constexpr Stamp nobody = ~Stamp{0};

/// The cells of an access that lies in one page.
struct Place {
    Cells* cells = nullptr;
    u32 index = 0;
};

inline Place place_of_cells(const RaceAccess& a, u64 address, u32 bytes) {
    if (!a.shared) {
        Cells* const cells = a.c.launch->accesses->cells.find(address, bytes < 4);
        if (cells == nullptr) return {};
        return {cells, static_cast<u32>(address % GlobalCells::page_bytes) >> cells->shift};
    }
    Cells& cells = a.home.shared;
    if (bytes < 4 && cells.shift != 0) cells.refine();
    return {&cells, static_cast<u32>(address) >> cells.shift};
}

/// How strong an access is: 0, stamp_cta or stamp_gpu.
[[nodiscard]] u64 strength_of(const Op* op, Access access);

[[nodiscard]] RaceAccess race_access(WarpContext& c, const Op* op, bool shared, const Noted& noted);

/// Looks closely at one lane's access and records it.
void check_lane(const RaceAccess& a, u32 lane, const u64* addresses);

/// Records accesses by single lanes of the mask to global memory, with a closer look where one is
/// needed.
void race_global_lanes(const RaceAccess& a, const u64* addresses, u32 mask);
/// Likewise to the block's own shared memory, by the active lanes.
void race_shared_lanes(const RaceAccess& a, const u64* addresses);

/// Records an access by all lanes to consecutive granules of 4 bytes, from granule k on, if no
/// earlier write needs a closer look and, before a write, no earlier read. Otherwise false, and
/// nothing is recorded.
template <bool shared>
bool race_word_run(const RaceAccess& a, const CellArrays& arrays, u64 k);

/// Reports a race at an address, which is an offset in shared memory.
void report_race(const RaceAccess& a, u32 lane, u64 address, const EarlierAccess& earlier,
                 bool benign);

}  // namespace lode::emulator::exec
