// Worker: opens blocks, runs them in turns and reports errors.
#include "base/align_up.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/decode/ops/warp.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/order.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/sync.hpp"
#include "emulator/exec/tensor_memory.hpp"

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

constexpr u32 turn_budget_normal = 20'000;
constexpr u32 turn_budget_cooperative = 256;

u8* aligned(Store& store, std::size_t bytes) {
    if (store.size() < bytes + 64) store.grow(bytes + 64);
    const auto at = reinterpret_cast<std::uintptr_t>(store.data());
    return reinterpret_cast<u8*>((at + 63) / 64 * 64);
}

u32 frame_bytes(const Code& code) {
    return (code.frame_bytes + 63) / 64 * 64;
}

template <class T>
void fill(u8* area, u32 offset, T value) {
    auto* const to = reinterpret_cast<T*>(area + offset);
    for (u32 i = 0; i < lanes; ++i)
        to[i] = value;
}

void fill_parameter(u8* area, const ParameterSlot& slot, const std::byte* from) {
    u64 value[2] = {0, 0};
    std::memcpy(value, from + slot.offset, slot.bytes);
    if (slot.sign && slot.bytes < 8) {
        const u32 shift = 64 - slot.bytes * 8u;
        value[0] = static_cast<u64>(static_cast<i64>(value[0] << shift) >> shift);
    }
    u8* const to = area + slot.slot;
    switch (slot.slot_bytes) {
        case 1:
            fill(to, 0, static_cast<u8>(value[0]));
            break;
        case 2:
            fill(to, 0, static_cast<u16>(value[0]));
            break;
        case 4:
            fill(to, 0, static_cast<u32>(value[0]));
            break;
        case 8:
            fill(to, 0, value[0]);
            break;
        default:
            fill(to, 0, (u128{value[1]} << 64) | value[0]);
            break;
    }
}

void report_fault(Launch& launch, const WarpContext& c) {
    FindingReport place = report_at(launch, *c.warp, c.fault.lane, c.fault.op, c.frame);
    place.kind = "fault";
    {
        const std::lock_guard lock(launch.mutex);
        if (launch.outcome.fault == Fault::none) launch.outcome.place = std::move(place);
    }
    launch.fail(c.fault.fault,
                fmt::format("Kernel {} {}; {}.", launch.kernel->info.name, c.fault.text,
                            place_of(launch, *c.warp, c.fault.lane, c.fault.op, c.frame)));
}

void report_stuck(Launch& launch, const Block& block) {
    Standing standing;
    describe_standing(launch, block, standing);
    std::string text =
        fmt::format("Kernel {} is deadlocked: {}", launch.kernel->info.name, standing.text);
    if (standing.groups > Standing::most)
        text += fmt::format("; and {} more", standing.groups - Standing::most);
    launch.fail(Fault::launch_timeout, text + ".");
}

/// Another block may have changed what a stuck one waits for.
void wake_cluster(Cluster& cluster) {
    for (u32 rank = 0; rank < cluster.count; ++rank)
        cluster.blocks[rank]->stuck = false;
}

bool is_stuck(const Cluster& cluster) {
    return std::all_of(cluster.blocks.begin(), cluster.blocks.begin() + cluster.count,
                       [](const Block* one) { return one->stuck || one->live_threads == 0; });
}

/// Ends a launch that runs too long; the workers then add where their blocks stand.
void report_timeout(Launch& launch, const std::string& text) {
    launch.timed_out.store(true);
    launch.fail(Fault::launch_timeout, text);
}

}  // namespace

void Store::grow(std::size_t bytes) {
    if (bytes <= size_) return;
    auto* const fresh = static_cast<u8*>(std::calloc(bytes, 1));
    if (fresh == nullptr) throw std::bad_alloc();
    if (size_ != 0) std::memcpy(fresh, data_, size_);
    std::free(data_);
    data_ = fresh;
    size_ = bytes;
}

void Launch::fail(Fault fault, std::string report) noexcept {
    const std::lock_guard lock(mutex);
    if (outcome.fault == Fault::none) {
        outcome.fault = fault;
        outcome.report = std::move(report);
    }
    stop.store(true);
}

Dim3 Launch::cluster_at(u64 number) const {
    const u64 linear = order.empty() ? number : order[number];
    const u64 across = shape.grid.x / cluster.x;
    const u64 down = shape.grid.y / cluster.y;
    return {static_cast<u32>(linear % across), static_cast<u32>(linear / across % down),
            static_cast<u32>(linear / across / down)};
}

void Worker::prepare(Launch& launch) {
    const Kernel& kernel = *launch.kernel;
    launch_base = aligned(launch_area, kernel.launch_bytes);
    const LaunchShape& shape = launch.shape;
    fill(launch_base, ntid_x, shape.block.x);
    fill(launch_base, ntid_y, shape.block.y);
    fill(launch_base, ntid_z, shape.block.z);
    fill(launch_base, nctaid_x, shape.grid.x);
    fill(launch_base, nctaid_y, shape.grid.y);
    fill(launch_base, nctaid_z, shape.grid.z);
    fill(launch_base, nwarpid, launch.warps_a_block);
    fill(launch_base, nsmid, launch.options->multiprocessors);
    fill(launch_base, dynamic_smem_size, shape.dynamic_shared);
    fill(launch_base, total_smem_size, launch.shared_bytes);
    fill(launch_base, grid_workspace_low, static_cast<u32>(launch.workspace));
    fill(launch_base, grid_workspace_high, static_cast<u32>(launch.workspace >> 32));
    fill(launch_base, gridid, u64{0});
    const Dim3& cluster = launch.cluster;
    fill(launch_base, nclusterid_x, shape.grid.x / cluster.x);
    fill(launch_base, nclusterid_y, shape.grid.y / cluster.y);
    fill(launch_base, nclusterid_z, shape.grid.z / cluster.z);
    fill(launch_base, cluster_nctaid_x, cluster.x);
    fill(launch_base, cluster_nctaid_y, cluster.y);
    fill(launch_base, cluster_nctaid_z, cluster.z);
    fill(launch_base, cluster_nctarank, launch.cluster_blocks);
    fill(launch_base, is_explicit_cluster, launch.explicit_cluster ? all_lanes : 0);
    for (const ParameterSlot& slot : kernel.parameter_slots) {
        fill_parameter(launch_base, slot, launch.parameters.data());
    }
    const bool checked = launch.options->checks.memory;
    const u64 epoch = launch.memory->epoch();
    const auto& parameters = launch.parameters;
    if (launch.accesses != nullptr || bounds_kernel != &kernel ||
        !std::ranges::equal(bounds_parameters, parameters) || bounds_epoch != epoch ||
        bounds_checked != checked || bounds.size() < kernel.bounds) {
        const Bounds everything{0, ~u64{0} >> 1};
        bounds.assign(std::max<std::size_t>(kernel.bounds, 1), checked ? Bounds{} : everything);
        bounds_kernel = &kernel;
        bounds_parameters.assign(parameters.begin(), parameters.end());
        bounds_epoch = epoch;
        bounds_checked = checked;
    }
    context.written = launch.memory->written();
    context.area[static_cast<u32>(Area::launch)] = launch_base;
    context.bounds = bounds.data();
    context.variables = kernel.shared_variables.data();
    context.check_memory = checked;
    context.race = launch.options->checks.race;
    context.init = launch.options->checks.init;
    context.sync = launch.options->checks.sync;
    context.watch = context.race || context.init;
    context.compile_after = launch.options->compile_after;
    context.parameters = reinterpret_cast<const u8*>(launch.parameters.data());
    context.parameter_bytes = kernel.info.parameter_bytes;
    context.launch = &launch;
    context.worker = this;
    context.clustered = launch.cluster_blocks > 1;
    shuffled = launch.options->seed != 0;
    random.seed(static_cast<u32>(launch.options->seed + std::uint64_t{number} * 7919));
    const bool together = launch.options->cooperative || context.clustered;
    turn_budget = together ? turn_budget_cooperative : turn_budget_normal;
    if (const u64 limit = launch.options->instruction_limit; limit != 0)
        turn_budget = static_cast<u32>(std::min<u64>(turn_budget, limit / 16 + 1));
    instructions = 0;
    has_waited = false;
    for (const auto& block : idle)
        block->warp_count = 0;  // What warps keep from block to block is another launch's.
}

bool Worker::open_cluster(Launch& launch) {
    const u64 taken = launch.next_cluster.fetch_add(1);
    if (taken >= launch.clusters) return false;
    const Dim3& size = launch.cluster;
    const Dim3 index = launch.cluster_at(taken);
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
    if (block.barriers_used != 0) block.barriers = {};
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
    warp.count = 1;
    warp.groups[0] = {code.ops.data(), &warp.root, warp.launched, GroupState::runnable, 0};
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
    warp.count = 1;
    warp.groups[0] = {code.ops.data(), &warp.root, warp.launched, GroupState::runnable, 0};
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

void Worker::run(Launch& launch) noexcept {
    std::fenv_t environment;
    std::feholdexcept(&environment);
    std::fesetenv(FE_DFL_ENV);
    const auto end = [&](Fault fault, const char* sentence, const char* what) noexcept {
        std::string report;
        try {
            report = fmt::format(fmt::runtime(sentence), launch.kernel->info.name, what);
        } catch (...) {  // Without memory, only the fault code is reported.
        }
        launch.fail(fault, std::move(report));
        forget_state();
    };
    constexpr const char* no_memory =
        "Kernel {} was stopped: the host has no memory left for the state of its threads{}.";
    constexpr const char* broken = "Kernel {} was stopped by an exception in the emulator: {}.";
    try {
        run_blocks(launch);
    } catch (const std::bad_alloc&) {
        end(Fault::out_of_memory, no_memory, "");
    } catch (const std::length_error&) {  // Containers throw this for impossible sizes.
        end(Fault::out_of_memory, no_memory, "");
    } catch (const std::exception& error) {
        end(Fault::launch_failed, broken, error.what());
    } catch (...) {
        end(Fault::launch_failed, broken, "its type is unknown");
    }
    std::fesetenv(&environment);
}

void Worker::forget_state() noexcept {
    blocks.clear();
    clusters.clear();
    idle.clear();
    frames = {};
}

void Worker::run_blocks(Launch& launch) {
    prepare(launch);
    std::size_t current = 0;
    u64 turns = 0;  // Turns given up since a block was last opened.
    bool more = true;
    if (launch.options->cooperative) {
        // Opens all blocks at once, divided evenly between the workers.
        const u64 share = divide_up(launch.clusters, count) * launch.cluster_blocks;
        while (more && blocks.size() < share)
            more = open_cluster(launch);
    }
    while (!launch.stop.load(std::memory_order_relaxed)) {
        // A block that repeatedly gives up its turn may be waiting for a block that isn't open yet.
        const std::size_t open = blocks.size();
        const bool wants_more = open == 0 || (open < launch.most_clusters * launch.cluster_blocks &&
                                              turns >= (u64{4} << std::min<std::size_t>(open, 6)));
        if (more && wants_more) {
            more = open_cluster(launch);
            turns = 0;
            if (more) current = blocks.size() - launch.cluster_blocks;
        }
        if (blocks.empty()) break;
        if (current >= blocks.size()) current = 0;
        Block& block = *blocks[current];
        enter_block(launch, block);
        const Turn turn = run_block(context, block);
        if (turn != Turn::stuck) wake_cluster(*block.cluster);
        switch (turn) {
            case Turn::done:
                check_tensor_memory(launch, block);
                close_block(current);
                break;
            case Turn::yielded: {
                ++turns;
                ++current;
                const auto elapsed = std::chrono::steady_clock::now() - launch.start;
                const auto limit = launch.options->timeout;
                const auto* const cancel = launch.options->cancel;
                if (cancel != nullptr && cancel->load()) {
                    report_timeout(
                        launch, fmt::format("Kernel {} was cancelled", launch.kernel->info.name));
                } else if (limit.count() > 0 && elapsed > limit) {
                    report_timeout(launch,
                                   fmt::format("Kernel {} runs longer than the limit of {} ms",
                                               launch.kernel->info.name, limit.count()));
                } else if (const u64 most = launch.options->instruction_limit;
                           most != 0 && instructions > most) {
                    report_timeout(launch,
                                   fmt::format("Kernel {} executes more than the limit of {} "
                                               "instructions",
                                               launch.kernel->info.name, most));
                }
                break;
            }
            case Turn::stuck:
                block.stuck = true;
                ++current;
                if (is_stuck(*block.cluster)) report_stuck(launch, block);
                break;
            case Turn::fault:
                report_fault(launch, context);
                break;
        }
    }
    launch.instructions.fetch_add(instructions);
    if (launch.timed_out.load()) {
        const std::lock_guard lock(launch.mutex);
        for (const auto& block : blocks)
            describe_standing(launch, *block, launch.standing);
    }
    std::ranges::move(blocks, std::back_inserter(idle));
    blocks.clear();
    for (const auto& cluster : clusters)
        std::ranges::move(cluster->done, std::back_inserter(idle));
    clusters.clear();
    // Blocks that were stopped by a fault don't return their frames.
    if (launch.stop.load()) {
        frames.free.clear();
        for (const auto& frame : frames.all)
            frames.free.push_back(frame.get());
    }
    // Frees the memory of a large launch rather than keeping it.
    constexpr u64 kept = u64{256} << 20;
    if (frames.stored > kept || launch.block_bytes * idle.size() > kept) forget_state();
}

}  // namespace lode::emulator::exec
