// Shared memory has 32 banks of 4 bytes. Lanes that read with stride s meet in gcd(32, s) words of
// a bank, which are read one after the other; odd strides are free, and equal words are broadcast
// (Best Practices Guide, "Shared Memory and Memory Banks").
#include "bench/experiments/experiment.hpp"

#include <numeric>

namespace {

constexpr const char* text = R"(
extern "C" __global__ void read(int* out) {
    __shared__ int words[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 3 * i;
    __syncthreads();
    volatile int* word = words + threadIdx.x % 32 * STRIDE;
    int sum = 0;
#pragma unroll 16
    for (int k = 0; k < ROUNDS; ++k) sum += *word;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
})";

void conflicts(experiment::Bench& bench) {
    using namespace experiment;
    const int rounds = bench.size(4096, 16);
    const auto blocks = bench.size<std::uint32_t>(2 * bench.device.properties().multiprocessors, 2);
    constexpr std::uint32_t threads = 1024;
    auto out = unwrap(bench.device.alloc<int>(std::size_t{blocks} * threads));
    Figure free;
    for (const int stride : {1, 0, 2, 3, 4, 5, 6, 8, 12, 16, 17, 24, 31, 32, 33}) {
        const auto read = bench.load<void(int*)>(
            text, "read", {define("STRIDE", stride), define("ROUNDS", rounds)});
        unwrap(out.zero());
        const auto time = bench.ms(
            [&] { return read.launch(bench.stream, {.grid = {blocks}, .block = {threads}}, out); });
        bench.expect(out, "every lane reads its word",
                     [&](std::size_t i) { return static_cast<int>(i % 32) * stride * 3 * rounds; });
        if (stride == 1) {
            free = time;
            bench.row("stride 1", time, "ms", reported("no conflict"));
            continue;
        }
        const int ways = stride == 0 ? 1 : std::gcd(32, stride);
        const char* note = stride == 0 ? "broadcast" : "gcd(32, stride)";
        bench.row("stride " + std::to_string(stride) + " beside stride 1", time / free, "x",
                  about(ways, 0.15, note));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Reads with stride s take gcd(32, s) times as long: odd strides are "
                           "free of conflicts, and a word that all lanes read is broadcast.",
                           conflicts);
}
