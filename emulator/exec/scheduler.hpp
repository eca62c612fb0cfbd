// Scheduler: groups of warps, warps of blocks, blocks of a worker. Private to emulator/exec.
#pragma once

#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/warp_context.hpp"

#include <mutex>
#include <set>

namespace lode::emulator::exec {

/// What a check that doesn't stop the kernel may find.
enum class Finding : u8 { race, unwritten_shared, unwritten_global };

/// One launch, shared by its workers.
struct Launch {
    const Kernel* kernel = nullptr;
    const ModuleParts* module = nullptr;
    Memory* memory = nullptr;
    LaunchShape shape;
    const LaunchOptions* options = nullptr;
    std::span<const std::byte> parameters;
    u32 shared_bytes = 0;
    u32 warps_a_block = 0;
    u64 blocks = 0;
    u64 block_bytes = 0;     ///< Host memory that one block takes, calls not counted.
    u64 most_blocks = 1;     ///< That one worker may have open at once.
    u64 workspace = 0;       ///< Device address of the grid barrier's words; 0 if not cooperative.
    std::vector<u64> order;  ///< Shuffled block numbers; empty: in order.
    std::chrono::steady_clock::time_point start;

    std::atomic<u64> next_block{0};
    std::atomic<u64> done_blocks{0};
    std::atomic<bool> stop{false};
    std::atomic<u64> instructions{0};
    std::atomic<u64> findings{0};
    std::atomic<std::size_t> heap_used{0};
    std::mutex mutex;  ///< Guards what follows, and the sinks of the options.
    LaunchOutcome outcome;
    std::set<std::pair<const Op*, Finding>> told;

    /// Keeps the first fault and stops the other workers.
    void fail(Fault fault, std::string report) noexcept;
};

/// Registers of called functions, kept for reuse.
struct FramePool {
    /// std::bad_alloc when the host has no room, or the pool would pass `most` bytes.
    Frame* take(const Code& code);
    void give(Frame* frame);
    /// Bytes of registers, and of a warp's local memory, that calls may take: a worker's.
    static constexpr u64 most = u64{256} << 20;
    u64 stored = 0;  ///< Bytes in `stores`.
    std::vector<std::unique_ptr<Frame>> all;
    std::vector<std::unique_ptr<u8[]>> stores;
    std::vector<Frame*> free;
};

struct RaceShadow;
/// Starts the race check of a block: nothing of its shared memory has been touched.
void enter_race(Worker& worker, Block& block);

struct Worker {
    WarpContext context;
    u32 number = 0;  ///< In the launch.
    u32 count = 1;   ///< Workers of the launch.
    Store launch_area;
    u8* launch_base = nullptr;
    std::vector<Bounds> bounds;
    std::vector<Bounds> no_bounds;  ///< As many, all empty: nothing passes unasked.
    const Kernel* bounds_kernel = nullptr;
    u64 bounds_epoch = 0;
    bool bounds_checked = true;
    FramePool frames;
    std::vector<std::unique_ptr<Block>> blocks;  ///< Active ones first.
    std::vector<std::unique_ptr<Block>> idle;
    std::minstd_rand random;
    bool shuffled = false;
    u32 turn_budget = 0;
    u64 instructions = 0;
    std::shared_ptr<RaceShadow> race;

    /// Runs blocks of the launch until there are none left. Whatever is thrown meanwhile, by the
    /// executor or by a sink of the options, ends the launch as its fault: nothing leaves here.
    void run(Launch& launch) noexcept;

private:
    void run_blocks(Launch& launch);
    /// Gives back what blocks and calls were given.
    void forget_state() noexcept;
    void prepare(Launch& launch);
    bool open_block(Launch& launch);
    void set_up_warp(Launch& launch, Block& block, u32 index, bool new_shape);
    void enter_block(Launch& launch, Block& block);
};

enum class Turn : u8 { done, yielded, stuck, fault };

Turn run_block(WarpContext& c, Block& block);

/// "thread (1,0,0) of block (0,0,0), in f, file.cu:12, PTX line 34"
std::string place_of(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                     const Frame* frame);
/// Counts a finding of the running op and tells the first of its kind for each op of a launch:
/// "Kernel k " + what + its place.
void tell_finding(WarpContext& c, const Op* op, u32 lane, Finding kind, std::string_view what);

// What ops need beyond context.hpp ---------------------------------------------------------------

/// Makes `frame` the one that runs: registers, constants.
void enter_frame(WarpContext& c, Frame* frame) noexcept;
/// Adds a group that can run.
void add_group(WarpContext& c, const Op* pc, u32 mask);
/// Hands the current group back as it is, to go on at `resume` in WarpContext::frame.
const Op* requeue(WarpContext& c, const Op* resume) noexcept;
/// Arrivals at a named barrier; true when it is complete and has been released.
bool arrive_at_barrier(WarpContext& c, u32 id, u32 threads, u32 expected);
/// Ends the lanes of WarpContext::mask, in every frame they are in.
void retire_lanes(WarpContext& c);

}  // namespace lode::emulator::exec
