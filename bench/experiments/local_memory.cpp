// An array of a thread: in registers if all its indices are known when it is compiled, and
// otherwise in local memory (Best Practices Guide, "Local Memory").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void mix(int* out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int own[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) own[k] = i + k;
    for (int round = 0; round < rounds; ++round) {
#if KNOWN
#pragma unroll
        for (int k = 0; k < 16; ++k) own[(k + 5) % 16] += own[k] ^ round;
#else
#pragma unroll 1
        for (int k = 0; k < 16; ++k) own[(k + 5) % 16] += own[k] ^ round;
#endif
    }
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += own[k];
    out[i] = sum;
})";

void local_memory(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 20, std::size_t{1} << 9);
    const int rounds = bench.size(100, 3);
    auto out = unwrap(bench.device.alloc<int>(n));
    Figure dynamic;
    for (const int known : {0, 1}) {
        lode::KernelOptions options;
        options.compile.definitions = {define("KNOWN", known)};
        const auto image =
            unwrap(bench.device.compile(lode::Source::text(text, "mix.cu"), options));
        const auto* cost = image.resources_of("mix");
        const auto library = unwrap(bench.device.load(image));
        const auto mix = unwrap(library.kernel<void(int*, int)>("mix"));
        unwrap(out.zero());
        const auto time =
            bench.ms([&] { return mix.launch(bench.stream, lode::cover(n), out, rounds); });
        bench.expect(out, "every sum is right", [&](std::size_t i) {
            unsigned own[16];
            for (unsigned k = 0; k < 16; ++k)
                own[k] = static_cast<unsigned>(i) + k;
            for (int round = 0; round < rounds; ++round)
                for (unsigned k = 0; k < 16; ++k)
                    own[(k + 5) % 16] += own[k] ^ static_cast<unsigned>(round);
            unsigned sum = 0;
            for (const unsigned x : own)
                sum += x;
            return static_cast<int>(sum);
        });
        const std::string name = known ? "indices known" : "indices not known";
        if (cost != nullptr) {
            const Expectation bytes = known ? at_most(0) : at_least(64, "16 integers");
            bench.row(name + ", local memory", static_cast<double>(cost->stack_bytes), "bytes",
                      bytes);
            bench.row(name + ", registers", cost->registers, "", reported());
        }
        bench.row(name, time, "ms", reported());
        if (known) bench.row("  gain", dynamic / time, "x", at_least(2));
        dynamic = time;
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "An array whose indices are constants lives in registers; others are in "
                           "local memory, which is as slow as global memory.",
                           local_memory);
}
