// Machine: checks launches, distributes their blocks to workers and waits for completion.
#include "emulator/exec/machine.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/compiled/region.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lode::emulator::exec {

#if defined(__x86_64__)
namespace {

/// Needed because Clang 14's __builtin_cpu_supports() doesn't know F16C.
bool has_f16c() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

std::string unsupported_processor() {
#if defined(__x86_64__)
    const struct {
        bool has;
        const char* name;
    } needs[] = {
        {__builtin_cpu_supports("avx2") != 0, "AVX2"},
        {__builtin_cpu_supports("fma") != 0, "FMA"},
        {has_f16c(), "F16C"},
        {__builtin_cpu_supports("bmi2") != 0, "BMI2"},
    };
    for (const auto& need : needs) {
        if (need.has) continue;
        return fmt::format(
            "The processor doesn't support {}; lode's software device needs x86-64-v3 (2013 and "
            "later).",
            need.name);
    }
#endif
    return {};
}

struct Machine::Pool {
    std::vector<std::unique_ptr<Worker>> workers;  ///< The first one runs on the caller's thread.
    std::vector<std::thread> threads;
    std::mutex turn;  ///< Held during a launch.
    std::mutex mutex;
    std::condition_variable work, done;
    Launch* job = nullptr;       ///< Valid for workers that have joined it.
    std::atomic<u64> ticket{0};  ///< Number of jobs so far.
    /// Places in the current job: in the high half, the workers that may still join; in the low
    /// half, those that have and haven't left.
    std::atomic<u64> places{0};
    bool ending = false;  ///< `mutex` guards it, and makes sleepers see changes of `places`.
    u64 workspace = 0;    ///< Grid barrier of cooperative launches.
    std::unique_ptr<GlobalCells> cells;  ///< The race check's.

    void serve(u32 number);
    /// Takes a place in a job that isn't the one `seen` last; false if there is none.
    bool join(u64& seen);
    /// Starts threads until there are `count` workers, including the caller's, and returns the
    /// number available.
    u32 start(u32 count);
};

namespace {

/// Waits for a condition for as long as it takes a thread to fall asleep and wake up, which is what
/// it saves when launches follow each other.
template <class F>
void spin_until(F&& condition) {
    constexpr auto longest = std::chrono::microseconds(40);
    const auto start = std::chrono::steady_clock::now();
    while (!condition()) {
        for (int k = 0; k < 32; ++k) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (std::chrono::steady_clock::now() - start > longest) return;
    }
}

}  // namespace

bool Machine::Pool::join(u64& seen) {
    constexpr u64 joining = (u64{1} << 32) - 1;  // One less to join, one more that has.
    u64 now = places.load(std::memory_order_acquire);
    do {
        if (now >> 32 == 0 || ticket.load(std::memory_order_relaxed) == seen) return false;
    } while (!places.compare_exchange_weak(now, now - joining, std::memory_order_acq_rel,
                                           std::memory_order_acquire));
    seen = ticket.load(std::memory_order_relaxed);
    return true;
}

void Machine::Pool::serve(u32 number) {
    u64 seen = 0;
    for (;;) {
        bool joined = false;
        spin_until([&] { return joined = join(seen); });
        if (!joined) {
            std::unique_lock lock(mutex);
            work.wait(lock, [&] { return ending || (joined = join(seen)); });
            if (!joined) return;
        }
        workers[number]->run(*job);
        if (static_cast<u32>(places.fetch_sub(1, std::memory_order_acq_rel)) != 1) continue;
        const std::lock_guard lock(mutex);
        done.notify_all();
    }
}

u32 Machine::Pool::start(u32 count) {
    try {
        while (threads.size() + 1 < count) {
            const auto number = static_cast<u32>(threads.size()) + 1;
            threads.emplace_back([this, number] { serve(number); });
        }
    } catch (const std::system_error&) {  // The launch uses the threads that have started.
    }
    return std::min(count, static_cast<u32>(threads.size()) + 1);
}

Machine::Machine(Memory& memory, unsigned workers)
    : memory_(memory), pool_(std::make_unique<Pool>()) {
    const unsigned count =
        workers != 0 ? workers : std::max(1u, std::thread::hardware_concurrency());
    for (unsigned k = 0; k < count; ++k)
        pool_->workers.push_back(std::make_unique<Worker>());
}

Machine::~Machine() {
    {
        const std::lock_guard lock(pool_->mutex);
        pool_->ending = true;
    }
    pool_->work.notify_all();
    for (std::thread& thread : pool_->threads)
        thread.join();
    if (pool_->workspace != 0) memory_.release(pool_->workspace);
}

unsigned Machine::workers() const noexcept {
    return static_cast<unsigned>(pool_->workers.size());
}

namespace {

LaunchOutcome refused(Fault fault, std::string report) {
    LaunchOutcome outcome;
    outcome.fault = fault;
    outcome.report = std::move(report);
    return outcome;
}

bool fits(const Dim3& block, const Dim3& limit) {
    return block.x <= limit.x && block.y <= limit.y && block.z <= limit.z;
}

std::string dimensions(const Dim3& d) {
    return fmt::format("({},{},{})", d.x, d.y, d.z);
}

/// The error in the cluster of a launch; empty if there is none.
std::string wrong_cluster(const KernelInfo& info, const GridShape& shape) {
    const Dim3& own = info.required_cluster;
    const Dim3& size = shape.cluster.count() != 0 ? shape.cluster : own;
    if (size.count() == 0) return {};
    if (own.count() != 0 && own != size) {
        return fmt::format("Kernel {} requires clusters of {} blocks but is launched with {}.",
                           info.name, dimensions(own), dimensions(size));
    }
    if (size.count() > Cluster::most_blocks) {
        return fmt::format("Kernel {} is launched with {} blocks per cluster; the limit is {}.",
                           info.name, size.count(), Cluster::most_blocks);
    }
    const Dim3& grid = shape.grid;
    if (grid.x % size.x == 0 && grid.y % size.y == 0 && grid.z % size.z == 0) return {};
    return fmt::format(
        "Kernel {} is launched with a grid of {} blocks, which isn't a multiple of "
        "its clusters of {}.",
        info.name, dimensions(grid), dimensions(size));
}

/// The error in the shape of a launch; empty if there is none.
std::string wrong_shape(const KernelInfo& info, const GridShape& shape,
                        std::span<const std::byte> parameters) {
    if (shape.grid.count() == 0 || shape.block.count() == 0) {
        return fmt::format("Kernel {} is launched with an empty grid or block.", info.name);
    }
    if (shape.block.count() > 1024) {
        return fmt::format("Kernel {} is launched with {} threads per block; the limit is 1024.",
                           info.name, shape.block.count());
    }
    if (info.required_ntid.count() != 0 && shape.block != info.required_ntid) {
        return fmt::format("Kernel {} requires blocks of {} threads but is launched with {}.",
                           info.name, dimensions(info.required_ntid), dimensions(shape.block));
    }
    // .maxntid limits the number of threads in a block, not each dimension.
    if (info.max_ntid.count() != 0 && !fits(shape.block, info.max_ntid) &&
        shape.block.count() > info.max_ntid.count()) {
        return fmt::format("Kernel {} has launch bounds of {} threads but is launched with {}.",
                           info.name, info.max_ntid.count(), shape.block.count());
    }
    if (parameters.size() < info.parameter_bytes) {
        return fmt::format("Kernel {} takes {} bytes of parameters but is given {}.", info.name,
                           info.parameter_bytes, parameters.size());
    }
    return wrong_cluster(info, shape);
}

/// The number of workers for which a cluster each fits in memory. 0 if not even one fits, or if
/// the blocks of a cooperative launch don't fit together.
u32 workers_with_room(Launch& launch, u64 wanted, bool cooperative) {
    launch.block_bytes = launch.warps_a_block * launch.kernel->info.warp_bytes +
                         launch.shared_bytes + u64{launch.warps_a_block} * warp_area_bytes;
    const u64 fit = max_launch_bytes / (launch.block_bytes * launch.cluster_blocks);
    if (fit == 0 || (cooperative && launch.clusters > fit)) return 0;
    const auto count = static_cast<u32>(std::min({wanted, launch.clusters, fit}));
    launch.most_clusters = fit / count;
    return count;
}

std::vector<u64> shuffled_numbers(u64 count, u64 seed) {
    std::vector<u64> order(count);
    for (u64 k = 0; k < count; ++k)
        order[k] = k;
    std::mt19937_64 random(seed);
    std::ranges::shuffle(order, random);
    return order;
}

/// Gives the ops of a decoded kernel their handlers.
void bind(DecodedKernel& kernel) {
    if (kernel.refusal) return;  // It never runs.
    for (Code& code : kernel.codes) {
        for (Op& op : code.ops)
            op.run = handler_of(op.operation);
        code.regions = find_regions(code);
    }
}

}  // namespace

LaunchOutcome Machine::launch(const Module& module, std::string_view name, const GridShape& shape,
                              std::span<const std::byte> parameters, const LaunchOptions& options) {
    const ModuleParts& parts = module.body();
    const DecodedKernel* const kernel = parts.kernel(name, &bind);
    if (kernel == nullptr) {
        return refused(Fault::invalid_value, fmt::format("The module has no kernel {}.", name));
    }
    if (kernel->refusal) return refused(Fault::refused, kernel->refusal->message);
    if (!kernel->info.too_large.empty())
        return refused(Fault::invalid_value, kernel->info.too_large);
    if (std::string wrong = wrong_shape(kernel->info, shape, parameters); !wrong.empty()) {
        return refused(Fault::invalid_value, std::move(wrong));
    }
    const std::lock_guard turn(pool_->turn);
    Launch launch;
    launch.kernel = kernel;
    launch.module = &parts;
    launch.memory = &memory_;
    launch.shape = shape;
    launch.options = &options;
    launch.parameters = parameters;
    launch.shared_bytes = shape.dynamic_shared == 0
                              ? kernel->info.static_shared
                              : kernel->dynamic_shared_offset + shape.dynamic_shared;
    launch.warps_a_block = static_cast<u32>(divide_up(shape.block.count(), lanes));
    launch.blocks = shape.grid.count();
    const Dim3& cluster =
        shape.cluster.count() != 0 ? shape.cluster : kernel->info.required_cluster;
    launch.explicit_cluster = cluster.count() != 0;
    if (launch.explicit_cluster) launch.cluster = cluster;
    launch.cluster_blocks = static_cast<u32>(launch.cluster.count());
    launch.clusters = launch.blocks / launch.cluster_blocks;
    const u64 most = options.workers != 0 ? options.workers : workers();
    u32 count = workers_with_room(launch, std::min<u64>(most, workers()), options.cooperative);
    if (count == 0) {
        return refused(
            Fault::out_of_memory,
            fmt::format(
                "Kernel {} needs {} bytes of host memory per block (concurrent blocks: {}); "
                "the limit is {} bytes.",
                kernel->info.name, launch.block_bytes,
                options.cooperative ? launch.blocks : launch.cluster_blocks, max_launch_bytes));
    }
    if (options.timeout.count() > 0) launch.start = parts.lines.now();
    if (options.seed != 0 && launch.clusters <= (u64{1} << 24)) {
        launch.order = shuffled_numbers(launch.clusters, options.seed);
    }
    if (options.cooperative) {
        if (pool_->workspace == 0) {
            pool_->workspace = memory_.allocate(
                256, MemoryKind::device, "grid barrier of cooperative launches", parts.owner);
        }
        if (pool_->workspace == 0) {
            return refused(Fault::out_of_memory,
                           "There is no address space left for a grid barrier.");
        }
        std::memset(reinterpret_cast<void*>(pool_->workspace), 0, 256);
        memory_.note_write(pool_->workspace, 256);
        launch.workspace = pool_->workspace;
    }
    std::optional<LaunchOrder> order;
    if (options.checks.race) {
        if (!pool_->cells) {
            pool_->cells =
                std::make_unique<GlobalCells>(memory_.first_address(), memory_.arena_bytes());
        }
        order.emplace(*pool_->cells, launch.blocks);
        launch.accesses = &*order;
        find_unwritten(launch);
    }
    if (count > 1) count = pool_->start(count);
    for (u32 k = 0; k < count; ++k) {
        pool_->workers[k]->number = k;
        pool_->workers[k]->count = count;
    }
    if (count > 1) {
        pool_->job = &launch;
        {
            const std::lock_guard lock(pool_->mutex);
            pool_->ticket.fetch_add(1, std::memory_order_relaxed);
            pool_->places.store(u64{count - 1} << 32, std::memory_order_release);
        }
        pool_->work.notify_all();
    }
    pool_->workers[0]->run(launch);
    if (count > 1) {
        // No worker joins from now on.
        pool_->places.fetch_and(~u32{0}, std::memory_order_acq_rel);
        const auto all_left = [&] { return pool_->places.load(std::memory_order_acquire) == 0; };
        spin_until(all_left);
        std::unique_lock lock(pool_->mutex);
        pool_->done.wait(lock, all_left);
    }
    if (options.touched != nullptr) {
        TouchedPages& all = pool_->workers[0]->touched;
        for (u32 k = 1; k < count; ++k)
            all.take(pool_->workers[k]->touched);
        *options.touched = all.take_ranges();
    }
    LaunchOutcome& outcome = launch.outcome;
    if (launch.timed_out.load() && outcome.fault == Fault::launch_timeout &&
        outcome.place.kind.empty()) {
        const Standing& standing = launch.standing;
        outcome.place = standing.groups != 0 ? standing.first : report_of_kernel(launch);
        outcome.place.kind = "timeout";
        describe(launch, outcome.place, outcome.report + standing_facts(standing));
        outcome.report = outcome.place.text;
    }
    if (options.repeated) tell_repeated(launch);
    launch.outcome.warp_instructions = launch.instructions.load();
    launch.outcome.findings = launch.findings.load();
    return std::move(launch.outcome);
}

}  // namespace lode::emulator::exec
