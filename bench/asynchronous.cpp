// What an application gains from asynchronous requests: its start, cancelling, many small requests,
// and loading again what is loaded.
//
//     lode_bench_asynchronous [kernels of the start]
//
// Every ratio is of times in this run. Needs no device, except for the last part.
#include "bench/sources.hpp"
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::bench {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

/// Without a cache on disk. Every source is new, so memory has no answer either.
CacheOptions options(WorkerPolicy policy) {
    CacheOptions made;
    made.mode = CacheMode::off;
    made.workers.policy = policy;
    if (std::getenv("LODE_WORKER") == nullptr) made.workers.program = LODE_WORKER_PROGRAM;
    return made;
}

std::vector<Arch> two_targets() {
    return {unwrap(Arch::parse("sm_80")), unwrap(Arch::parse("sm_90"))};
}

/// The seconds in which all kernels are compiled asynchronously, and the longest call.
struct Together {
    double seconds;
    double longest_call_ms;
};

Together compile_together(const CacheOptions& made, std::size_t kernels) {
    const CachedCompiler compiler({}, made);
    std::vector<Pending<CachedImage>> all;
    double longest_call = 0;
    const double time = time_each(1, [&] {
        for (std::size_t i = 0; i < kernels; ++i) {
            for (const auto& target : two_targets()) {
                const double call = time_each(1, [&] {
                    all.push_back(compiler.compile_async({with_cub(i), target, {}, {}, {}}));
                });
                longest_call = std::max(longest_call, call);
            }
        }
        for (const auto& pending : all)
            (void)unwrap(pending.get());
    });
    return {time * 1e-9, longest_call * 1e-6};
}

/// The start of an application: `kernels` kernels for two architectures.
void start(std::size_t kernels) {
    const CachedCompiler here({}, options(WorkerPolicy::never));
    const double one_by_one = 1e-9 * time_each(1, [&] {
                                  for (std::size_t i = 0; i < kernels; ++i) {
                                      for (const auto& target : two_targets())
                                          (void)unwrap(here.compile(with_cub(i), target));
                                  }
                              });
    const auto together = compile_together(options(WorkerPolicy::automatic), kernels);
    // With an empty folder, and so with precompiled headers; then a second start.
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("lode_bench_asynchronous_{}", ::getpid());
    CacheOptions kept = options(WorkerPolicy::automatic);
    kept.mode = CacheMode::on;
    kept.folder = folder;
    const auto precompiled = compile_together(kept, kernels);
    const auto again = compile_together(kept, kernels);
    std::filesystem::remove_all(folder);
    fmt::print(
        "An application's start, {} CUB kernels for 2 architectures: {:.2f} s one by one in this "
        "process; asynchronously {:.2f} s ({:.2f} times as fast), with an empty cache folder and "
        "precompiled headers {:.2f} s ({:.2f}), at the second start {:.3f} s ({:.0f}); the longest "
        "call took {:.3f} ms\n",
        kernels, one_by_one, together.seconds, one_by_one / together.seconds, precompiled.seconds,
        one_by_one / precompiled.seconds, again.seconds, one_by_one / again.seconds,
        std::max(together.longest_call_ms, precompiled.longest_call_ms));
}

/// How long a compilation goes on after cancel(): until its worker is ended, or NVRTC has returned.
double time_to_cancel(WorkerPolicy policy, const Source& source, std::chrono::milliseconds after) {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_begun = false;
    bool has_ended = false;
    CacheOptions made = options(policy);
    made.events = [&](const CompileEvent& event) {
        const std::lock_guard guard(mutex);
        has_begun |=
            event.kind == CompileEvent::Kind::phase && event.phase == CompilePhase::compiling;
        has_ended |= event.kind == CompileEvent::Kind::failed;
        changed.notify_all();
    };
    const CachedCompiler compiler({}, made);
    const auto pending = compiler.compile_async({source, two_targets()[0], {}, {}, {}});
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return has_begun; });
    changed.wait_for(lock, after, [&] { return has_ended; });
    const auto begin = Clock::now();
    lock.unlock();
    pending.cancel();
    lock.lock();
    changed.wait(lock, [&] { return has_ended || pending.get().has_value(); });
    return milliseconds(Clock::now() - begin);
}

void cancelling() {
    constexpr int rounds = 11;
    std::vector<double> in_worker;
    std::vector<double> here;
    for (int i = 0; i < rounds; ++i) {
        const std::chrono::milliseconds after(50 + 20 * i);
        const Source source = with_cub(1000 + std::size_t(i));
        in_worker.push_back(time_to_cancel(WorkerPolicy::automatic, source, after));
        here.push_back(time_to_cancel(WorkerPolicy::never, source, after));
    }
    fmt::print(
        "cancel() until the compilation has ended, {} rounds: in a worker {:.1f} ms (most {:.1f}), "
        "a CUB kernel in this process {:.0f} ms (most {:.0f})\n",
        rounds, median(in_worker), *std::ranges::max_element(in_worker), median(here),
        *std::ranges::max_element(here));
}

/// The resident memory of all child processes, in bytes.
std::uint64_t children_memory() {
    std::uint64_t bytes = 0;
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        std::ifstream children(thread.path() / "children");
        for (int child = 0; children >> child;) {
            std::ifstream file(fmt::format("/proc/{}/statm", child));
            std::uint64_t size = 0;
            std::uint64_t resident = 0;
            file >> size >> resident;
            bytes += resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        }
    }
    return bytes;
}

/// Small requests from several threads: how far each is overtaken, and what the workers take.
void many_small() {
    constexpr std::size_t count = 1000;
    constexpr std::size_t threads = 4;
    const CachedCompiler compiler({}, options(WorkerPolicy::automatic));
    std::mutex order;
    std::size_t made = 0;
    std::atomic<std::size_t> ended = 0;
    std::atomic<std::size_t> most_overtaken = 0;
    std::uint64_t most_memory = 0;
    const auto begin = Clock::now();
    {
        std::vector<Pending<CachedImage>> all(count);
        std::vector<std::thread> running;
        for (std::size_t t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
                for (std::size_t i = t; i < count; i += threads) {
                    std::unique_lock lock(order);
                    const std::size_t number = made++;
                    all[i] = compiler.compile_async({trivial(i), two_targets()[1], {}, {}, {}});
                    lock.unlock();
                    all[i].on_done([&, number](const auto& result) {
                        (void)unwrap(result);
                        const std::size_t place = ended++;
                        const std::size_t by = place > number ? place - number : 0;
                        for (std::size_t most = most_overtaken;
                             by > most && !most_overtaken.compare_exchange_weak(most, by);) {
                        }
                    });
                }
            });
        }
        for (auto& thread : running)
            thread.join();
        while (ended < count) {
            most_memory = std::max(most_memory, children_memory());
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    fmt::print(
        "{} small requests from {} threads: {:.2f} s, {:.2f} ms each; none was overtaken by more "
        "than {} others; the workers took at most {} MiB together\n",
        count, threads, milliseconds(Clock::now() - begin) / 1e3,
        milliseconds(Clock::now() - begin) / count, most_overtaken.load(), most_memory >> 20U);
}

/// Device::load() of a kernel that is loaded already.
void load_again() {
    const auto runtime = Runtime::open({.cache = options(WorkerPolicy::never)});
    const auto device = runtime.and_then([](const Runtime& opened) { return opened.device(); });
    if (!device) {
        fmt::print("No device, so nothing is loaded.\n");
        return;
    }
    const Source small = trivial(1);
    const Source large = with_cub(1);
    const auto kept = unwrap(device->load(small, "k"));
    const auto kept_large = unwrap(device->load(large, "k"));
    const auto again = [&](const Source& source) {
        std::vector<double> times;
        for (int round = 0; round < 101; ++round)
            times.push_back(time_each(20, [&] { (void)unwrap(device->load(source, "k")); }) * 1e-3);
        return median(times);
    };
    fmt::print("load() of a loaded kernel: {:.1f} µs; of one that includes CUB: {:.0f} µs\n",
               again(small), again(large));
}

}  // namespace
}  // namespace lode::bench

int main(int count, char** values) {
    try {
        lode::bench::start(count > 1 ? std::strtoul(values[1], nullptr, 10) : 20);
        lode::bench::cancelling();
        lode::bench::many_small();
        lode::bench::load_again();
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
