// Small kernels on several streams run at the same time; on one stream one after the other
// (Programming Guide, "Concurrent Kernel Execution").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void spin(unsigned* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) value = value * 1664525u + 1013904223u;
    x[i] = value;
})";

void concurrent(experiment::Bench& bench) {
    using namespace experiment;
    const int rounds = bench.size(200'000, 20);
    const auto spin = bench.load<void(unsigned*)>(text, "spin", {define("ROUNDS", rounds)});
    constexpr int most = 32;
    constexpr std::size_t threads = 4 * 64;
    std::vector<lode::Stream> streams;
    for (int i = 0; i < most; ++i)
        streams.push_back(unwrap(bench.device.create_stream()));
    auto out = unwrap(bench.device.alloc<unsigned>(most * threads));
    std::vector<unsigned> expected(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        auto value = static_cast<unsigned>(i);
        for (int k = 0; k < rounds; ++k)
            value = value * 1664525U + 1013904223U;
        expected[i] = value;
    }
    Figure one;
    for (const int kernels : {1, 2, 8, most}) {
        for (const bool several : {false, true}) {
            if (kernels == 1 && several) continue;
            unwrap(out.zero());
            const auto time = bench.host_ms([&] {
                for (int k = 0; k < kernels; ++k)
                    unwrap(spin.launch(streams[several ? k : 0], {.grid = {4}, .block = {64}},
                                       out.data() + threads * k));
            });
            bench.expect(out, "every kernel has run", [&](std::size_t i) {
                return i < threads * kernels ? expected[i % threads] : 0;
            });
            if (kernels == 1) {
                one = time;
                bench.row("1 kernel", time, "ms", reported());
                continue;
            }
            const std::string name =
                std::to_string(kernels) +
                (several ? " kernels on as many streams" : " kernels on one stream");
            bench.row(name + " beside 1", time / one, "x", about(several ? 1 : kernels, 0.25));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Kernels of different streams run at the same time while the device has "
                           "room: n small kernels take as long as one.",
                           concurrent);
}
