// The order of memory accesses, for the race check: what each thread knows to have happened before.
// docs/dev/decisions/0005-race-check.md explains the design. Private to emulator/exec.
#pragma once

#include "emulator/exec/checks/race/cells.hpp"
#include "emulator/exec/warp_context.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lode::emulator::exec {

/// What is known beyond the floors of a thread's own block and warp: for blocks, warps and threads,
/// the time up to which their accesses have happened. Immutable once shared.
struct Clock {
    struct Entry {
        u64 who = 0;
        u32 time = 0;
    };
    std::vector<Entry> entries;  ///< By ascending `who`.

    [[nodiscard]] u32 time_of(u64 who) const noexcept;
};
using ClockRef = std::shared_ptr<const Clock>;

/// Keys of a clock: a whole block, one of its warps, one thread, or a thread's asynchronous copies.
constexpr u64 key_of_block(u64 block) {
    return block << 12;
}
constexpr u64 key_of_warp(u64 block, u32 warp) {
    return (block << 12) + 1 + warp;
}
constexpr u64 key_of_thread(u64 block, u32 thread, bool async) {
    return (block << 12) + (async ? 2048u : 1024u) + thread;
}

/// In keys and stamps, in place of a block: what its warps' products read from shared memory.
constexpr u64 products_of(u64 block) {
    return block | (u64{1} << 40);
}

/// The later of both for each key; either may be null.
ClockRef joined(const ClockRef& a, const ClockRef& b);

/// What a lane knew at its last fence.
struct FenceView {
    u32 time = 0;  ///< 0: there was no fence.
    u32 floor = 0;
    u32 warp_floor = 0;
    ClockRef known;
    // A lane that spins releases the same again and again.
    ClockRef released{};   ///< All of it, with `published`; made when it is first released.
    ClockRef published{};  ///< BlockOrder::published at that time.
    ClockRef slot{};       ///< The last clock that it was joined into.
};

/// A clock that a lane has acquired from an address.
struct AcquiredClock {
    ClockRef clock;
    u64 address = 0;
};

/// Knowledge of lanes from finer synchronisation than barriers of the whole block or warp.
struct FineOrder {
    ClockRef known[lanes];
    ClockRef pending[lanes];  ///< Read by relaxed accesses; known from the next fence on.
    /// The clocks that were last joined into `pending` and `known`, from a block and the device.
    AcquiredClock acquired[2][2][lanes];
    FenceView fences[2][lanes];  ///< For the scopes of a block and of the device.
};

/// An asynchronous copy that its thread hasn't waited for.
struct PendingCopy {
    u64 address = 0;  ///< An offset if it is in shared memory.
    u32 bytes = 0;
    u16 thread = 0;
    bool shared = false;
    bool reads = false;
    bool bulk = false;
    u32 group = 0;
};

/// A register that a product uses which the warp hasn't waited for.
struct ProductRegister {
    const Code* code = nullptr;
    const Op* op = nullptr;
    u32 group = 0;
    bool is_result = false;
    bool is_copy = false;  ///< Copied from a result, by mov.
};

/// The products (wgmma) of a warp. Registers are told apart by their host addresses.
struct ProductOrder {
    bool fenced = false;       ///< There was a wgmma.fence.
    std::vector<u32> commits;  ///< The time of each group's commit.
    std::unordered_map<const u8*, ProductRegister> pending;
    /// Those written since the last fence, and by which op.
    std::unordered_map<const u8*, const Op*> written;
};

struct WarpOrder {
    u32 floor = 0;       ///< All accesses of the block up to this time happened before.
    u32 warp_floor = 0;  ///< Likewise for the warp.
    u32 relaxed = 0;     ///< Lanes that have arrived at the cluster's barrier without a release.
    std::unique_ptr<FineOrder> fine;
    std::vector<PendingCopy> copies;
    std::unique_ptr<ProductOrder> products;
    u32 groups[2][lanes] = {};  ///< Committed groups of copies, plain and bulk.
};

/// What an mbarrier passes on: the arrivals of its current phase, and of those that are complete.
struct PhaseOrder {
    ClockRef arrivals, complete;
};

/// The race check's state of a block. Its time advances with every release, so that what a thread
/// does afterwards is told apart from what it has released.
struct BlockOrder {
    static constexpr u32 last_time = (1u << 20) - 2;

    u64 block = 0;
    u32 time = 0;
    u32 born = 0;             ///< Times up to here belong to blocks that used this state before.
    bool spent = false;       ///< The time has run out: the block is no longer checked.
    bool is_fine = false;     ///< A warp has a FineOrder.
    bool has_groups = false;  ///< A thread has committed a group of copies.
    std::vector<WarpOrder> warps;
    Cells shared;
    std::unordered_map<u64, ClockRef> releases;  ///< By address, for threads of this block.
    std::unordered_map<u64, PhaseOrder> mbarriers;
    ClockRef barriers[16];  ///< Arrivals at barriers that not all threads take part in.
    u32 partial = 0;        ///< One bit for each of these barriers.
    /// What such lanes had made visible by fences.
    ClockRef relaxed_arrivals;
    bool clustered = false;         ///< Other blocks may access the shared memory.
    std::array<u64, 16> cluster{};  ///< The numbers of the cluster's blocks, by rank.
    u32 proxy_fence = 0;            ///< The time of the last fence.proxy.async of any thread.
    bool fenced = false;  ///< A thread has passed a fence since the last barrier of all threads.
    /// What threads had made visible by fences, in a block and in the device, before the last
    /// barrier of all threads: a later flag of any of them releases it.
    ClockRef published[2];

    void open(u64 number, u32 warp_count, u32 shared_bytes, bool in_cluster);
    void tick() noexcept {
        if (++time >= last_time) spent = true;
    }
    FineOrder& fine(u32 warp);
    [[nodiscard]] const ClockRef* known(u32 warp, u32 lane) const noexcept {
        const auto& fine = warps[warp].fine;
        return fine && fine->known[lane] ? &fine->known[lane] : nullptr;
    }
    /// All that a thread has done and knows.
    [[nodiscard]] ClockRef view(u32 warp, u32 lane) const;
    /// Whether an access by a thread of `its_block` happened before what a thread does now.
    [[nodiscard]] bool ordered(u32 warp, u32 lane, Stamp stamp, u64 its_block) const noexcept;
    void learn(u32 warp, u32 lane, const ClockRef& clock);
};

/// What a launch's blocks tell each other through global memory.
struct LaunchOrder {
    LaunchOrder(GlobalCells& its_cells, u64 blocks)
        : cells(its_cells), first_block(its_cells.begin(blocks)) {}

    static constexpr u32 stripes = 64;
    struct Stripe {
        std::mutex mutex;
        std::unordered_map<u64, ClockRef> releases;  ///< By address.
    };
    GlobalCells& cells;
    u64 first_block;  ///< The number that stamps have for the launch's block 0.
    Stripe releases[stripes];
    std::atomic<bool> any_release{false};
    /// By Op::cache: whether an op only reads an allocation that nothing in the launch writes. Such
    /// reads can't race.
    std::vector<std::atomic<bool>> unwritten;
};

/// Fills LaunchOrder::unwritten. It needs the memory check, which keeps accesses in the allocation
/// that their parameter points into, or says that they leave it; no bounds of an earlier launch may
/// be cached.
void find_unwritten(const Launch& launch);

// Events, in order.cpp ---------------------------------------------------------------------------

/// Lanes of WarpContext::mask arrive at a barrier of the block. `partial`: not all threads do.
void order_arrive(WarpContext& c, u32 id, bool partial);
/// A barrier of the block is complete; its waiting lanes haven't left it.
void order_barrier(WarpContext& c, Block& block, u32 id);
/// All threads of a block know what the others have done.
void order_all(Block& block);
/// Lanes of WarpContext::mask arrive at the cluster's barrier.
void order_cluster_arrive(WarpContext& c, const Op* op);
/// The barrier of a cluster is complete: all its threads know what all have done, but of those that
/// arrived without a release only what these have made visible by fences.
void order_cluster(Cluster& cluster);
/// Lanes that pass a bar.warp.sync together, with these member masks.
void order_warp(const Warp& warp, u32 passing, const u32* members);
void order_fence(WarpContext& c, const Op* op);
/// The asynchronous proxy reads the block's shared memory for a thread: reports what threads have
/// written since the block's last fence.proxy.async.
void order_proxy_read(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes);

/// The parts of a strong access before and after it takes effect.
void order_before(WarpContext& c, const Op* op, u32 lane, u64 address, bool shared, bool writes);
void order_after(WarpContext& c, const Op* op, u32 lane, u64 address, bool shared, bool reads);

/// Whether neither has anything to do for any lane: nothing to release, and nothing to acquire.
[[nodiscard]] bool releases_nothing(const WarpContext& c, const Op* op) noexcept;
[[nodiscard]] bool acquires_nothing(const WarpContext& c) noexcept;

/// What an operation does to an mbarrier. `copied`: the bytes of the lane's asynchronous copy
/// arrive.
struct PhaseEvent {
    bool arrives = false;
    bool completes = false;
    bool waited = false;
    bool copied = false;
};
/// `owner`: the block whose memory the mbarrier is in.
void order_phase(WarpContext& c, BlockOrder& owner, u32 lane, u64 address, const PhaseEvent& event);

/// How an asynchronous copy completes.
enum class CopyEnd : u8 { group, bulk_group, mbarrier };
/// Asynchronous copies: one side of one, a commit, and a wait for all but the last `left` groups.
void order_copy(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, bool shared,
                bool reads, CopyEnd end);
inline constexpr u32 all_copies = ~u32{0};
void order_commit(WarpContext& c, bool bulk);
void order_wait(WarpContext& c, u32 left, bool bulk, bool reads_only);

// Products of warpgroups, in race_products.cpp ----------------------------------------------------

void order_product_fence(WarpContext& c);
/// A product begins: compares the registers that it uses.
void order_product(WarpContext& c, const Op* op);
/// A product reads 16 bytes of the block's shared memory.
void order_product_read(WarpContext& c, const Op* op, u32 offset);
void order_product_commit(WarpContext& c);
/// All but the last `left` groups are complete.
void order_product_wait(WarpContext& c, u32 left);

}  // namespace lode::emulator::exec
