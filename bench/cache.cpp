// Measures a cache hit, in a small and in a large cache.
//
//   lode_bench_cache [RECORDS] [--json FILE]     RECORDS (default 100000) fill the large cache
//
// All measurements come from one run on one machine; the right-hand column is the goal. Each figure
// is the median of many single measurements. Without NVRTC the last part is skipped.
#include "base/file.hpp"
#include "bench/results.hpp"
#include "jit/cache/state.hpp"
#include "jit/store/disk_tier.hpp"
#include "jit/store/memory_tier.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"

#include <lode/base/unwrap.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace lode;
using namespace lode::cache;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t unbounded = std::uint64_t{1} << 40;
constexpr std::size_t small_cubin = 5000;
constexpr double ns_per_us = 1e3;
constexpr double ns_per_ms = 1e6;

/// The times of one call in nanoseconds; each sample times `batch` calls.
template <class Work>
std::vector<double> times_ns(int samples, int batch, Work&& work) {
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
        const auto start = Clock::now();
        for (int k = 0; k < batch; ++k)
            work();
        times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                        batch);
    }
    return times;
}

/// Prints a table of medians and adds each to the results.
class Table {
public:
    explicit Table(bench::Results& results) : results_(results) {}

    /// `divisor`: nanoseconds in one unit.
    void row(const std::string& what, const std::vector<double>& times, double divisor,
             std::string unit, std::string_view goal) {
        std::vector<double> scaled;
        for (const double time : times)
            scaled.push_back(time / divisor);
        const auto figure =
            bench::measured({.group = "cache", .series = what, .unit = std::move(unit)}, scaled);
        print(what, figure.value, figure.unit, goal);
        results_.add(figure);
    }
    void print(std::string_view what, double value, std::string_view unit, std::string_view goal) {
        fmt::print("{:<58} {:>10.2f} {:<3} {}\n", what, value, unit, goal);
    }

private:
    bench::Results& results_;
};

void stop(const Error& error) {
    fmt::print(stderr, "{}\n", error.describe());
    std::exit(1);
}

/// Fills a folder with unrelated records.
void fill(DiskTier& tier, int records) {
    const Bytes filler(64);
    for (int i = 0; i < records; ++i) {
        const RecordKey key{RecordKind::entry, sha256(fmt::format("filler {}", i))};
        if (const Status put = tier.put(key, filler); !put) stop(put.error());
    }
}

std::vector<double> disk_hit_ns(const std::filesystem::path& folder, int records) {
    const auto tier = unwrap(DiskTier::open(folder, true, unbounded));
    const Entry entry = example_entry(0, small_cubin);
    const Key key = key_of(entry);
    unwrap(tier->put({RecordKind::entry, key.digest}, format_entry(entry)));
    fill(*tier, records);
    return times_ns(2001, 1, [&] {
        const auto record = unwrap(tier->get({RecordKind::entry, key.digest}));
        if (!parse_entry_for(record.value().bytes, key)) std::abort();
    });
}

void measure_tiers(Table& table, const std::filesystem::path& folder, int records) {
    MemoryTier<KeptImage> memory(std::size_t{64} << 20);
    std::vector<Digest> keys;
    for (int i = 0; i < 1000; ++i) {
        keys.push_back(sha256(fmt::format("{}", i)));
        memory.put(keys.back(), std::make_shared<const KeptImage>(), 10'000);
    }
    std::size_t next = 0;
    const auto look_ups = times_ns(1001, 100, [&] {
        if (!memory.get(keys[next++ % keys.size()])) std::abort();
    });
    table.row("memory tier: get, of 1000", look_ups, 1, "ns", "goal <= 200 ns");

    const auto few = disk_hit_ns(folder / "few", 100);
    table.row("disk tier: verified hit of a small kernel, of 100", few, ns_per_us, "us",
              "goal <= 30 us");
    const auto many = disk_hit_ns(folder / "many", records);
    table.row(fmt::format("disk tier: the same, of {}", records), many, ns_per_us, "us", "");
    table.print("ratio", bench::quantile(many, 0.5) / bench::quantile(few, 0.5), "", "goal ~ 1");
}

/// One compilation in a new CachedCompiler, as in a newly started process.
CachedImage compile_fresh(const CacheOptions& options, const Source& source) {
    return unwrap(CachedCompiler({}, options).compile(source, unwrap(Arch::parse("sm_90"))));
}

void measure_compiler(Table& table, const std::filesystem::path& folder, std::string_view what,
                      const Source& source, std::string_view goal) {
    CacheOptions options;
    options.folder = folder;
    const auto cold = compile_fresh(options, source);
    const double cold_ns = cold.report.milliseconds * ns_per_ms;
    table.row(fmt::format("{}: compiled", what), {cold_ns}, ns_per_ms, "ms", cold.report.not_kept);
    const auto warm = times_ns(201, 1, [&] {
        if (compile_fresh(options, source).report.tier != "disk") std::abort();
    });
    table.row(fmt::format("{}: disk hit by a fresh compiler object", what), warm, ns_per_ms, "ms",
              goal);
    table.print(fmt::format("{}: ratio", what), cold_ns / bench::quantile(warm, 0.5), "x", "");
    const CachedCompiler compiler({}, options);
    const auto arch = unwrap(Arch::parse("sm_90"));
    (void)unwrap(compiler.compile(source, arch));
    const auto memory = times_ns(501, 1, [&] {
        if (unwrap(compiler.compile(source, arch)).report.tier != "memory") std::abort();
    });
    table.row(fmt::format("{}: memory hit, headers validated", what), memory, ns_per_us, "us", "");
}

int run(Table& table, int records) {
    const auto scratch = ScratchFolder::create("lode-bench").value();
    measure_tiers(table, scratch.path(), records);
    if (!Compiler().info()) {
        fmt::print("No NVRTC is available, so the compiler isn't measured.\n");
        return 0;
    }
    measure_compiler(
        table, scratch.path() / "small", "saxpy",
        Source::text(
            "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) "
            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; "
            "}\n"),
        "");
    measure_compiler(table, scratch.path() / "cub", "CUB",
                     Source::text("#include <cub/block/block_reduce.cuh>\n"
                                  "extern \"C\" __global__ void sum(const float* x, float* y) {\n"
                                  "    using Reduce = cub::BlockReduce<float, 128>;\n"
                                  "    __shared__ Reduce::TempStorage storage;\n"
                                  "    const float all = Reduce(storage).Sum(x[threadIdx.x]);\n"
                                  "    if (threadIdx.x == 0) *y = all;\n"
                                  "}\n"),
                     "goal <= 2 ms");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int default_records = 100'000;
    try {
        bench::Results results("cache", argc, argv);
        Table table(results);
        const int code = run(table, argc > 1 ? std::atoi(argv[1]) : default_records);
        results.write();
        return code;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
