// Measures a cache hit, in a small and in a large cache.
//
//   lode_bench_cache [RECORDS]     RECORDS (default 100000) fill the large cache
//
// All measurements come from one run on one machine; the right-hand column is the goal. Each figure
// is the median of many single measurements. Without NVRTC the last part is skipped.
#include "base/file.hpp"
#include "jit/cache/state.hpp"
#include "jit/cache/store/disk_tier.hpp"
#include "jit/cache/store/memory_tier.hpp"
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

/// The median time of one call in nanoseconds; each sample times `batch` calls.
template <class Work>
double median_ns(int samples, int batch, Work&& work) {
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
        const auto start = Clock::now();
        for (int k = 0; k < batch; ++k)
            work();
        times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                        batch);
    }
    std::ranges::nth_element(times, times.begin() + samples / 2);
    return times[static_cast<std::size_t>(samples) / 2];
}

void row(std::string_view what, double value, std::string_view unit, std::string_view goal) {
    fmt::print("{:<58} {:>10.2f} {:<3} {}\n", what, value, unit, goal);
}

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

double disk_hit_ns(const std::filesystem::path& folder, int records) {
    const auto tier = unwrap(DiskTier::open(folder, true, unbounded));
    const Entry entry = example_entry(0, small_cubin);
    const Key key = key_of(entry);
    unwrap(tier->put({RecordKind::entry, key.digest}, format_entry(entry)));
    fill(*tier, records);
    return median_ns(2001, 1, [&] {
        const auto record = unwrap(tier->get({RecordKind::entry, key.digest}));
        if (!parse_entry_for(record.value().bytes, key)) std::abort();
    });
}

void measure_tiers(const std::filesystem::path& folder, int records) {
    MemoryTier<KeptImage> memory(std::size_t{64} << 20);
    std::vector<Digest> keys;
    for (int i = 0; i < 1000; ++i) {
        keys.push_back(sha256(fmt::format("{}", i)));
        memory.put(keys.back(), std::make_shared<const KeptImage>(), 10'000);
    }
    std::size_t next = 0;
    row("memory tier: get, of 1000",
        median_ns(1001, 100,
                  [&] {
                      if (!memory.get(keys[next++ % keys.size()])) std::abort();
                  }),
        "ns", "goal <= 200 ns");

    const double few = disk_hit_ns(folder / "few", 100);
    row("disk tier: verified hit of a small kernel, of 100", few / 1e3, "us", "goal <= 30 us");
    const double many = disk_hit_ns(folder / "many", records);
    row(fmt::format("the same, of {}", records), many / 1e3, "us", "");
    row("ratio", many / few, "", "goal ~ 1");
}

/// One compilation in a new CachedCompiler, as in a newly started process.
CachedImage compile_fresh(const CacheOptions& options, const Source& source) {
    return unwrap(CachedCompiler({}, options).compile(source, unwrap(Arch::parse("sm_90"))));
}

void measure_compiler(const std::filesystem::path& folder, std::string_view what,
                      const Source& source, std::string_view goal) {
    CacheOptions options;
    options.folder = folder;
    const auto cold = compile_fresh(options, source);
    row(fmt::format("{}: compiled", what), cold.report.milliseconds, "ms", cold.report.not_kept);
    const double warm = median_ns(201, 1, [&] {
        if (compile_fresh(options, source).report.tier != "disk") std::abort();
    });
    row(fmt::format("{}: disk hit by a fresh compiler object", what), warm / 1e6, "ms", goal);
    row(fmt::format("{}: ratio", what), cold.report.milliseconds * 1e6 / warm, "x", "");
    const CachedCompiler compiler({}, options);
    const auto arch = unwrap(Arch::parse("sm_90"));
    (void)unwrap(compiler.compile(source, arch));
    const double memory = median_ns(501, 1, [&] {
        if (unwrap(compiler.compile(source, arch)).report.tier != "memory") std::abort();
    });
    row(fmt::format("{}: memory hit, headers validated", what), memory / 1e3, "us", "");
}

int run(int records) {
    const auto scratch = ScratchFolder::create("lode-bench").value();
    measure_tiers(scratch.path(), records);
    if (!Compiler().info()) {
        fmt::print("No NVRTC is available, so the compiler isn't measured.\n");
        return 0;
    }
    measure_compiler(
        scratch.path() / "small", "saxpy",
        Source::text(
            "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) "
            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; "
            "}\n"),
        "");
    measure_compiler(scratch.path() / "cub", "CUB",
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
        return run(argc > 1 ? std::atoi(argv[1]) : default_records);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
