// One process of bench/fleet/fleet.py: asks a CachedCompiler of the environment for kernels and
// prints what happened as one line of JSON.
//
//   lode_bench_fleet MODE FIRST COUNT [SEED]
//
// MODE is small (kernels without headers of their own), header (with one), cub, or forbid (small,
// but misses are refused instead of compiled). The kernels' numbers are FIRST up to FIRST + COUNT,
// shuffled by SEED.
#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using Clock = std::chrono::steady_clock;

lode::Source source_of(std::string_view mode, int number) {
    if (mode == "cub") {
        return lode::Source::text(
            fmt::format("#include <cub/block/block_radix_sort.cuh>\n"
                        "extern \"C\" __global__ void sort(int* data) {{\n"
                        "    using Sort = cub::BlockRadixSort<int, 128, 4>;\n"
                        "    __shared__ typename Sort::TempStorage storage;\n"
                        "    int items[4];\n"
                        "    for (int i = 0; i < 4; ++i) items[i] = data[threadIdx.x * 4 + i] + "
                        "{};\n"
                        "    Sort(storage).Sort(items);\n"
                        "    for (int i = 0; i < 4; ++i) data[threadIdx.x * 4 + i] = items[i];\n"
                        "}}\n",
                        number),
            "sort.cu");
    }
    const std::string body = fmt::format(
        "extern \"C\" __global__ void scale(float* x, int n) {{\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) x[i] *= {}.0f;\n"
        "}}\n",
        number);
    return lode::Source::text((mode == "header" ? "#include <cuda_fp16.h>\n" : "") + body,
                              "scale.cu");
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) {
        std::fprintf(stderr, "usage: lode_bench_fleet MODE FIRST COUNT [SEED]\n");
        return 2;
    }
    const std::string_view mode = words[1];
    std::vector<int> numbers(static_cast<std::size_t>(std::atoi(words[3])));
    std::iota(numbers.begin(), numbers.end(), std::atoi(words[2]));
    if (count > 4) {
        std::mt19937 random(static_cast<unsigned>(std::atoi(words[4])));
        std::ranges::shuffle(numbers, random);
    }
    auto options = lode::CacheOptions::from_environment();
    if (!options) {
        std::fprintf(stderr, "%s\n", options.error().message.c_str());
        return 1;
    }
    options->log = lode::Log([](lode::LogLevel, std::string_view line) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    });
    if (mode == "forbid") options->policy = lode::JitPolicy::forbid;
    std::string rows;
    lode::CacheCounters counters;
    const auto start = Clock::now();
    {
        const lode::CachedCompiler compiler({}, *options);
        // The identity of the compiler is found once.
        (void)compiler.info();
        for (const int number : numbers) {
            const auto begin = Clock::now();
            const auto answer =
                compiler.compile(source_of(mode, number), *lode::Arch::parse("sm_90"));
            const std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
            if (!answer && mode != "forbid") {
                std::fprintf(stderr, "%s\n", answer.error().describe().c_str());
                return 1;
            }
            rows += fmt::format("{}[{}, \"{}\", {:.4f}]", rows.empty() ? "" : ", ", number,
                                answer ? answer->report.tier : "refused", taken.count());
        }
        counters = compiler.counters();
    }
    const std::chrono::duration<double, std::milli> all = Clock::now() - start;
    std::printf(
        "{\"rows\": [%s], \"compilations\": %llu, \"remote_hits\": %llu, \"waits\": %llu, "
        "\"faults\": %llu, \"remote_bytes_read\": %llu, \"all_ms\": %.3f}\n",
        rows.c_str(), static_cast<unsigned long long>(counters.compilations),
        static_cast<unsigned long long>(counters.remote_hits),
        static_cast<unsigned long long>(counters.waits),
        static_cast<unsigned long long>(counters.remote_faults),
        static_cast<unsigned long long>(counters.remote_bytes_read), all.count());
    return 0;
}
