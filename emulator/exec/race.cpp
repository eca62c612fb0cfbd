// The race check of shared memory: who touched each 4-byte word since the last barrier.
#include <algorithm>

#include <emulator/exec/module_parts.hpp>
#include <emulator/exec/ops/memory.hpp>
#include <emulator/exec/scheduler.hpp>
#include <fmt/format.h>

namespace lode::emulator {

namespace {

constexpr u16 nobody = 0xffff;
constexpr u16 several = 0xfffe;

/// Touched by `thread` in the block's interval `epoch`, the warp's interval `sync`.
struct Touch {
    u32 epoch = 0;
    u32 sync = 0;
    u16 thread = nobody;
    bool atomic = false;
};

}  // namespace

struct RaceCell {
    Touch write, read;
};

struct RaceShadow {
    std::unordered_map<const Block*, std::vector<RaceCell>> cells;
    std::vector<const Op*> reported;
};

namespace {

u16 thread_number(const Context& c, u32 lane) {
    return static_cast<u16>(c.warp->index * lanes + lane);
}

/// Whether an earlier touch and one of `thread` now have nothing between them that orders them.
bool unordered(const Context& c, const Touch& before, u16 thread, Access access) {
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

void report(Context& c, RaceShadow& shadow, const Op* op, u32 address, u16 thread, bool writes,
            const Touch& before, bool written) {
    Launch& launch = *c.launch;
    launch.findings.fetch_add(1);
    if (std::ranges::find(shadow.reported, op) != shadow.reported.end()) return;
    shadow.reported.push_back(op);
    if (!launch.options->finding) return;
    const Dim3 now = thread_place(*c.block, thread);
    const ptx::Instruction& at = c.frame->code->instruction(op);
    const std::string source = source_place(*launch.module, *c.frame->code, at);
    std::string other = "several threads have";
    if (before.thread != several) {
        const Dim3 then = thread_place(*c.block, before.thread);
        other = fmt::format("thread ({},{},{}) has", then.x, then.y, then.z);
    }
    const std::string text = fmt::format(
        "Kernel {} races on shared memory at {}: thread ({},{},{}) of block ({},{},{}) {} what {} "
        "{} since the last barrier{}{}, PTX line {}.",
        launch.kernel->info.name, address, now.x, now.y, now.z, c.block->index.x, c.block->index.y,
        c.block->index.z, writes ? "writes" : "reads", other, written ? "written" : "read",
        source.empty() ? "" : ", ", source, at.line);
    const std::lock_guard lock(launch.mutex);
    launch.options->finding(text);
}

}  // namespace

void enter_race(Worker& worker, Block& block) {
    if (!worker.race) worker.race = std::make_shared<RaceShadow>();
    auto& cells = worker.race->cells[&block];
    if (block.race_started) return;
    cells.assign((worker.context.shared_bytes + 3) / 4, {});
    worker.race->reported.clear();
    block.race_started = true;
}

void note_shared(Context& c, const Op* op, const u32* addresses, u32 bytes, Access access) {
    RaceShadow& shadow = *c.worker->race;
    std::vector<RaceCell>& cells = shadow.cells[c.block];
    const bool writes = access != Access::read;
    const bool reads = access != Access::write;
    const auto each_cell = [&](u32 lane, auto&& f) {
        const u32 last = (addresses[lane] + bytes - 1) / 4;
        for (u32 k = addresses[lane] / 4; k <= last && k < cells.size(); ++k)
            f(cells[k]);
    };
    // First every lane against what was before, then the marks: lanes of one op don't race.
    each_lane(c.mask, [&](u32 lane) {
        const u16 thread = thread_number(c, lane);
        each_cell(lane, [&](const RaceCell& cell) {
            if (unordered(c, cell.write, thread, access)) {
                report(c, shadow, op, addresses[lane], thread, writes, cell.write, true);
            } else if (writes && unordered(c, cell.read, thread, access)) {
                report(c, shadow, op, addresses[lane], thread, writes, cell.read, false);
            }
        });
    });
    each_lane(c.mask, [&](u32 lane) {
        const u16 thread = thread_number(c, lane);
        const bool atomic = access == Access::atomic;
        each_cell(lane, [&](RaceCell& cell) {
            if (writes) cell.write = {c.race_epoch, c.warp->syncs, thread, atomic};
            if (!reads) return;
            Touch& read = cell.read;
            const bool fresh = read.epoch != c.race_epoch || read.thread == nobody;
            const bool same_warp =
                !fresh && read.thread != several && read.thread / lanes == thread / lanes;
            // A reader of another warp stays known, because only a barrier orders it.
            if (fresh || same_warp) {
                read = {c.race_epoch, c.warp->syncs, thread, atomic};
            } else {
                read.thread = several;
                read.atomic = read.atomic && atomic;
            }
        });
    });
}

}  // namespace lode::emulator
