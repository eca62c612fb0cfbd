// clusterlaunchcontrol: a block takes over a cluster of its launch that hasn't started.
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/ops/memory/bulk.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/cluster.hpp"

#include <array>
#include <cstring>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// What try_cancel writes: the first block of the cluster that won't run, and whether there is one.
struct Response {
    std::array<u32, 3> block{};
    u32 is_success = 0;
};
static_assert(sizeof(Response) == 16);

/// Takes a cluster from those that no worker has opened.
Response cancel(Launch& launch) {
    Response made;
    // Comparing first keeps the counter from growing with every request.
    if (launch.next_cluster.load() >= launch.clusters) return made;
    const u64 taken = launch.next_cluster.fetch_add(1);
    if (taken >= launch.clusters) return made;
    const Dim3 index = launch.cluster_at(taken);
    made.block = {index.x * launch.cluster.x, index.y * launch.cluster.y,
                  index.z * launch.cluster.z};
    made.is_success = 1;
    return made;
}

bool respond(WarpContext& c, const Op* op, u32 lane, u64 to, u64 barrier, const Response& response,
             CopyOrder& order) {
    u8* const at = bulk_range(c, op, lane, to, sizeof response, true, Access::write);
    if (at == nullptr) return false;
    std::memcpy(at, &response, sizeof response);
    order.add_at(op, lane, at, to, sizeof response, true, false, CopyEnd::mbarrier);
    return complete_bytes(c, op, lane, barrier, sizeof response, order);
}

}  // namespace

const Op* try_cancel(WarpContext& c, const Op* op) {
    CopyOrder order(c);
    const u64* responses = source<u64>(c, op->r[1]);
    const u64* barriers = source<u64>(c, op->r[2]);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        u64 to = responses[i];
        u64 barrier = barriers[i];
        if (op->flags.as<CancelFlags>().generic) {
            constexpr u64 tag = window_tag(Window::shared);
            if (to >> window_shift != tag >> window_shift ||
                barrier >> window_shift != tag >> window_shift) {
                return raise(c, op, i, Fault::illegal_address,
                             fmt::format("wants a response and an mbarrier outside of shared "
                                         "memory\naddress: 0x{:x} and 0x{:x}",
                                         to, barrier));
            }
            to -= tag;
            barrier -= tag;
        }
        const Response response = cancel(*c.launch);
        if (!op->flags.as<CancelFlags>().multicast) {
            if (!respond(c, op, i, to, barrier, response, order)) return leave();
            continue;
        }
        for (u32 rank = 0; rank < c.block->cluster->count; ++rank) {
            const bool own = rank == c.block->rank;
            if (!respond(c, op, i, own ? to : in_block(to, rank),
                         own ? barrier : in_block(barrier, rank), response, order))
                return leave();
        }
    }
    return op + 1;
}

const Op* is_cancelled(WarpContext& c, const Op* op) {
    const u128* responses = source<u128>(c, op->r[1]);
    u32 yes = 0;
    each_lane(c.mask, [&](u32 i) { yes |= static_cast<u32>(responses[i] >> 96 & 1) << i; });
    u32& p = predicate_destination(c, op->r[0]);
    p = merged(p, yes, c.mask);
    return op + 1;
}

const Op* first_cancelled(WarpContext& c, const Op* op) {
    const u128* responses = source<u128>(c, op->r[1]);
    const u32 shift = 32u * op->flags.as<u16>();
    assign_each(c, destination<u32>(c, op->r[0]),
                [=](u32 i) { return static_cast<u32>(responses[i] >> shift); });
    return op + 1;
}

}  // namespace lode::emulator::exec
