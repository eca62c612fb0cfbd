// Atomic additions: how contention costs, shared memory before global, and one addition for a warp
// (Programming Guide, "Atomic Functions").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void count(const unsigned* keys, unsigned* counters, int n) {
#if SHARED
    __shared__ unsigned own[COUNTERS];
    for (int c = threadIdx.x; c < COUNTERS; c += blockDim.x) own[c] = 0;
    __syncthreads();
#else
    unsigned* const own = counters;
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[keys[i] % COUNTERS], 1u);
#if SHARED
    __syncthreads();
    for (int c = threadIdx.x; c < COUNTERS; c += blockDim.x) atomicAdd(&counters[c], own[c]);
#endif
}
// Gives each odd key a position. The compiler joins the additions of a warp to one address itself;
// where it can't know that the address is the same, because it is computed, it leaves them alone.
extern "C" __global__ void positions(const unsigned* keys, unsigned* counter, unsigned* where, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || keys[i] % 2 == 0) return;
#if AGGREGATED
    const unsigned active = __activemask();
    const int leader = __ffs(active) - 1, lane = threadIdx.x % 32;
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(counter, (unsigned)__popc(active));
    where[i] = __shfl_sync(active, first, leader) + __popc(active & ((1u << lane) - 1));
#else
    where[i] = atomicAdd(counter + (COMPUTED ? keys[i] >> 24 : 0), 1u);  // Keys have 24 bits.
#endif
})";

void atomics(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 24, std::size_t{1} << 12);
    const auto key = [](std::size_t i) { return static_cast<unsigned>(i) * 2654435761U >> 8; };
    const auto keys = bench.fill<unsigned>(n, key);
    const auto grid = bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 8, 4);
    const auto rate = [&](Figure time) { return Bench::gb_per_s(static_cast<double>(n), time); };
    Figure global[2];
    for (const int shared : {0, 1}) {
        for (const unsigned counters : {1U, 32U, 256U, 4096U}) {
            const auto count = bench.load<void(const unsigned*, unsigned*, int)>(
                text, "count",
                {define("SHARED", shared), define("COUNTERS", counters), define("AGGREGATED", 0),
                 define("COMPUTED", 0)});
            auto totals = unwrap(bench.device.alloc<unsigned>(counters));
            const auto launch = [&] {
                return count.launch(bench.stream, {.grid = {grid}, .block = {256}}, keys, totals,
                                    static_cast<int>(n));
            };
            const auto speed = rate(bench.ms(launch));
            unwrap(totals.zero());
            unwrap(launch());
            unwrap(bench.stream.sync());
            std::vector<unsigned> expected(counters);
            for (std::size_t i = 0; i < n; ++i)
                ++expected[key(i) % counters];
            check(unwrap(totals.to_vector()) == expected, "every key is counted");
            const std::string name =
                std::to_string(counters) +
                (shared ? " counters, shared memory" : " counters, global memory");
            bench.row(name, speed, "10^9/s", reported());
            if (!shared && counters == 256) global[0] = speed;
            if (shared && counters == 256)
                bench.row("  beside global memory", speed / global[0], "x",
                          at_least(1.5, "shared is faster"));
        }
    }
    auto counter = unwrap(bench.device.alloc<unsigned>(1));
    const auto where = unwrap(bench.device.alloc<unsigned>(n));
    constexpr const char* ways[] = {"positions, one addition a thread",
                                    "positions, joined by the compiler",
                                    "positions, one addition a warp"};
    for (const int way : {0, 1, 2}) {
        const auto positions = bench.load<void(const unsigned*, unsigned*, unsigned*, int)>(
            text, "positions",
            {define("SHARED", 0), define("COUNTERS", 1), define("AGGREGATED", way == 2 ? 1 : 0),
             define("COMPUTED", way == 0 ? 1 : 0)});
        const auto launch = [&] {
            return positions.launch(bench.stream, lode::cover(n), keys, counter, where,
                                    static_cast<int>(n));
        };
        const auto speed = rate(bench.ms(launch));
        unwrap(counter.zero());
        unwrap(launch());
        unwrap(bench.stream.sync());
        const auto found = unwrap(where.to_vector());
        std::vector<bool> seen(unwrap(counter.to_vector())[0]);
        for (std::size_t i = 0; i < n; ++i) {
            if (key(i) % 2 == 0) continue;
            check(found[i] < seen.size() && !seen[found[i]], "every position is given once");
            seen[found[i]] = true;
        }
        bench.row(ways[way], speed, "10^9/s", reported());
        if (way == 0)
            global[1] = speed;
        else
            bench.row(std::string(ways[way]) + ", gain", speed / global[1], "x",
                      at_least(1.5, "fewer requests for one address"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Additions to one address wait for each other. Shared memory and one "
                           "addition for a whole warp make fewer of them.",
                           atomics);
}
