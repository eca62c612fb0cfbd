// WarpContext: the state that handlers access; the state of warps, blocks and frames.
#pragma once

#include "emulator/exec/handlers.hpp"
#include "emulator/exec/machine.hpp"
#include "emulator/isa/op.hpp"
#include "emulator/memory/window.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace lode::emulator {
struct Code;
struct DecodedKernel;
struct SharedVariable;
}  // namespace lode::emulator

namespace lode::emulator::exec {

/// Zero-initialised bytes; the system commits memory only for those accessed. Throws std::bad_alloc
/// when memory runs out.
class Store {
public:
    Store() noexcept = default;
    ~Store() { std::free(data_); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    [[nodiscard]] u8* data() noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Ensures a size of at least `bytes`, preserving the contents.
    void grow(std::size_t bytes);

private:
    u8* data_ = nullptr;
    std::size_t size_ = 0;
};

struct BlockOrder;
struct BlockSync;
struct Launch;
struct Block;
struct Warp;
struct Worker;
struct Cluster;
struct TensorMemory;

/// The registers of one activation of a function, shared by the groups that run it.
struct Frame {
    const Code* code = nullptr;
    Frame* parent = nullptr;
    const Op* call = nullptr;  ///< The call op in the parent.
    u32 depth = 0;
    u32 mask = 0;        ///< Lanes that haven't returned from it.
    u32 local_base = 0;  ///< Its first byte in the lanes' local memory.
    u32 allocated = 0;   ///< Bytes after its variables that alloca has taken, in any lane.
    u8* registers = nullptr;
    std::size_t capacity = 0;  ///< Size of `registers` in bytes.
};

enum class GroupState : u8 { runnable, yielded, at_barrier, at_sync, at_allocation, at_products };

/// Lanes of a warp that are at the same op of the same frame.
struct ConvergenceGroup {
    const Op* pc = nullptr;
    Frame* frame = nullptr;
    u32 mask = 0;
    GroupState state = GroupState::runnable;
    u8 barrier = 0;
};

enum class Leave : u8 { none, parked, yielded, exited, fault, settled };

/// The data for a fault's report; set by the handler that detects it.
struct FaultNote {
    Fault fault = Fault::none;
    const Op* op = nullptr;
    u32 lane = 0;
    std::string text;  ///< "writes 4 bytes past the end of …", and facts on further lines.
};

/// Accessible range [lo, hi) of the allocation that a memory op accessed last.
struct Bounds {
    u64 lo = 1;
    u64 hi = 0;
};

struct WarpContext {
    u8* area[4] = {};
    u32 mask = 0;
    const Op* stop = nullptr;  ///< Leave when the next op compares equal or greater.
    i64 budget = 0;            ///< Backward branches left in this turn.
    u32 switches = 0;          ///< Changes of warps left without leaving the run loop.

    u8* shared = nullptr;
    u32 shared_bytes = 0;
    const SharedVariable* variables = nullptr;  ///< DecodedKernel::shared_variables.
    u32 local_bytes = 0;                        ///< Bytes per lane in use by frames.
    u8* local = nullptr;              ///< Interleaved: word w of lane l is at (w * 32 + l) * 4.
    Bounds* bounds = nullptr;         ///< By Op::cache: accesses inside need no check.
    WrittenBytes* written = nullptr;  ///< If set, accesses to global memory are tracked.
    u8* shared_written = nullptr;     ///< If set, a byte for each byte of shared memory: written?
    u8* local_written = nullptr;      ///< Likewise for local memory, in its order.
    bool watch = false;               ///< Report each access to note_lanes() or note_pattern().
    bool race = false;                ///< Check for races.
    bool init = false;                ///< Check for reads of unwritten bytes.
    bool sync = false;                ///< Check barriers and warp operations.
    TouchedPages* touched = nullptr;  ///< If set, collects accesses to global memory.
    bool clustered = false;           ///< Shared addresses may be those of other blocks.
    bool check_memory = true;         ///< Handlers call the checks; `bounds` sets their limits.
    const u8* parameters = nullptr;
    u32 parameter_bytes = 0;
    u32 compile_after = 0;          ///< LaunchOptions::compile_after.
    u64 compiled_instructions = 0;  ///< Executed by compiled code since it was last read.
    std::exception_ptr thrown;      ///< By a handler that compiled code called.
    bool has_thrown = false;

    Frame* frame = nullptr;
    Warp* warp = nullptr;
    Block* block = nullptr;
    Launch* launch = nullptr;
    Worker* worker = nullptr;

    Leave reason = Leave::none;
    const Op* resume = nullptr;  ///< Where to continue after `parked` or `yielded`.
    u8 barrier = 0;              ///< For `parked`: the barrier, or one of the numbers below.
    FaultNote fault;
};

inline constexpr u32 warpgroup_warps = 4;

inline constexpr u8 sync_wait = 255;        ///< At a warp operation.
inline constexpr u8 allocation_wait = 254;  ///< For tensor memory; the resumed op tries again.
inline constexpr u8 products_wait = 253;    ///< For the products of the other warps of a warpgroup.
inline constexpr u8 cluster_barrier = 16;   ///< The number after a block's own barriers.

/// Registers that hold unwritten bytes which are being copied, by their place in a frame: for each
/// lane, a bit for each byte.
struct UndefinedRegisters {
    std::unordered_map<const u8*, std::array<u16, lanes>> rows;
};

/// What a lane has taken from an absent lane, by a shuffle.
struct AbsentValue {
    const Op* shuffle = nullptr;
    std::string_view state;  ///< Why the lane is absent.
    u32 from = 0;
    u32 members = 0;
};

/// Registers that hold such values or what is computed from them, by their place in a frame.
struct AbsentValues {
    std::unordered_map<const u8*, std::array<AbsentValue, lanes>> rows;
};

/// A named barrier of a block.
struct Barrier {
    u32 arrived = 0;   ///< Threads; includes missing lanes of complete warps if there is a count.
    u32 expected = 0;  ///< 0: all living threads.
    u32 waiting = 0;   ///< Parked threads.
    u32 votes = 0;     ///< For bar.red: threads with a true predicate.
    u32 voters = 0;
};

struct Warp {
    Block* block = nullptr;
    u32 index = 0;
    u32 launched = 0;  ///< Lanes that exist.
    u32 live = 0;      ///< Lanes that haven't exited.
    u32 count = 0;     ///< Number of convergence groups.
    std::array<ConvergenceGroup, lanes + 1> groups;
    Frame root;
    Store local;
    u32 local_bytes = 0;
    u8* specials = nullptr;
    std::array<u32, 16> arrived_parts{};  ///< By barrier: lanes that have arrived, until all have.
    u32 at_cluster_barrier = 0;           ///< Lanes that have arrived in its current phase.
    u32 product_groups = 0;               ///< That wgmma.commit_group has made.
    u32 owes_cluster_barrier = 0;         ///< Lanes that have arrived and not waited since.
    Store local_written;                  ///< Holds WarpContext::local_written.
    std::unique_ptr<UndefinedRegisters> undefined;  ///< For the check for unwritten bytes.
    std::unique_ptr<AbsentValues> absent;           ///< For the check of synchronisation.

    /// Adds a group. Each member is written by itself, as it will be read: a processor waits when a
    /// load spans several stores that are on their way.
    void add(const Op* pc, Frame* frame, u32 mask, GroupState state = GroupState::runnable,
             u8 barrier = 0) noexcept {
        ConvergenceGroup& group = groups[count++];
        group.pc = pc;
        group.frame = frame;
        group.mask = mask;
        group.state = state;
        group.barrier = barrier;
    }
};

/// Blocks that run at the same time and access each other's shared memory. One worker runs all of
/// them. A block that was launched without a cluster is one of its own.
struct Cluster {
    static constexpr u32 most_blocks = 16;
    std::array<Block*, most_blocks> blocks{};  ///< By rank.
    u32 count = 0;
    u32 open = 0;          ///< Blocks that have living threads.
    u32 live_threads = 0;  ///< In all blocks.
    u32 arrived = 0;       ///< Living threads at the cluster's barrier in its current phase.
    Dim3 index;
    std::vector<std::unique_ptr<Block>> done;  ///< Kept, because others may access them.
};

struct Block {
    Dim3 index;
    u64 linear = 0;
    u32 live_threads = 0;
    std::vector<std::unique_ptr<Warp>> warps;
    u32 warp_count = 0;
    Store shared;
    Store register_store, special_store;
    u8* specials = nullptr;  ///< In special_store; valid for blocks of shape `threads`.
    Dim3 threads{0, 0, 0};
    u8* launch_base = nullptr;  ///< The launch area of the block's worker.
    std::array<Barrier, 16> barriers;
    u32 barriers_used = 0;  ///< One bit for each barrier with arrivals since its release.
    Cluster alone;          ///< The cluster of a block without others.
    Cluster* cluster = nullptr;
    u32 rank = 0;                                 ///< In the cluster.
    bool stuck = false;                           ///< No warp could run in its last turn.
    std::shared_ptr<BlockOrder> order;            ///< The race check's.
    std::shared_ptr<BlockSync> sync;              ///< For the check of barriers.
    Store written;                                ///< Holds WarpContext::shared_written.
    std::shared_ptr<TensorMemory> tensor_memory;  ///< Since its first allocation.
};

// Scheduler functions for handlers, in scheduler.cpp ----------------------------------------------

/// Splits the current group: `taken` goes to `target`, the others to `next`. Returns where the
/// current group continues.
const Op* diverge(WarpContext& context, u32 taken, const Op* target, const Op* next);
/// Parks the current group with `resume` as its next op.
const Op* park(WarpContext& context, u8 barrier, const Op* resume);
const Op* give_up_turn(WarpContext& context, const Op* resume);
/// Continues groups that wait for tensor memory of a block, or of the other one of its pair.
void wake_allocations(Block& block);
/// Continues groups of a warp's warpgroup that wait for its products.
void wake_warpgroup(Block& block, u32 warp);
/// Records a fault of `lane` and leaves. `text` continues "file.cu:12: kernel …" on one short line,
/// which has no values that only details need; each further line is a fact.
[[gnu::cold]] const Op* raise(WarpContext& context, const Op* op, u32 lane, Fault fault,
                              std::string text);

}  // namespace lode::emulator::exec
