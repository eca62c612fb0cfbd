// Scheduler: convergence groups of warps, warps of blocks, blocks of workers. Private to
// emulator/exec.
#pragma once

#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/device_calls.hpp"
#include "emulator/exec/warp_context.hpp"

#include <array>
#include <map>
#include <mutex>

namespace lode::emulator::exec {

/// Findings of checks that don't stop the kernel.
enum class Finding : u8 {
    race,
    benign_race,
    unwritten,
    member_masks,
    absent_lane,
    divergent_barrier,
    barrier_count,
    mbarrier,
    proxy_fence,
    product_wait,
    product_fence,
    bad_access,
    count,
};
std::string_view name_of(Finding kind) noexcept;

struct LaunchOrder;

/// Where groups of lanes stand, up to a number of them.
struct Standing {
    static constexpr u32 most = 32;
    std::string text;     ///< A line for each, after a newline.
    FindingReport first;  ///< The place of the first.
    std::string state;    ///< For example "waits at barrier 0 with 32 of 64 threads".
    u32 groups = 0;       ///< Including those left out.
};

/// What may be one cause: findings of it are described once.
struct FindingKey {
    const Op* op;
    Finding kind;
    u64 cause;  ///< Tells causes at one op apart; 0 if there is only one.
    auto operator<=>(const FindingKey&) const = default;
};
/// How often it was found, and the number of the finding that it is part of.
struct FindingCount {
    static constexpr u32 unreported = ~u32{0};
    u64 count = 0;
    u32 number = unreported;
};

/// One launch, shared by its workers.
struct Launch {
    const DecodedKernel* kernel = nullptr;
    const ModuleParts* module = nullptr;
    Memory* memory = nullptr;
    GridShape shape;
    const LaunchOptions* options = nullptr;
    std::span<const std::byte> parameters;
    u32 shared_bytes = 0;
    u32 warps_a_block = 0;
    u64 blocks = 0;
    u64 block_bytes = 0;  ///< Host memory per block, without calls.
    Dim3 cluster;
    u32 cluster_blocks = 1;
    bool explicit_cluster = false;  ///< %is_explicit_cluster
    u64 clusters = 0;
    u64 most_clusters = 1;            ///< The most clusters that one worker may have open at once.
    LaunchOrder* accesses = nullptr;  ///< The race check's.
    u64 workspace = 0;  ///< Device address of the grid barrier; 0 if the launch isn't cooperative.
    std::vector<u64> order;                  ///< Shuffled numbers of clusters; empty if in order.
    BorrowedLines::Clock::time_point start;  ///< By the clock of the module's lines.

    // Every worker writes the first of these for each block, and reads its neighbours: each has a
    // cache line.
    alignas(64) std::atomic<u64> next_cluster{0};
    alignas(64) std::atomic<bool> stop{false};
    std::atomic<bool> timed_out{false};
    std::atomic<u64> instructions{0};
    std::atomic<u64> findings{0};
    std::atomic<std::size_t> heap_used{0};
    DeviceCalls device_calls;
    std::mutex mutex;  ///< Guards the following fields and the callbacks in the options.
    LaunchOutcome outcome;
    Standing standing;  ///< Where the groups of a launch that ran too long stand.
    std::map<FindingKey, FindingCount> seen;
    std::vector<FindingReport> reported;
    std::map<std::string, u32> numbers;  ///< By what findings of one cause share.
    std::array<u32, static_cast<std::size_t>(Finding::count)> reported_of_kind{};

    /// Where in the grid of clusters the one is that starts as this number.
    [[nodiscard]] Dim3 cluster_at(u64 number) const;
    /// Records the fault if it is the first, and stops the other workers.
    void fail(Fault fault, std::string report) noexcept;
    void fail(Fault fault, FindingReport place) noexcept;
};

/// Frames of called functions, kept for reuse.
struct FramePool {
    /// Throws std::bad_alloc if the host has no memory or the pool would exceed `most` bytes.
    Frame* take(const Code& code);
    void give(Frame* frame);
    /// Limit in bytes, per worker, for the registers of calls, and for a warp's local memory.
    static constexpr u64 most = u64{256} << 20;
    u64 stored = 0;  ///< Bytes in `stores`.
    std::vector<std::unique_ptr<Frame>> all;
    std::vector<std::unique_ptr<u8[]>> stores;
    std::vector<Frame*> free;
};

/// A cache line of its own: no worker writes to another's.
struct alignas(64) Worker {
    WarpContext context;
    u32 number = 0;  ///< Index in the launch.
    u32 count = 1;   ///< Number of workers in the launch.
    Store launch_area;
    u8* launch_base = nullptr;
    std::vector<Bounds> bounds;
    const DecodedKernel* bounds_kernel = nullptr;
    u64 bounds_epoch = 0;
    std::vector<std::byte> bounds_parameters;  ///< The parameters that `bounds` hold for.
    bool bounds_checked = true;
    FramePool frames;
    std::vector<std::unique_ptr<Block>> blocks;  ///< Open blocks.
    std::vector<std::unique_ptr<Block>> idle;
    std::vector<std::unique_ptr<Cluster>>
        clusters;  ///< Clusters of open blocks, if they have several.
    std::minstd_rand random;
    bool shuffled = false;
    TouchedPages touched;  ///< In this launch, if its options ask for them.
    u32 turn_budget = 0;
    /// A group of lanes has waited for tensor memory or for products in this launch.
    bool has_waited = false;
    u64 instructions = 0;
    u64 next_cluster = 0, end_clusters = 0;  ///< Numbers that it has taken and not yet opened.

    /// Runs blocks of the launch until none are left. Any exception from the executor or from a
    /// callback in the options ends the launch with a fault; none escapes.
    void run(Launch& launch) noexcept;

private:
    void run_blocks(Launch& launch);
    /// Frees the memory of blocks and calls.
    void forget_state() noexcept;
    void prepare(Launch& launch);
    /// Takes the numbers of the next clusters; false if there are none.
    bool take_clusters(Launch& launch);
    /// Opens the blocks of the next cluster; false if there is none.
    bool open_cluster(Launch& launch);
    Block& open_block(Launch& launch, Dim3 index);
    /// Moves a block without living threads to the idle ones, with its whole cluster or not at all.
    void close_block(std::size_t at);
    void set_up_warp(Launch& launch, Block& block, u32 index, bool new_shape);
    /// Sets up a warp that has run in this launch before.
    void reopen_warp(Warp& warp);
    void enter_block(Launch& launch, Block& block);
};

/// Adds where the warps of a block stand.
void describe_standing(const Launch& launch, const Block& block, Standing& standing);
/// The lines, each after a newline, and how many are left out.
std::string standing_facts(const Standing& standing);

enum class Turn : u8 { done, yielded, stuck, fault };

Turn run_block(WarpContext& c, Block& block);

/// The index of a lane's thread in its block.
Dim3 thread_of(const Warp& warp, u32 lane);
/// "(1,0,0)"
std::string index_text(const Dim3& at);
/// For example "thread (1,0,0) of block (0,0,0), in f, file.cu:12, PTX line 34".
std::string place_of(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                     const Frame* frame);
/// A report with the place of a lane, without kind and text.
FindingReport report_at(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                        const Frame* frame);
/// The same with the place of the kernel, where no lane is to be named.
FindingReport report_of_kernel(const Launch& launch);
/// Gives a report its text. `what` continues "file.cu:12: kernel …" and may have further lines, a
/// fact each.
void describe(const Launch& launch, FindingReport& report, std::string_view what);

/// Counts a finding of the running op; true for the first of its cause, which is to be reported.
bool is_new_finding(WarpContext& c, const Op* op, Finding kind, u64 cause = 0);
/// The other access of a race.
struct OtherAccess {
    std::vector<SourcePlace> stack;
    std::string thing = {};  ///< What both access, if the two lines and it are the cause.
};
/// Reports a new finding, unless another of the same headline and places has been, or a race of the
/// same two lines. `what` is as for describe().
void report_finding(WarpContext& c, const Op* op, u32 lane, Finding kind, std::string_view what,
                    OtherAccess earlier = {}, u64 cause = 0);
/// Tells how often the findings of a launch were found again. Never throws.
void tell_repeated(Launch& launch);

/// Where the earlier access of a race is in the code.
struct EarlierPlace {
    std::string text;   ///< " at file.cu:12", " at file.cu:12 or file.cu:14", or empty.
    std::string brief;  ///< The same for a headline: without the calls that inlined it.
    std::vector<SourcePlace> stack;  ///< Empty if it isn't certain.
};
EarlierPlace earlier_place(const Launch& launch, u8 site, bool wrote);
EarlierPlace place_of_op(const Launch& launch, const Code& code, const Op* op);

/// A global address in the words of reports.
struct GlobalSpot {
    std::string where;  ///< After "reads 4 bytes": " past the end of a 400-byte allocation".
    std::string thing;  ///< "a 400-byte allocation", "the 64-byte variable table"
    std::string facts;  ///< Lines: the address, and what it is in or near.
};
GlobalSpot global_spot(const Launch& launch, u64 address, u32 bytes);
/// The variable at an offset in shared memory, or the nearest one below; nullptr if there is none.
const SharedVariable* shared_variable_near(const Launch& launch, u32 offset);
/// The variable at an offset for a headline: "part", or "shared memory".
std::string shared_thing(const Launch& launch, u32 offset);
/// For example "offset 64 of shared memory, 64 bytes into the variable sum::part".
std::string shared_place(const Launch& launch, u32 offset);
/// A name without its scopes.
std::string last_name(std::string_view name);

// Functions for ops, in addition to those of warp_context.hpp -------------------------------------

/// Makes `frame` current: registers and constants.
void enter_frame(WarpContext& c, Frame* frame) noexcept;
/// Adds a runnable group.
void add_group(WarpContext& c, const Op* pc, u32 mask);
/// Returns the current group to the scheduler, to continue at `resume` in WarpContext::frame.
const Op* requeue(WarpContext& c, const Op* resume) noexcept;
/// Waits at a barrier at which the lanes of WarpContext::mask have been counted.
const Op* wait_at_barrier(WarpContext& c, u32 id, const Op* resume);
/// Ends the threads of the current group.
const Op* end_group(WarpContext& c);
[[nodiscard]] bool is_complete(const Block& block, const Barrier& barrier) noexcept;
/// Lets the groups go on that wait at a barrier, which begins anew.
void release(WarpContext& c, Block& block, u32 id);
/// Releases barriers that are complete because exited threads no longer count. If a barrier has a
/// count, the warp may have no other lanes left than those that have arrived.
void recheck_barriers(WarpContext& c, Block& block, Warp& warp);
/// Releases lanes at warp operations whose members have all arrived.
void resolve_sync(Warp& warp, bool race);
/// Counts arrivals at a named barrier; true if this completed and released it.
bool arrive_at_barrier(WarpContext& c, u32 id, u32 threads, u32 expected);
/// Ends the lanes of WarpContext::mask in all of their frames.
void retire_lanes(WarpContext& c);
/// Releases the barrier of a cluster if all of its living threads have arrived.
void recheck_cluster_barrier(WarpContext& c, Cluster& cluster);

}  // namespace lode::emulator::exec
