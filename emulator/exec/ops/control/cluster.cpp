#include "emulator/isa/cluster.hpp"

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

const Op* barrier_misuse(WarpContext& c, const Op* op, u32 wrong, const char* what) {
    return raise(c, op, static_cast<u32>(std::countr_zero(wrong)), Fault::illegal_instruction,
                 what);
}

}  // namespace

const Op* cluster_arrive(WarpContext& c, const Op* op) {
    Warp& warp = *c.warp;
    if (const u32 again = c.mask & warp.owes_cluster_barrier; again != 0)
        return barrier_misuse(c, op, again,
                              "arrives twice at the cluster's barrier without waiting");
    warp.owes_cluster_barrier |= c.mask;
    warp.at_cluster_barrier |= c.mask;
    if (c.race) order_cluster_arrive(c, op);
    Cluster& cluster = *c.block->cluster;
    cluster.arrived += static_cast<u32>(std::popcount(c.mask));
    recheck_cluster_barrier(c, cluster);
    return op + 1;
}

const Op* cluster_wait(WarpContext& c, const Op* op) {
    Warp& warp = *c.warp;
    if (const u32 absent = c.mask & ~warp.owes_cluster_barrier; absent != 0)
        return barrier_misuse(c, op, absent,
                              "waits at the cluster's barrier without having arrived");
    warp.owes_cluster_barrier &= ~c.mask;
    const bool complete = (c.mask & warp.at_cluster_barrier) == 0;
    return complete ? op + 1 : park(c, cluster_barrier, op + 1);
}

const Op* map_shared(WarpContext& c, const Op* op) {
    const u64* address = source<u64>(c, op->r[1]);
    const u32* rank = source<u32>(c, op->r[2]);
    const u32 own = c.block->rank;
    assign_each(c, destination<u64>(c, op->r[0]), [=](u32 i) {
        const u64 tag = address[i] >> window_shift << window_shift;
        const u64 offset = tag | (address[i] & own_offset_mask);
        // A rank that no block has stays one: the access is at fault, not the mapping.
        const u32 number = std::min(rank[i], rank_mask - 1) + 1;
        return rank[i] == own ? offset : offset | u64{number} << rank_shift;
    });
    return op + 1;
}

const Op* rank_of_shared(WarpContext& c, const Op* op) {
    const u64* address = source<u64>(c, op->r[1]);
    const u32 own = c.block->rank;
    assign_each(c, destination<u32>(c, op->r[0]), [=](u32 i) {
        const u32 number = static_cast<u32>(address[i] >> rank_shift) & rank_mask;
        return number == 0 ? own : number - 1;
    });
    return op + 1;
}

Block& owner_of_shared(const WarpContext& c, const u8* at) noexcept {
    const Cluster& cluster = *c.block->cluster;
    for (u32 rank = 0; rank < cluster.count; ++rank) {
        Block& block = *cluster.blocks[rank];
        const u8* const first = block.shared.data();
        if (at >= first && at < first + c.shared_bytes) return block;
    }
    return *c.block;
}

u8* cluster_pointer(WarpContext& c, const Op* op, u32 lane, u32 address, const Noted& noted) {
    const auto [access, bytes] = std::pair(noted.access, noted.bytes);
    const u32 number = address >> rank_shift;
    const u32 offset = address & own_offset_mask;
    Cluster& cluster = *c.block->cluster;
    const u32 rank = number == 0 ? c.block->rank : number - 1;
    if (rank >= cluster.count) {
        raise(c, op, lane, Fault::launch_failed,
              fmt::format("{} {} of shared memory of block {} of its cluster, which has {}\n"
                          "address: offset {} of shared memory",
                          verb(access), bytes_text(bytes), rank, cluster.count, offset));
        return nullptr;
    }
    if (!shared_fits(c, op, lane, offset, bytes, access)) return nullptr;
    Block& other = *cluster.blocks[rank];
    if (other.live_threads == 0 && c.launch->options->checks.memory) {
        raise(c, op, lane, Fault::launch_failed,
              fmt::format("{} {} of shared memory of block ({},{},{}), which has exited\n"
                          "address: offset {} of shared memory",
                          verb(access), bytes_text(bytes), other.index.x, other.index.y,
                          other.index.z, offset));
        return nullptr;
    }
    if (access == Access::prefetch) return other.shared.data() + offset;
    if (c.race && &other != c.block) race_remote(c, op, lane, other, offset, noted);
    if (c.init) init_remote(c, op, lane, other, offset, noted);
    return other.shared.data() + offset;
}

}  // namespace lode::emulator::exec
