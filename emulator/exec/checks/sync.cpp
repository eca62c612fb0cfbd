#include "emulator/exec/checks/sync.hpp"

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/warp.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

constexpr std::string_view divergence_cure =
    "cure: move the barrier out of the branch, so that all threads of the block reach it";

u32 first_lane(u32 mask) {
    return static_cast<u32>(std::countr_zero(mask));
}

void report_sync(WarpContext& c, const Op* op, u32 lane, Finding kind, const std::string& what) {
    if (is_new_finding(c, op, kind)) report_finding(c, op, lane, kind, what);
}

std::string_view lane_state(const Warp& warp, u32 lane) {
    if (((warp.launched >> lane) & 1) == 0) return "doesn't exist in a shuffle";
    if (((warp.live >> lane) & 1) == 0) return "has exited in a shuffle";
    return "doesn't take part in a shuffle";
}

void report_absent(WarpContext& c, u32 lane, const AbsentValue& value, std::string_view use) {
    report_sync(c, value.shuffle, lane, Finding::absent_lane,
                fmt::format("reads the value of a lane that {}\nlanes: lane {} reads that of lane "
                            "{}, with the member mask 0x{:08x}{}",
                            value.state, lane, value.from, value.members, use));
}

}  // namespace

void check_members(WarpContext& c, const Op* op, const u32* members) {
    each_lane(c.mask, [&](u32 i) {
        u32 other = 0;
        each_lane(members[i] & c.mask, [&](u32 k) { other |= u32{members[k] != members[i]} << k; });
        if (other == 0) return;
        const u32 k = first_lane(other);
        report_sync(c, op, i, Finding::member_masks,
                    fmt::format("executes a warp operation with member masks that differ\nmasks: "
                                "0x{:08x} of lane {}, 0x{:08x} of lane {}",
                                members[i], i, members[k], k));
    });
}

void check_sources(WarpContext& c, const Op* op, const u32* from, const u32* members,
                   bool whole_result) {
    each_lane(c.mask, [&](u32 i) {
        const u32 k = from[i];
        if (((c.mask & members[i]) >> k & 1) != 0) return;
        const bool named = (members[i] >> k & 1) != 0;
        if (!named && !whole_result) return;
        const AbsentValue value{
            op, named ? lane_state(*c.warp, k) : "isn't in the shuffle's member mask", k,
            members[i]};
        if (op->r[5] == no_slot) return report_absent(c, i, value, {});
        if (!c.warp->absent) c.warp->absent = std::make_unique<AbsentValues>();
        c.warp->absent->rows[c.area[0] + op->r[5]][i] = value;
    });
}

const Op* note_shuffled_registers(WarpContext& c, const Op* op) {
    if (!c.sync || !c.warp->absent) return op + 1;
    const auto& registers = *static_cast<const ShuffledRegisters*>(op->table);
    auto& rows = c.warp->absent->rows;
    const bool selects = registers.condition != no_slot;
    const u32 condition = selects ? predicate(c, registers.condition) : 0;
    std::array<AbsentValue, lanes> read;
    for (std::size_t k = 0; k < registers.reads.size(); ++k) {
        if (registers.reads[k] == no_slot) continue;
        const auto row = rows.find(c.area[0] + registers.reads[k]);
        if (row == rows.end()) continue;
        each_lane(selects ? c.mask & (k == 0 ? condition : ~condition) : c.mask, [&](u32 i) {
            if (row->second[i].shuffle != nullptr) read[i] = row->second[i];
        });
    }
    if (!registers.computes) {
        each_lane(c.mask, [&](u32 i) {
            if (read[i].shuffle == nullptr) return;
            const std::string use = place_of(*c.launch, *c.warp, i, op, c.frame);
            report_absent(c, i, std::exchange(read[i], {}), "\nuse: " + use);
        });
    }
    const bool finds =
        std::ranges::any_of(read, [](const AbsentValue& each) { return each.shuffle != nullptr; });
    for (const Slot slot : registers.writes) {
        const u8* const place = c.area[0] + slot;
        if (!finds && !rows.contains(place)) continue;
        auto& row = rows[place];
        each_lane(c.mask, [&](u32 i) { row[i] = read[i]; });
    }
    return op + 1;
}

void check_barrier_ids(WarpContext& c, const Op* op) {
    report_sync(c, op, first_lane(c.mask), Finding::divergent_barrier,
                "executes one barrier instruction with several barriers in a warp");
}

void check_barrier(WarpContext& c, const Op* op, u32 id, u32 threads, u32 expected, u32 earlier) {
    const Warp& warp = *c.warp;
    const u32 lane = first_lane(c.mask);
    const Barrier& barrier = c.block->barriers[id];
    const u32 room = c.block->warp_count * lanes;
    const auto whole = [room](u32 count) { return count == 0 ? room : count; };
    if (expected > room) {
        report_sync(c, op, lane, Finding::barrier_count,
                    fmt::format("waits at barrier {} for {} threads, but its block has {}", id,
                                expected, c.launch->shape.block.count()));
    } else if (barrier.arrived != 0 && whole(barrier.expected) != whole(expected)) {
        const auto text = [](u32 count) {
            return count == 0 ? std::string("all threads") : fmt::format("{} threads", count);
        };
        report_sync(c, op, lane, Finding::barrier_count,
                    fmt::format("arrives at barrier {} for {}, but others have arrived for {}", id,
                                text(expected), text(barrier.expected)));
    } else if (expected != 0 && barrier.arrived + threads > expected) {
        report_sync(c, op, lane, Finding::barrier_count,
                    fmt::format("arrives at barrier {} more often than its count\ncount: it is "
                                "thread {} of {}",
                                id, barrier.arrived + threads, expected));
    }
    if (!op->flags.as<BarrierFlags>().aligned) return;
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& group = warp.groups[k];
        if (group.state != GroupState::at_barrier || group.pc == op + 1) continue;
        const Op* const other = group.pc - 1;
        if (!other->flags.as<BarrierFlags>().aligned || (group.mask & ~earlier) == 0) continue;
        report_sync(
            c, op, lane, Finding::divergent_barrier,
            fmt::format(
                "waits at a barrier in divergent code\nlanes: 0x{:08x} of the warp are here, "
                "0x{:08x} wait at another barrier\nother: {}\n{}",
                c.mask, group.mask,
                place_of(*c.launch, warp, first_lane(group.mask), other, group.frame),
                divergence_cure));
    }
}

namespace {

/// A group of a warp that waits at an aligned barrier.
struct WaitingGroup {
    Warp* warp = nullptr;
    const ConvergenceGroup* group = nullptr;

    [[nodiscard]] const Op* op() const { return group->pc - 1; }
    [[nodiscard]] u32 lane() const { return first_lane(group->mask); }
};

void report_divergence(const WarpContext& c, const WaitingGroup& at, const std::string& facts) {
    WarpContext there;
    there.launch = c.launch;
    there.warp = at.warp;
    there.frame = at.group->frame;
    report_sync(
        there, at.op(), at.lane(), Finding::divergent_barrier,
        fmt::format("waits at a barrier in divergent code\n{}\n{}", facts, divergence_cure));
}

bool is_aligned(const ConvergenceGroup& group) {
    return (group.pc - 1)->flags.as<BarrierFlags>().aligned;
}

}  // namespace

void check_meeting(WarpContext& c, const Block& block) {
    WaitingGroup first;
    for (u32 w = 0; w < block.warp_count; ++w) {
        Warp& warp = *block.warps[w];
        for (u32 k = 0; k < warp.count; ++k) {
            const WaitingGroup here{&warp, &warp.groups[k]};
            if (here.group->state != GroupState::at_barrier || here.group->barrier != 0) continue;
            if (!is_aligned(*here.group)) continue;
            if (first.group == nullptr) first = here;
            // The lanes of one warp have been compared when they arrived.
            if (here.op() == first.op() || here.warp == first.warp) continue;
            return report_divergence(
                c, here,
                fmt::format("warps: warp {} is here, warp {} waits at another barrier\nother: {}",
                            w, first.warp->index,
                            place_of(*c.launch, *first.warp, first.lane(), first.op(),
                                     first.group->frame)));
        }
    }
}

void check_exit(WarpContext& c, u64 instructions) {
    // Threads that leave early, by a branch to the end, are no error.
    if (c.worker->shuffled || instructions < 2) return;
    const Warp& warp = *c.warp;
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& group = warp.groups[k];
        if (group.state != GroupState::at_barrier || !is_aligned(group)) continue;
        report_divergence(
            c, {c.warp, &group},
            fmt::format("lanes: 0x{:08x} of the warp are here, others run on and exit",
                        group.mask));
    }
}

void check_mbarrier(WarpContext& c, const Op* op, u32 lane, u64 offset, MbarrierUse use, u32 count,
                    u32 pending) {
    auto& known = c.block->sync->mbarriers;
    const auto at = known.find(offset);
    const bool lives = at != known.end();
    const std::string place = shared_place(*c.launch, static_cast<u32>(offset));
    const auto tell = [&](const std::string& what) {
        report_sync(c, op, lane, Finding::mbarrier, what + "\nmbarrier: " + place);
    };
    if (use == MbarrierUse::init) {
        if (lives) tell("initialises an mbarrier that is in use");
        const bool has_second_layout = op->flags.as<bool>();
        const u32 most = has_second_layout ? (1u << 9) - 1 : (1u << 20) - 1;
        if (count == 0 || count > most)
            tell(fmt::format("initialises an mbarrier with the count {}, which isn't from 1 to {}",
                             count, most));
        known[offset] = count;
        return;
    }
    if (!lives) {
        tell("uses an mbarrier that hasn't been initialised");
        return;
    }
    if (use == MbarrierUse::invalidate) known.erase(at);
    if (use == MbarrierUse::arrive && count > pending) {
        tell(
            fmt::format("arrives at an mbarrier more often than it expects\ncount: it arrives {} "
                        "times, {} more are expected",
                        count, pending));
    }
}

}  // namespace lode::emulator::exec
