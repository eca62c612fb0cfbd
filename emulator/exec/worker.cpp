// Worker: prepares a launch, runs blocks in turns and reports errors. Blocks are opened in
// worker_blocks.cpp.
#include "base/align_up.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/debug_hook.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/exec/worker_area.hpp"
#include "emulator/isa/warp.hpp"

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

void report_fault(Launch& launch, WarpContext& c) {
    FindingReport place = report_at(launch, *c.warp, c.fault.lane, c.fault.op, c.frame);
    place.kind = "fault";
    describe(launch, place, c.fault.text);
    if (launch.options->debug != nullptr)
        launch.options->debug->found(c, c.fault.op, c.fault.lane, place.text);
    launch.fail(c.fault.fault, std::move(place));
}

void report_stuck(Launch& launch, const Block& block) {
    Standing standing;
    describe_standing(launch, block, standing);
    FindingReport place = std::move(standing.first);
    place.kind = "timeout";
    describe(launch, place,
             fmt::format("is deadlocked: it {}{}", standing.state, standing_facts(standing)));
    launch.fail(Fault::launch_timeout, std::move(place));
}

bool is_stuck(const Cluster& cluster) {
    return std::all_of(cluster.blocks.begin(), cluster.blocks.begin() + cluster.count,
                       [](const Block* one) { return one->stuck || one->live_threads == 0; });
}

/// Ends a launch that runs too long; the workers then add where their blocks stand. `text`
/// continues "file.cu:12: kernel …".
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

void Launch::fail(Fault fault, FindingReport place) noexcept {
    const std::lock_guard lock(mutex);
    if (outcome.fault == Fault::none) {
        outcome.fault = fault;
        outcome.report = place.text;
        outcome.place = std::move(place);
    }
    stop.store(true);
}

Dim3 Launch::cluster_at(u64 number) const {
    const u64 linear = order.empty() ? number : order[number];
    const u32 across = shape.grid.x / cluster.x;
    if (linear < across) return {static_cast<u32>(linear), 0, 0};
    const u32 down = shape.grid.y / cluster.y;
    const u64 row = linear / across;
    return {static_cast<u32>(linear % across), static_cast<u32>(row % down),
            static_cast<u32>(row / down)};
}

void Worker::prepare(Launch& launch) {
    const DecodedKernel& kernel = *launch.kernel;
    launch_base = aligned(launch_area, kernel.launch_bytes);
    const GridShape& shape = launch.shape;
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
    context.touched = launch.options->touched == nullptr ? nullptr : &touched;
    context.watch = context.race || context.init || context.touched != nullptr;
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
    next_cluster = end_clusters = 0;
    has_waited = false;
    for (const auto& block : idle)
        block->warp_count = 0;  // What warps keep from block to block is another launch's.
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
    constexpr const char* broken =
        "Kernel {} was stopped by an exception in the software device: {}.";
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
        // Another block may have changed what a stuck one waits for.
        for (u32 rank = 0; turn != Turn::stuck && rank < block.cluster->count; ++rank)
            block.cluster->blocks[rank]->stuck = false;
        switch (turn) {
            case Turn::done:
                check_tensor_memory(launch, block);
                close_block(current);
                break;
            case Turn::yielded: {
                ++turns;
                ++current;
                const auto elapsed = launch.module->lines.now() - launch.start;
                const auto limit = launch.options->timeout;
                const auto* const cancel = launch.options->cancel;
                if (cancel != nullptr && cancel->load()) {
                    report_timeout(launch, "was cancelled");
                } else if (limit.count() > 0 && elapsed + launch.options->time_used > limit) {
                    const std::string_view fact = launch.options->timeout_fact;
                    report_timeout(launch,
                                   fmt::format("runs longer than the limit of {} ms{}{}",
                                               limit.count(), fact.empty() ? "" : "\n", fact));
                } else if (const u64 most = launch.options->instruction_limit;
                           most != 0 && instructions > most) {
                    report_timeout(
                        launch,
                        fmt::format("executes more than the limit of {} instructions", most));
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
