// Lanes of a warp that take different ways run one after the other; ways that split between warps
// cost nothing (Best Practices Guide, "Branching and Divergence").
#include "bench/experiments/experiment.hpp"

#include <cstdint>

namespace {

// Each path has constants of its own, so that the compiler can't make one loop of them.
constexpr const char* text = R"(
template <int WAY> __device__ __noinline__ unsigned way(unsigned x) {
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) {
        x = x * (1664525u + 4u * WAY) + (1013904223u + 2u * WAY);
        x ^= x >> (5 + WAY);
    }
    return x;
}
extern "C" __global__ void branch(unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const int mine = threadIdx.x / GRANULE % WAYS;
    unsigned x = i;
    if (mine == 0) x = way<0>(x);
    if (mine == 1) x = way<1>(x);
    if (mine == 2) x = way<2>(x);
    if (mine == 3) x = way<3>(x);
    if (mine == 4) x = way<4>(x);
    if (mine == 5) x = way<5>(x);
    if (mine == 6) x = way<6>(x);
    if (mine == 7) x = way<7>(x);
    out[i] = x;
})";

void divergence(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::uint32_t threads = 256;
    const auto blocks = bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 8, 2);
    const int rounds = bench.size(4000, 10);
    auto out = unwrap(bench.device.alloc<unsigned>(std::size_t{blocks} * threads));
    Figure uniform;
    const auto measure = [&](const std::string& name, int ways, int granule, double expected) {
        const auto branch = bench.load<void(unsigned*)>(
            text, "branch",
            {define("WAYS", ways), define("GRANULE", granule), define("ROUNDS", rounds)});
        unwrap(out.zero());
        const auto time = bench.ms([&] {
            return branch.launch(bench.stream, {.grid = {blocks}, .block = {threads}}, out);
        });
        const auto found = unwrap(out.to_vector());
        for (std::uint32_t i = 0; i < std::min(blocks, 4U) * threads; ++i) {
            const std::uint32_t way = i % threads / granule % ways;
            std::uint32_t x = i;
            for (int k = 0; k < rounds; ++k) {
                x = x * (1664525U + 4 * way) + (1013904223U + 2 * way);
                x ^= x >> (5 + way);
            }
            check(found[i] == x, "every thread takes its way");
        }
        if (ways == 1) uniform = time;
        bench.row(name, time / uniform, "x", about(expected, 0.2));
    };
    measure("one way", 1, 1, 1);
    for (const int ways : {2, 4, 8})
        measure(std::to_string(ways) + " ways in each warp", ways, 1, ways);
    for (const int granule : {2, 8, 16})
        measure("2 ways, " + std::to_string(granule) + " lanes each", 2, granule, 2);
    for (const int granule : {32, 64})
        measure("2 ways, split between warps, by " + std::to_string(granule), 2, granule, 1);
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Ways that split a warp are run one after the other: n ways take n "
                           "times as long. Split between warps they cost nothing.",
                           divergence);
}
