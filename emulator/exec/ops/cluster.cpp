#include "emulator/decode/ops/cluster.hpp"

#include "emulator/exec/ops/bulk.hpp"
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <cstring>

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

namespace {

/// The answer to clusterlaunchcontrol.try_cancel.
struct CancelAnswer {
    u32 first_block[3];
    u32 is_canceled;
};

CancelAnswer answer_of(const WarpContext& c, Slot slot, u32 lane) noexcept {
    CancelAnswer answer;
    std::memcpy(&answer, source<u8>(c, slot) + std::size_t{lane} * sizeof answer, sizeof answer);
    return answer;
}

}  // namespace

const Op* cancel_cluster(WarpContext& c, const Op* op) {
    CopyOrder order(c);
    const u64* const answers = source<u64>(c, op->r[1]);
    const u64* const barriers = source<u64>(c, op->r[2]);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        CancelAnswer answer{};
        if (const auto taken = take_cluster(*c.launch)) {
            const Dim3& size = c.launch->cluster;
            answer = {{taken->x * size.x, taken->y * size.y, taken->z * size.z}, 1};
        }
        const bool to_all = (op->flags & 1) != 0 && c.clustered;
        for (u32 rank = 0; rank < (to_all ? c.block->cluster->count : 1); ++rank) {
            const u64 to = to_all ? in_block(answers[i], rank) : answers[i];
            const u64 barrier = to_all ? in_block(barriers[i], rank) : barriers[i];
            u8* const at = lane_pointer(c, op, i, to, sizeof answer, Window::shared, Access::write);
            if (at == nullptr) return leave();
            std::memcpy(at, &answer, sizeof answer);
            order.add_at(op, i, at, to, sizeof answer, true, false, CopyEnd::mbarrier);
            if (!complete_bytes(c, op, i, barrier, sizeof answer, order)) return leave();
        }
    }
    return op + 1;
}

const Op* is_cluster_canceled(WarpContext& c, const Op* op) {
    u32 canceled = 0;
    for (u32 i = 0; i < lanes; ++i)
        canceled |= u32{answer_of(c, op->r[1], i).is_canceled != 0} << i;
    u32& to = predicate_destination(c, op->r[0]);
    to = merged(to, canceled, c.mask);
    return op + 1;
}

const Op* first_block_of_canceled(WarpContext& c, const Op* op) {
    assign_each(c, destination<u32>(c, op->r[0]), [&](u32 i) {
        return op->flags < 3 ? answer_of(c, op->r[1], i).first_block[op->flags] : 0;
    });
    return op + 1;
}

u8* cluster_pointer(WarpContext& c, const Op* op, u32 lane, u32 address, u32 bytes, Access access) {
    const u32 number = address >> rank_shift;
    const u32 offset = address & own_offset_mask;
    Cluster& cluster = *c.block->cluster;
    const u32 rank = number == 0 ? c.block->rank : number - 1;
    if (rank >= cluster.count) {
        raise(c, op, lane, Fault::launch_failed,
              fmt::format("{} {} of shared memory at {} of block {} of its cluster, which has {}",
                          verb(access), bytes_text(bytes), offset, rank, cluster.count));
        return nullptr;
    }
    if (!shared_fits(c, op, lane, offset, bytes, access)) return nullptr;
    Block& other = *cluster.blocks[rank];
    if (other.live_threads == 0 && c.launch->options->checks.memory) {
        raise(c, op, lane, Fault::launch_failed,
              fmt::format("{} {} of shared memory at {} of block ({},{},{}), which has exited",
                          verb(access), bytes_text(bytes), offset, other.index.x, other.index.y,
                          other.index.z));
        return nullptr;
    }
    // The check for races doesn't look at other blocks' shared memory.
    if (c.init && access != Access::read) std::memset(other.written.data() + offset, 1, bytes);
    return other.shared.data() + offset;
}

}  // namespace lode::emulator::exec
