// Optional checks of shared memory: races (the last accesses to each 4-byte word since the last
// barrier) and reads of bytes that the block hasn't written.
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

constexpr u16 nobody = 0xffff;
constexpr u16 several = 0xfffe;

/// An access by `thread`, in barrier interval `epoch` of the block and interval `sync` of the warp.
struct Touch {
    u32 epoch = 0;
    u32 sync = 0;
    u16 thread = nobody;
    bool atomic = false;
};

}  // namespace

struct RaceCell {
    Touch write, read;
    u8 written = 0;  ///< One bit per byte.
};

struct RaceShadow {
    std::unordered_map<const Block*, std::vector<RaceCell>> cells;
};

namespace {

u16 thread_number(const WarpContext& c, u32 lane) {
    return static_cast<u16>(c.warp->index * lanes + lane);
}

/// Whether nothing orders an earlier access and one by `thread` now.
bool unordered(const WarpContext& c, const Touch& before, u16 thread, Access access) {
    if (before.thread == nobody || before.thread == thread) return false;
    if (before.epoch != c.race_epoch) return false;
    if (before.atomic && access == Access::atomic) return false;
    const bool same_warp = before.thread != several && before.thread / lanes == thread / lanes;
    return !same_warp || before.sync == c.warp->syncs;
}

Dim3 thread_place(const Block& block, u16 thread) {
    const Dim3 shape = block.threads;
    return {thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y};
}

std::string race_text(const Block& block, bool writes, const Touch& before, bool written) {
    std::string other = "several threads have";
    if (before.thread != several) {
        const Dim3 then = thread_place(block, before.thread);
        other = fmt::format("thread ({},{},{}) has", then.x, then.y, then.z);
    }
    return fmt::format("has a race: it {} what {} {} since the last barrier,",
                       writes ? "writes" : "reads", other, written ? "written" : "read");
}

}  // namespace

void enter_race(Worker& worker, Block& block) {
    if (!worker.race) worker.race = std::make_shared<RaceShadow>();
    auto& cells = worker.race->cells[&block];
    if (block.race_started) return;
    cells.assign((worker.context.shared_bytes + 3) / 4, {});
    block.race_started = true;
}

// Other blocks' accesses count as writes for the check of unwritten bytes; races between blocks
// aren't looked for.
void note_cluster(WarpContext& c, const Op*, u32, const Block& other, u32 offset, u32 bytes,
                  Access access) {
    if (access == Access::read || !other.race_started) return;
    std::vector<RaceCell>& cells = c.worker->race->cells[&other];
    for (u32 at = offset; at < offset + bytes && at / 4 < cells.size(); ++at)
        cells[at / 4].written |= static_cast<u8>(1u << at % 4);
}

void note_shared(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access) {
    std::vector<RaceCell>& cells = c.worker->race->cells[c.block];
    const Checks& checks = c.launch->options->checks;
    const bool writes = access != Access::read;
    const bool reads = access != Access::write;
    /// Calls f(cell, mask of the accessed bytes).
    const auto each_cell = [&](u32 lane, auto&& f) {
        const u32 first = addresses[lane];
        const u32 last = first + bytes - 1;
        for (u32 k = first / 4; k <= last / 4 && k < cells.size(); ++k) {
            const u32 from = k == first / 4 ? first % 4 : 0;
            const u32 to = k == last / 4 ? last % 4 : 3;
            f(cells[k], static_cast<u8>(((2u << to) - 1) & ~((1u << from) - 1)));
        }
    };
    // Checks all lanes against earlier accesses before recording any: lanes of one op don't race.
    each_lane(c.mask, [&](u32 lane) {
        const u16 thread = thread_number(c, lane);
        each_cell(lane, [&](const RaceCell& cell, u8 touched) {
            const auto tell = [&](Finding kind, const std::string& what) {
                tell_finding(
                    c, op, lane, kind,
                    fmt::format("{} at offset {} of shared memory", what, addresses[lane]));
            };
            if (checks.init && reads && (cell.written & touched) != touched) {
                tell(Finding::unwritten_shared,
                     fmt::format("reads {} that the block hasn't written", bytes_text(bytes)));
            }
            if (!checks.race) return;
            if (unordered(c, cell.write, thread, access)) {
                tell(Finding::race, race_text(*c.block, writes, cell.write, true));
            } else if (writes && unordered(c, cell.read, thread, access)) {
                tell(Finding::race, race_text(*c.block, writes, cell.read, false));
            }
        });
    });
    each_lane(c.mask, [&](u32 lane) {
        const u16 thread = thread_number(c, lane);
        const bool atomic = access == Access::atomic;
        each_cell(lane, [&](RaceCell& cell, u8 touched) {
            if (writes) {
                cell.write = {c.race_epoch, c.warp->syncs, thread, atomic};
                cell.written |= touched;
            }
            if (!reads) return;
            Touch& read = cell.read;
            const bool fresh = read.epoch != c.race_epoch || read.thread == nobody;
            const bool same_warp =
                !fresh && read.thread != several && read.thread / lanes == thread / lanes;
            // Readers of other warps are kept, because only a barrier orders them.
            if (fresh || same_warp) {
                read = {c.race_epoch, c.warp->syncs, thread, atomic};
            } else {
                read.thread = several;
                read.atomic = read.atomic && atomic;
            }
        });
    });
}

}  // namespace lode::emulator::exec
