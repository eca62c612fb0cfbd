// Worker: opens the blocks of clusters, and closes them.
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/exec/worker_area.hpp"
#include "emulator/isa/warp.hpp"

#include <algorithm>
#include <iterator>

namespace lode::emulator::exec {

// Neighbours often share cache lines and pages, and other workers take numbers at the same time, so
// that a worker takes several. Not of a kernel whose blocks may wait for earlier ones: they would
// wait until another worker gets to them. A cooperative launch opens what it takes at once.
bool Worker::take_clusters(Launch& launch) {
    constexpr u64 most = 64;
    const u64 begun = launch.next_cluster.load(std::memory_order_relaxed);
    const u64 left = launch.clusters - std::min(begun, launch.clusters);
    const bool one_by_one = launch.kernel->may_wait || launch.options->cooperative;
    const u64 share = one_by_one ? 1 : std::clamp<u64>(left / (u64{8} * count), 1, most);
    next_cluster = launch.next_cluster.fetch_add(share);
    end_clusters = std::min(next_cluster + share, launch.clusters);
    return next_cluster < end_clusters;
}

bool Worker::open_cluster(Launch& launch) {
    if (next_cluster >= end_clusters && !take_clusters(launch)) return false;
    const Dim3& size = launch.cluster;
    const Dim3 index = launch.cluster_at(next_cluster++);
    Cluster* cluster = nullptr;
    if (launch.cluster_blocks > 1) {
        clusters.push_back(std::make_unique<Cluster>());
        cluster = clusters.back().get();
    }
    for (u32 rank = 0; rank < launch.cluster_blocks; ++rank) {
        Block& block = open_block(
            launch, {index.x * size.x + rank % size.x, index.y * size.y + rank / size.x % size.y,
                     index.z * size.z + rank / size.x / size.y});
        block.rank = rank;
        block.cluster = cluster != nullptr ? cluster : &block.alone;
        if (cluster == nullptr) block.alone.live_threads = block.alone.arrived = 0;
        Cluster& own = *block.cluster;
        own.blocks[rank] = &block;
        own.count = own.open = launch.cluster_blocks;
        own.live_threads += block.live_threads;
        own.index = index;
    }
    if (context.race && cluster != nullptr) {
        for (u32 at = 0; at < cluster->count; ++at) {
            for (u32 rank = 0; rank < cluster->count; ++rank)
                cluster->blocks[at]->order->cluster[rank] = cluster->blocks[rank]->order->block;
        }
    }
    return true;
}

void Worker::close_block(std::size_t at) {
    Cluster& cluster = *blocks[at]->cluster;
    auto& to = cluster.count == 1 ? idle : cluster.done;
    to.push_back(std::move(blocks[at]));
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    if (--cluster.open > 0 || cluster.count == 1) return;
    std::ranges::move(cluster.done, std::back_inserter(idle));
    std::erase_if(clusters, [&](const auto& one) { return one.get() == &cluster; });
}

// A block needs registers, shared memory and the thread indices of its warps.
Block& Worker::open_block(Launch& launch, Dim3 index) {
    if (idle.empty()) idle.push_back(std::make_unique<Block>());
    blocks.push_back(std::move(idle.back()));
    idle.pop_back();
    Block& block = *blocks.back();
    const Dim3 grid = launch.shape.grid;
    const Dim3 shape = launch.shape.block;
    block.linear = index.x + grid.x * (index.y + u64{grid.y} * index.z);
    block.index = index;
    block.stuck = false;
    block.tensor_memory.reset();
    const auto threads = static_cast<u32>(shape.count());
    block.live_threads = threads;
    const bool was_open = block.warp_count != 0;
    block.warp_count = launch.warps_a_block;
    block.launch_base = launch_base;
    if (context.race) {
        if (!block.order) block.order = std::make_shared<BlockOrder>();
        block.order->open(launch.accesses->first_block + block.linear, block.warp_count,
                          launch.shared_bytes, launch.cluster_blocks > 1);
    }
    if (context.sync) block.sync = std::make_shared<BlockSync>();
    if (context.init) {
        block.written.grow(launch.shared_bytes);
        std::fill_n(block.written.data(), launch.shared_bytes, u8{0});
    }
    if (block.barriers_used != 0) {
        block.barriers = {};
        for (const auto& warp : block.warps)
            warp->arrived_parts = {};
    }
    block.barriers_used = 0;
    for (u32 w = 0; was_open && w < block.warp_count; ++w)
        reopen_warp(*block.warps[w]);
    if (was_open) return block;
    block.shared.grow(launch.shared_bytes);
    const Code& code = launch.kernel->codes.front();
    aligned(block.register_store, std::size_t{frame_bytes(code)} * block.warp_count);
    const bool new_shape = block.threads != shape || block.specials == nullptr;
    if (new_shape) {
        block.specials =
            aligned(block.special_store, std::size_t{warp_area_bytes} * block.warp_count);
        block.threads = shape;
    }
    while (block.warps.size() < block.warp_count)
        block.warps.push_back(std::make_unique<Warp>());
    for (u32 w = 0; w < block.warp_count; ++w)
        set_up_warp(launch, block, w, new_shape);
    return block;
}

void Worker::reopen_warp(Warp& warp) {
    const Code& code = *warp.root.code;
    warp.live = warp.launched;
    warp.product_groups = 0;
    warp.at_cluster_barrier = warp.owes_cluster_barrier = 0;
    warp.root.allocated = 0;
    warp.local_bytes = code.local_bytes;
    if (context.init) {
        std::fill_n(warp.local_written.data(), std::size_t{code.local_bytes} * lanes, u8{0});
        warp.undefined.reset();
    }
    warp.absent.reset();
    warp.count = 0;
    warp.add(code.ops.data(), &warp.root, warp.launched);
}

void Worker::set_up_warp(Launch& launch, Block& block, u32 index, bool new_shape) {
    const Code& code = launch.kernel->codes.front();
    const Dim3 shape = launch.shape.block;
    Warp& warp = *block.warps[index];
    const u32 first = index * lanes;
    const u32 present = std::min(lanes, static_cast<u32>(shape.count()) - first);
    warp.block = &block;
    warp.index = index;
    warp.launched = present == lanes ? all_lanes : (1u << present) - 1;
    warp.live = warp.launched;
    warp.product_groups = 0;
    warp.at_cluster_barrier = warp.owes_cluster_barrier = 0;
    warp.specials = block.specials + std::size_t{index} * warp_area_bytes;
    warp.root = {};
    warp.root.code = &code;
    warp.root.mask = warp.launched;
    warp.root.registers = aligned(block.register_store, 0) + std::size_t{index} * frame_bytes(code);
    warp.local_bytes = code.local_bytes;
    warp.local.grow((std::size_t{code.local_bytes} + 15) / 16 * 16 * lanes);
    if (context.init) {
        warp.local_written.grow(warp.local.size());
        std::fill_n(warp.local_written.data(), std::size_t{code.local_bytes} * lanes, u8{0});
        warp.undefined.reset();
    }
    warp.absent.reset();
    warp.count = 0;
    warp.add(code.ops.data(), &warp.root, warp.launched);
    if (!new_shape) return;
    const auto set = [&](u32 offset, u32 lane, u32 value) {
        reinterpret_cast<u32*>(warp.specials + offset)[lane] = value;
    };
    for (u32 i = 0; i < lanes; ++i) {
        const u32 thread = first + i;
        set(tid_x, i, thread % shape.x);
        set(tid_y, i, thread / shape.x % shape.y);
        set(tid_z, i, thread / shape.x / shape.y);
        set(laneid, i, i);
        set(warpid, i, index);
        set(lanemask_eq, i, 1u << i);
        set(lanemask_lt, i, (1u << i) - 1);
        set(lanemask_le, i, ((1u << i) - 1) | (1u << i));
        set(lanemask_ge, i, ~((1u << i) - 1));
        set(lanemask_gt, i, ~(((1u << i) - 1) | (1u << i)));
    }
}

void Worker::enter_block(Launch& launch, Block& block) {
    fill(launch_base, ctaid_x, block.index.x);
    fill(launch_base, ctaid_y, block.index.y);
    fill(launch_base, ctaid_z, block.index.z);
    const u32 processors = std::max(1u, launch.options->multiprocessors);
    fill(launch_base, smid, static_cast<u32>(block.linear % processors));
    if (launch.kernel->names_cluster) {
        const Dim3& size = launch.cluster;
        fill(launch_base, clusterid_x, block.cluster->index.x);
        fill(launch_base, clusterid_y, block.cluster->index.y);
        fill(launch_base, clusterid_z, block.cluster->index.z);
        fill(launch_base, cluster_ctaid_x, block.index.x % size.x);
        fill(launch_base, cluster_ctaid_y, block.index.y % size.y);
        fill(launch_base, cluster_ctaid_z, block.index.z % size.z);
        fill(launch_base, cluster_ctarank, block.rank);
    }
    context.shared = block.shared.data();
    context.shared_bytes = launch.shared_bytes;
    context.shared_written = context.init ? block.written.data() : nullptr;
}

}  // namespace lode::emulator::exec
