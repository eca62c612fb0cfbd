// One access as the race check sees it, and the report of a race. Private to emulator/exec.
#pragma once

#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/order.hpp"
#include "emulator/exec/scheduler.hpp"

namespace lode::emulator::exec {

/// The stamps that happened before what any lane of the warp does now: those below `oldest`, and
/// those in [lo, end). Signed, because processors compare vectors that way; stamps are positive.
struct Past {
    i64 oldest;
    i64 lo;
    i64 end;
};

/// One op's accesses by the lanes of a warp.
struct RaceAccess {
    WarpContext& c;
    const Op* op;
    const Noted& noted;
    BlockOrder& order;
    BlockOrder& home;  ///< Of the block whose shared memory is accessed.
    const u8* memory;  ///< That shared memory.
    bool shared;
    Site site;
    u64 strength;
    u64 own;  ///< The stamp of the warp's first thread.
    Past past;

    [[nodiscard]] bool writes() const { return noted.access != Access::read; }
};

/// The number of the block that made an access.
inline u64 block_of(const RaceAccess& a, Stamp before) {
    const u64 in_stamp = stamp_block(before);
    if (!a.shared) return in_stamp;
    return in_stamp == 0 ? a.home.block : a.home.cluster[in_stamp - 1];
}

/// An access that another may race with.
struct Earlier {
    Stamp stamp = 0;
    Site site = 0;
    bool wrote = false;
};

/// Reports a race at an address, which is an offset in shared memory.
void tell_race(const RaceAccess& a, u32 lane, u64 address, const Earlier& earlier, bool benign);

}  // namespace lode::emulator::exec
