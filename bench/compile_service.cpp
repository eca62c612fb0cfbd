// Compares compilation in workers with compilation in one process.
//
// A trivial kernel shows what a worker costs: both sides compile in turns, and a time is the median
// over the rounds. CUB kernels show what workers gain: as many threads as workers compile kernels
// that all differ, with nothing in a cache, first in this process, where NVRTC's front end takes a
// lock, and then in workers, which start within the measured time.
//
// Usage: lode_bench_compile_service [WORKERS] [KERNELS-PER-WORKER]
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::size_t rounds = 41;

/// Without a cache on disk. Every source is new, so memory has no answer either.
CachedCompiler compiler(int workers) {
    CacheOptions options;
    options.mode = CacheMode::off;
    options.workers.policy = workers > 0 ? WorkerPolicy::always : WorkerPolicy::never;
    options.workers.max_processes = workers;
    if (std::getenv("LODE_WORKER") == nullptr) options.workers.program = LODE_WORKER_PROGRAM;
    return CachedCompiler({}, options);
}

const Arch& target() {
    static const Arch arch = unwrap(Arch::parse("sm_90"));
    return arch;
}

Source trivial(std::size_t number) {
    return Source::text(fmt::format("__global__ void k(int* x) {{ *x = {}; }}", number));
}

Source with_cub(std::size_t number) {
    return Source::text(
        fmt::format("#include <cub/block/block_reduce.cuh>\n"
                    "__global__ void k(const int* in, int* out) {{\n"
                    "    using Reduce = cub::BlockReduce<int, 128>;\n"
                    "    __shared__ typename Reduce::TempStorage storage;\n"
                    "    const int sum = Reduce(storage).Sum(in[threadIdx.x] * {});\n"
                    "    if (threadIdx.x == 0) *out = sum;\n"
                    "}}\n",
                    number));
}

double seconds_of(const CachedCompiler& compiler, const Source& source) {
    return time_each(1, [&] { (void)unwrap(compiler.compile(source, target())); }) * 1e-9;
}

/// The seconds in which `threads` compile `count` CUB kernels.
double compile_all(const CachedCompiler& compiler, std::size_t threads, std::size_t count,
                   std::size_t first) {
    return time_each(1,
                     [&] {
                         std::atomic<std::size_t> next = 0;
                         std::vector<std::thread> running;
                         for (std::size_t t = 0; t < threads; ++t) {
                             running.emplace_back([&] {
                                 for (std::size_t i = next++; i < count; i = next++)
                                     (void)unwrap(compiler.compile(with_cub(first + i), target()));
                             });
                         }
                         for (auto& thread : running)
                             thread.join();
                     }) *
           1e-9;
}

void report(std::size_t workers, std::size_t per_worker) {
    const auto here = compiler(0);
    const auto there = compiler(1);
    (void)seconds_of(here, trivial(0));
    (void)seconds_of(there, trivial(0));  // Starts the worker.
    std::vector<double> in_process;
    std::vector<double> in_worker;
    for (std::size_t round = 1; round <= rounds; ++round) {
        in_process.push_back(seconds_of(here, trivial(round)) * 1e3);
        in_worker.push_back(seconds_of(there, trivial(round)) * 1e3);
    }
    const double mine = median(in_process);
    fmt::print(
        "A trivial kernel, medians of {} rounds: {:.2f} ms in this process, a worker adds "
        "{:.2f} ms\n",
        rounds, mine, median(in_worker) - mine);

    const std::size_t count = workers * per_worker;
    const double one = compile_all(here, workers, count, 0);
    const double many = compile_all(compiler(static_cast<int>(workers)), workers, count, count);
    fmt::print(
        "{} CUB kernels by {} threads: {:.2f} s in one process, {:.2f} s in {} workers, {:.2f} "
        "times as fast\n",
        count, workers, one, many, workers, one / many);
}

}  // namespace
}  // namespace lode::bench

int main(int count, char** values) {
    const auto argument = [&](int index, std::size_t otherwise) {
        return count > index ? std::strtoul(values[index], nullptr, 10) : otherwise;
    };
    try {
        lode::bench::report(argument(1, std::max(std::thread::hardware_concurrency(), 1U)),
                            argument(2, 4));
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
