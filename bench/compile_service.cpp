// Compares compilation in workers with compilation in one process.
//
// A trivial kernel shows what a worker costs: both sides compile in turns, and a time is the median
// over the rounds. CUB kernels show what workers gain: as many threads as workers compile kernels
// that all differ, with nothing in a cache. They do so in this process, where NVRTC's front end
// takes a lock; in workers, which start within the measured time; and in as many processes with
// NVRTC alone, which is what the machine can do.
//
// Kernels of one header set show what precompiled headers gain: NVRTC by itself in a new process,
// then a process with an empty cache folder, whose first compilation makes the precompiled header,
// and then more host processes with the same folder. The first compilation of a process includes
// the start of its compiler on both sides. All kernels differ, so the cache has no answer.
//
// Usage: lode_bench_compile_service [WORKERS] [KERNELS-PER-WORKER]
//        lode_bench_compile_service --precompiled
#include "bench/sources.hpp"
#include "bench/timing.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/program.hpp"
#include "jit/request/flags.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::size_t rounds = 41;
constexpr std::size_t new_processes = 5;

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

/// With a cache in a folder, and so with precompiled headers.
CachedCompiler compiler_in(const std::filesystem::path& folder) {
    CacheOptions options;
    options.folder = folder;
    options.workers.policy = WorkerPolicy::always;
    options.workers.max_processes = 1;
    if (std::getenv("LODE_WORKER") == nullptr) options.workers.program = LODE_WORKER_PROGRAM;
    return CachedCompiler({}, options);
}

/// The milliseconds of NVRTC alone.
double raw_ms(const NvrtcLibrary& nvrtc, std::size_t number) {
    auto flags = nvrtc.machine_flags(target());
    for (const auto& folder : nvrtc.include_folders())
        flags.push_back("-I" + folder.native());
    const auto code = unwrap(with_cub(number).read());
    return time_each(1,
                     [&] {
                         const auto program =
                             unwrap(NvrtcProgram::create(nvrtc.table(), code, "k.cu", {}));
                         if (program.compile(flags) != NVRTC_SUCCESS)
                             throw std::runtime_error(unwrap(program.log()));
                         (void)unwrap(program.cubin());
                     }) *
           1e-6;
}

/// What another host process does: starts a worker, and compiles `count` kernels.
void report_kernels(const std::filesystem::path& folder, std::size_t first, std::size_t count) {
    const auto there = compiler_in(folder);
    for (std::size_t i = first; i < first + count; ++i)
        fmt::print("{:.1f}\n", seconds_of(there, with_cub(i)) * 1e3);
}

/// What another host process does without lode: opens NVRTC, and compiles `count` kernels. The
/// first time includes the opening.
void report_raw_kernels(std::size_t first, std::size_t count) {
    std::shared_ptr<const NvrtcLibrary> nvrtc;
    const double opening =
        time_each(
            1,
            [&] { nvrtc = unwrap(NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({}))); }) *
        1e-6;
    for (std::size_t i = first; i < first + count; ++i)
        fmt::print("{:.1f}\n", raw_ms(*nvrtc, i) + (i == first ? opening : 0));
}

/// The times that this program prints as another process.
std::vector<double> in_new_process(const std::string& arguments, std::size_t first,
                                   std::size_t count) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    const auto command = fmt::format("'{}' {} {} {}", self.string(), arguments, first, count);
    std::FILE* const output = ::popen(command.c_str(), "r");
    std::vector<double> times;
    for (double ms = 0; output != nullptr && std::fscanf(output, "%lf", &ms) == 1;)
        times.push_back(ms);
    if (output == nullptr || ::pclose(output) != 0 || times.size() != count)
        throw std::runtime_error("The second process fails.");
    return times;
}

/// The seconds in which as many processes with NVRTC alone compile the kernels: what the machine
/// can do.
double compile_all_raw(std::size_t processes, std::size_t count, std::size_t first) {
    return time_each(1,
                     [&] {
                         std::vector<std::thread> running;
                         const std::size_t each = count / processes;
                         for (std::size_t i = 0; i < processes; ++i) {
                             running.emplace_back(
                                 [=] { (void)in_new_process("--raw", first + i * each, each); });
                         }
                         for (auto& thread : running)
                             thread.join();
                     }) *
           1e-9;
}

void report_precompiled() {
    constexpr std::size_t count = 9;
    const auto raw = in_new_process("--raw", 0, count);
    std::string pattern = (std::filesystem::temp_directory_path() / "lode-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("No temporary folder.");
    const auto arguments = fmt::format("--kernels '{}'", pattern);
    const auto making = in_new_process(arguments, 100, count);
    // Several, because each has a single first compilation.
    std::vector<double> first;
    std::vector<double> raw_first{raw[0]};
    std::vector<double> later;
    for (std::size_t round = 0; round < new_processes; ++round) {
        const auto times = in_new_process(arguments, 200 + round * 100, count);
        first.push_back(times[0]);
        later.insert(later.end(), times.begin() + 1, times.end());
        raw_first.push_back(in_new_process("--raw", round, 1)[0]);
    }
    std::filesystem::remove_all(pattern);
    const auto rest = [](const std::vector<double>& times) {
        return median({times.begin() + 1, times.end()});
    };
    fmt::print(
        "CUB kernels of one header set by NVRTC: {:.0f} ms for the first of a process, {:.0f} ms "
        "for each later one\n"
        "  the process that makes the precompiled header: {:.0f} ms for the first, {:.0f} ms for "
        "each later one ({:.1f} times as fast)\n"
        "  a new host process, median of {}: {:.0f} ms for the first ({:.1f}), {:.0f} ms for each "
        "later one ({:.1f})\n",
        median(raw_first), rest(raw), making[0], rest(making), rest(raw) / rest(making),
        new_processes, median(first), median(raw_first) / median(first), median(later),
        rest(raw) / median(later));
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
    const double raw = compile_all_raw(workers, count, 2 * count);
    fmt::print(
        "{} CUB kernels by {} threads: {:.2f} s in one process, {:.2f} s in {} workers, {:.2f} "
        "times as fast; {} processes with NVRTC alone take {:.2f} s ({:.2f})\n",
        count, workers, one, many, workers, one / many, workers, raw, one / raw);
    report_precompiled();
}

}  // namespace
}  // namespace lode::bench

int main(int count, char** values) {
    const auto argument = [&](int index, std::size_t otherwise) {
        return count > index ? std::strtoul(values[index], nullptr, 10) : otherwise;
    };
    try {
        if (count == 5 && std::string_view(values[1]) == "--kernels") {
            lode::bench::report_kernels(values[2], argument(3, 0), argument(4, 0));
            return 0;
        }
        if (count == 4 && std::string_view(values[1]) == "--raw") {
            lode::bench::report_raw_kernels(argument(2, 0), argument(3, 0));
            return 0;
        }
        if (count == 2 && std::string_view(values[1]) == "--precompiled") {
            lode::bench::report_precompiled();
            return 0;
        }
        lode::bench::report(argument(1, std::max(std::thread::hardware_concurrency(), 1U)),
                            argument(2, 4));
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
