#include "emulator/exec/checks/race/order.hpp"

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::exec {

void BlockOrder::open(u64 number, u32 warp_count, u32 shared_bytes, bool in_cluster) {
    // The cells of shared memory survive: older accesses happened before, at times up to `born`.
    const bool keep = !clustered && !in_cluster && time < last_time / 2 &&
                      shared.count << shared.shift >= shared_bytes;
    clustered = in_cluster;
    block = number;
    if (!keep) {
        time = 0;
        shared.reset(shared_bytes, 2);
    }
    born = time;
    ++time;
    spent = false;
    warps.resize(std::max<std::size_t>(warps.size(), warp_count));
    for (WarpOrder& warp : warps) {
        warp.floor = born;
        warp.warp_floor = born;
        warp.relaxed = 0;
        if (is_fine) warp.fine.reset();
        if (!warp.copies.empty()) warp.copies.clear();
        if (warp.products) warp.products.reset();
        if (has_groups) std::fill_n(&warp.groups[0][0], 2 * lanes, 0u);
    }
    has_groups = false;
    is_fine = false;
    proxy_fence = born;
    fenced = false;
    published[0] = published[1] = nullptr;
    if (!releases.empty()) releases.clear();
    if (!mbarriers.empty()) mbarriers.clear();
    each_lane(partial, [this](u32 id) { barriers[id] = nullptr; });
    partial = 0;
    relaxed_arrivals = nullptr;
}

FineOrder& BlockOrder::fine(u32 warp) {
    if (!warps[warp].fine) warps[warp].fine = std::make_unique<FineOrder>();
    is_fine = true;
    return *warps[warp].fine;
}

namespace {

/// A clock of the floors of one lane, its own time and what it knew.
ClockRef clock_of(const BlockOrder& order, u32 warp, u32 lane, u32 floor, u32 warp_floor, u32 time,
                  const ClockRef& known) {
    auto made = std::make_shared<Clock>();
    auto& to = made->entries;
    if (floor != 0) to.push_back({key_of_block(order.block), floor});
    if (warp_floor > floor) to.push_back({key_of_warp(order.block, warp), warp_floor});
    to.push_back({key_of_thread(order.block, warp * lanes + lane, false), time});
    return joined(made, known);
}

/// All that lanes have done and know. The lanes of a whole warp are one entry.
ClockRef view_of(const BlockOrder& order, const Warp& warp, u32 mask) {
    const u32 w = warp.index;
    if (mask != warp.live || warp.live != warp.launched || (mask & (mask - 1)) == 0) {
        ClockRef all;
        each_lane(mask, [&](u32 i) { all = joined(all, order.view(w, i)); });
        return all;
    }
    auto made = std::make_shared<Clock>();
    const u32 floor = order.warps[w].floor;
    if (floor != 0) made->entries.push_back({key_of_block(order.block), floor});
    made->entries.push_back({key_of_warp(order.block, w), order.time});
    ClockRef all = std::move(made);
    if (order.warps[w].fine) {
        const ClockRef* last = nullptr;
        each_lane(mask, [&](u32 i) {
            const ClockRef* const known = order.known(w, i);
            if (known != nullptr && (last == nullptr || *last != *known)) all = joined(all, *known);
            last = known;
        });
    }
    return all;
}

}  // namespace

ClockRef BlockOrder::view(u32 warp, u32 lane) const {
    const WarpOrder& own = warps[warp];
    const ClockRef* const more = known(warp, lane);
    return clock_of(*this, warp, lane, own.floor, own.warp_floor, time,
                    more != nullptr ? *more : ClockRef());
}

bool BlockOrder::ordered(u32 warp, u32 lane, Stamp stamp, u64 its_block) const noexcept {
    if (stamp == 0) return true;
    const u32 when = stamp_time(stamp);
    const u32 thread = stamp_thread(stamp);
    const bool async = (stamp & stamp_async) != 0;
    if (its_block == block) {
        if (when <= born) return true;
        if (!async) {
            if (thread == warp * lanes + lane) return true;
            if (when <= warps[warp].floor) return true;
            if (thread / lanes == warp && when <= warps[warp].warp_floor) return true;
        }
    }
    if (its_block == products_of(block) && when <= born) return true;
    const ClockRef* const more = known(warp, lane);
    if (more == nullptr) return false;
    const Clock& clock = **more;
    if (when <= clock.time_of(key_of_thread(its_block, thread, async))) return true;
    if (async) return false;
    return when <= clock.time_of(key_of_block(its_block)) ||
           when <= clock.time_of(key_of_warp(its_block, thread / lanes));
}

void BlockOrder::learn(u32 warp, u32 lane, const ClockRef& clock) {
    if (clock == nullptr) return;
    ClockRef& known = fine(warp).known[lane];
    known = joined(known, clock);
}

namespace {

/// What the lanes that take part in a barrier know from elsewhere. Like the programming guide's
/// examples, a barrier of the block completes what a relaxed access has read, as a fence would.
template <class F>
void share_knowledge(BlockOrder& order, u32 warp_count, F&& takes_part) {
    if (!order.is_fine) return;
    ClockRef all;
    const auto each = [&](auto&& f) {
        for (u32 w = 0; w < warp_count; ++w) {
            each_lane(takes_part(w), [&](u32 i) { f(w, i); });
        }
    };
    each([&](u32 w, u32 i) {
        const auto& fine = order.warps[w].fine;
        if (!fine) return;
        all = joined(joined(all, fine->known[i]), fine->pending[i]);
        fine->pending[i] = nullptr;
    });
    if (all != nullptr) each([&](u32 w, u32 i) { order.fine(w).known[i] = all; });
}

u32 waiting_lanes(const Warp& warp, u32 id) {
    u32 mask = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& group = warp.groups[k];
        if (group.state == GroupState::at_barrier && group.barrier == id) mask |= group.mask;
    }
    return mask;
}

/// All that the block's threads have made visible by fences of a scope.
ClockRef fenced_view(const BlockOrder& order, const Block& block, u32 scope) {
    auto made = std::make_shared<Clock>();
    std::vector<Clock::Entry> threads;
    ClockRef known;
    made->entries.push_back({key_of_block(order.block), 0});
    for (u32 w = 0; w < block.warp_count; ++w) {
        const auto& fine = order.warps[w].fine;
        if (!fine) continue;
        const u32 all = block.warps[w]->launched;
        u32 fenced = 0;
        u32 earliest = ~u32{0};
        u32 whole = 0;
        const ClockRef* last = nullptr;
        each_lane(all, [&](u32 i) {
            const FenceView& fence = fine->fences[scope][i];
            if (fence.time == 0) return;
            fenced |= 1u << i;
            earliest = std::min(earliest, fence.time);
            whole = std::max(whole, fence.warp_floor);
            u32& floor = made->entries.front().time;
            floor = std::max(floor, fence.floor);
            if (last == nullptr || *last != fence.known) known = joined(known, fence.known);
            last = &fence.known;
        });
        if (fenced == all) whole = std::max(whole, earliest);
        if (whole != 0) made->entries.push_back({key_of_warp(order.block, w), whole});
        each_lane(fenced, [&](u32 i) {
            const u32 time = fine->fences[scope][i].time;
            if (time > whole)
                threads.push_back({key_of_thread(order.block, w * lanes + i, false), time});
        });
    }
    made->entries.insert(made->entries.end(), threads.begin(), threads.end());
    return joined(made, known);
}

void publish_fences(BlockOrder& order, const Block& block) {
    if (!std::exchange(order.fenced, false)) return;
    for (u32 scope = 0; scope < 2; ++scope)
        order.published[scope] = joined(order.published[scope], fenced_view(order, block, scope));
}

}  // namespace

void order_arrive(WarpContext& c, u32 id, bool partial) {
    BlockOrder& order = *c.block->order;
    if (!partial) return;
    order.partial |= 1u << id;
    order.barriers[id] = joined(order.barriers[id], view_of(order, *c.warp, c.mask));
    order.tick();
}

void order_all(Block& block) {
    BlockOrder& order = *block.order;
    share_knowledge(order, block.warp_count, [&](u32 w) { return block.warps[w]->launched; });
    publish_fences(order, block);
    for (u32 w = 0; w < block.warp_count; ++w)
        order.warps[w].floor = order.time;
    order.tick();
}

namespace {

/// The blocks of a cluster, each with its order.
template <class F>
void each_block(const Cluster& cluster, F&& f) {
    for (u32 rank = 0; rank < cluster.count; ++rank)
        f(*cluster.blocks[rank], *cluster.blocks[rank]->order);
}

bool has_relaxed_arrival(const Cluster& cluster) {
    bool found = false;
    each_block(cluster, [&](const Block&, const BlockOrder& order) {
        for (const WarpOrder& warp : order.warps)
            found |= warp.relaxed != 0;
    });
    return found;
}

void order_released(const Cluster& cluster) {
    ClockRef all;
    each_block(cluster, [&](const Block& block, BlockOrder& order) {
        all = joined(all, std::exchange(order.relaxed_arrivals, nullptr));
        for (u32 w = 0; w < block.warp_count; ++w) {
            const Warp& warp = *block.warps[w];
            const u32 released = warp.launched & ~std::exchange(order.warps[w].relaxed, 0);
            if (released != 0) all = joined(all, view_of(order, warp, released));
        }
    });
    each_block(cluster, [&](const Block& block, BlockOrder& order) {
        for (u32 w = 0; w < block.warp_count; ++w)
            each_lane(block.warps[w]->launched, [&](u32 i) { order.learn(w, i, all); });
        order.tick();
    });
}

}  // namespace

void order_cluster(Cluster& cluster) {
    if (has_relaxed_arrival(cluster)) return order_released(cluster);
    if (cluster.count == 1) return order_all(*cluster.blocks[0]);
    auto made = std::make_shared<Clock>();
    ClockRef all;
    for (u32 rank = 0; rank < cluster.count; ++rank) {
        Block& block = *cluster.blocks[rank];
        BlockOrder& order = *block.order;
        made->entries.push_back({key_of_block(order.block), order.time});
        order_all(block);
        for (u32 w = 0; w < block.warp_count; ++w) {
            if (order.warps[w].fine) all = joined(all, order.warps[w].fine->known[0]);
        }
    }
    std::ranges::sort(made->entries, {}, &Clock::Entry::who);
    all = joined(made, all);
    for (u32 rank = 0; rank < cluster.count; ++rank) {
        Block& block = *cluster.blocks[rank];
        for (u32 w = 0; w < block.warp_count; ++w) {
            FineOrder& fine = block.order->fine(w);
            each_lane(block.warps[w]->launched, [&](u32 i) { fine.known[i] = all; });
        }
    }
}

void order_barrier(WarpContext&, Block& block, u32 id) {
    BlockOrder& order = *block.order;
    if (((order.partial >> id) & 1) == 0) return order_all(block);
    ClockRef all = order.barriers[id];
    order.partial &= ~(1u << id);
    order.barriers[id] = nullptr;
    // Lanes that arrived before it was known that not all threads take part.
    for (u32 w = 0; w < block.warp_count; ++w) {
        const u32 mask = waiting_lanes(*block.warps[w], id);
        if (mask != 0) all = joined(all, view_of(order, *block.warps[w], mask));
    }
    for (u32 w = 0; w < block.warp_count; ++w) {
        each_lane(waiting_lanes(*block.warps[w], id), [&](u32 i) { order.learn(w, i, all); });
    }
    order.tick();
    share_knowledge(order, block.warp_count,
                    [&](u32 w) { return waiting_lanes(*block.warps[w], id); });
}

void order_warp(const Warp& warp, u32 passing, const u32* members) {
    BlockOrder& order = *warp.block->order;
    const u32 w = warp.index;
    WarpOrder& own = order.warps[w];
    for (u32 left = passing; left != 0;) {
        const u32 mask = members[std::countr_zero(left)] & passing;
        left &= ~mask;
        if (mask == warp.live) {
            own.warp_floor = order.time;
        } else {
            const ClockRef all = view_of(order, warp, mask);
            each_lane(mask, [&](u32 i) { order.learn(w, i, all); });
        }
        if (own.fine) {
            ClockRef all;
            each_lane(mask, [&](u32 i) { all = joined(all, own.fine->known[i]); });
            if (all != nullptr) each_lane(mask, [&](u32 i) { own.fine->known[i] = all; });
        }
    }
    order.tick();
}

void order_fence(WarpContext& c, const Op* op) {
    if (op->order.proxy) {
        c.block->order->proxy_fence = c.block->order->time;
        c.block->order->tick();
        return;
    }
    if (!op->order.is_strong()) return;
    BlockOrder& order = *c.block->order;
    const u32 w = c.warp->index;
    FineOrder& fine = order.fine(w);
    const WarpOrder& own = order.warps[w];
    order.fenced = true;
    each_lane(c.mask, [&](u32 i) {
        if (fine.pending[i] != nullptr) {
            fine.known[i] = joined(fine.known[i], fine.pending[i]);
            fine.pending[i] = nullptr;
        }
        const FenceView view{order.time, own.floor, own.warp_floor, fine.known[i]};
        fine.fences[0][i] = view;
        if (op->order.gpu) fine.fences[1][i] = view;
    });
    order.tick();
}

namespace {

LaunchOrder::Stripe& stripe_of(WarpContext& c, u64 address) {
    return c.launch->accesses->releases[(address / 4 * 0x9e3779b97f4a7c15u) >> 58];
}

/// What a lane has made visible by a fence; nullptr if it has passed none.
FenceView* fence_of(WarpContext& c, u32 lane, u32 scope) {
    const auto& fine = c.block->order->warps[c.warp->index].fine;
    if (!fine || fine->fences[scope][lane].time == 0) return nullptr;
    return &fine->fences[scope][lane];
}

ClockRef released(WarpContext& c, const Op* op, u32 lane, u32 scope) {
    const BlockOrder& order = *c.block->order;
    const u32 w = c.warp->index;
    if (op->order.release) return order.view(w, lane);
    const ClockRef& published = order.published[scope];
    FenceView* const fence = fence_of(c, lane, scope);
    if (fence == nullptr) return published;
    if (fence->released == nullptr || fence->published != published) {
        fence->released = joined(
            clock_of(order, w, lane, fence->floor, fence->warp_floor, fence->time, fence->known),
            published);
        fence->published = published;
        fence->slot = nullptr;
    }
    return fence->released;
}

/// Adds what a lane releases to a slot.
void release_to(WarpContext& c, const Op* op, u32 lane, u32 scope, const ClockRef& clock,
                ClockRef& slot) {
    FenceView* const fence = op->order.release ? nullptr : fence_of(c, lane, scope);
    if (fence != nullptr && slot != nullptr && fence->slot == slot) return;
    slot = joined(slot, clock);
    if (fence != nullptr) fence->slot = slot;
}

}  // namespace

void order_cluster_arrive(WarpContext& c, const Op* op) {
    if (op->order.release) return;
    BlockOrder& order = *c.block->order;
    order.warps[c.warp->index].relaxed |= c.mask;
    constexpr u32 device = 1;
    each_lane(c.mask, [&](u32 i) {
        order.relaxed_arrivals = joined(order.relaxed_arrivals, released(c, op, i, device));
    });
}

bool releases_nothing(const WarpContext& c, const Op* op) noexcept {
    const BlockOrder& order = *c.block->order;
    return !op->order.release && !order.warps[c.warp->index].fine &&
           order.published[0] == nullptr && order.published[1] == nullptr;
}

bool acquires_nothing(const WarpContext& c) noexcept {
    return c.block->order->releases.empty() && !c.launch->accesses->any_release.load();
}

void order_before(WarpContext& c, const Op* op, u32 lane, u64 address, bool shared, bool writes) {
    if (!writes || !op->order.is_strong()) return;
    BlockOrder& order = *c.block->order;
    const bool device = !shared && op->order.gpu;
    if (const ClockRef clock = released(c, op, lane, 0))
        release_to(c, op, lane, 0, clock, order.releases[address]);
    if (device) {
        if (const ClockRef clock = released(c, op, lane, 1)) {
            LaunchOrder::Stripe& stripe = stripe_of(c, address);
            const std::lock_guard lock(stripe.mutex);
            release_to(c, op, lane, 1, clock, stripe.releases[address]);
            c.launch->accesses->any_release.store(true);
        }
    }
    if (op->order.release) order.tick();
}

void order_after(WarpContext& c, const Op* op, u32 lane, u64 address, bool shared, bool reads) {
    if (!reads || !op->order.is_strong()) return;
    BlockOrder& order = *c.block->order;
    const auto acquire = [&](const ClockRef& clock, u32 source) {
        FineOrder& fine = order.fine(c.warp->index);
        const bool acquires = op->order.acquire;
        AcquiredClock& last = fine.acquired[acquires ? 1 : 0][source][lane];
        if (last.clock == clock) return;
        ClockRef& to = acquires ? fine.known[lane] : fine.pending[lane];
        // The clock of an address only grows.
        const bool has_grown = to != nullptr && to == last.clock && last.address == address;
        to = has_grown ? clock : joined(to, clock);
        last = {clock, address};
    };
    if (!shared && op->order.gpu && c.launch->accesses->any_release.load()) {
        LaunchOrder::Stripe& stripe = stripe_of(c, address);
        const std::lock_guard lock(stripe.mutex);
        if (const auto found = stripe.releases.find(address); found != stripe.releases.end())
            acquire(found->second, 1);
    }
    // The device's clock, if there is one, mostly covers the block's.
    if (order.releases.empty()) return;
    if (const auto found = order.releases.find(address); found != order.releases.end())
        acquire(found->second, 0);
}

void order_phase(WarpContext& c, BlockOrder& owner, u32 lane, u64 address,
                 const PhaseEvent& event) {
    BlockOrder& order = *c.block->order;
    const u32 w = c.warp->index;
    PhaseOrder& phase = owner.mbarriers[address];
    if (event.arrives) phase.arrivals = joined(phase.arrivals, order.view(w, lane));
    if (event.copied) {
        auto copy = std::make_shared<Clock>();
        copy->entries.push_back({key_of_thread(order.block, w * lanes + lane, true), order.time});
        phase.arrivals = joined(phase.arrivals, copy);
    }
    if (event.arrives || event.copied) order.tick();
    if (event.completes) {
        phase.complete = joined(phase.complete, phase.arrivals);
        phase.arrivals = nullptr;
    }
    if (event.waited) order.learn(w, lane, phase.complete);
}

}  // namespace lode::emulator::exec
