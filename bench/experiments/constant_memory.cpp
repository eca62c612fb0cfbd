// Constant memory: one word for a whole warp costs as little as a register, different words are
// read one after the other (Best Practices Guide, "Constant Memory").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
__constant__ int table_in_constant[1024];
extern "C" __global__ void look_up(const int* __restrict__ table_in_global, int* out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % DIFFERENT;
    const int* const table = IN_CONSTANT ? table_in_constant : table_in_global;
    int sum = 0;
#pragma unroll 4
    for (int k = 0; k < rounds; ++k) sum += table[(k + lane * 33) & 1023];
    out[i] = sum;
})";

void constants(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 20, std::size_t{1} << 9);
    const int rounds = bench.size(1024, 8);
    const auto value = [](std::size_t i) { return static_cast<int>(i * 7919 % 1021); };
    const auto global = bench.fill<int>(1024, value);
    auto out = unwrap(bench.device.alloc<int>(n));
    Figure uniform[2];
    for (const int in_constant : {1, 0}) {
        for (const int different : {1, 2, 4, 8, 32}) {
            lode::KernelOptions options;
            options.compile.definitions = {define("IN_CONSTANT", in_constant),
                                           define("DIFFERENT", different)};
            const auto library = unwrap(bench.device.load(
                unwrap(bench.device.compile(lode::Source::text(text, "look_up.cu"), options))));
            if (in_constant) {
                const auto values = unwrap(global.to_vector());
                unwrap(library.write_global("table_in_constant", values.data(),
                                            values.size() * sizeof(int)));
            }
            const auto look_up = unwrap(library.kernel<void(const int*, int*, int)>("look_up"));
            unwrap(out.zero());
            const auto time = bench.ms(
                [&] { return look_up.launch(bench.stream, lode::cover(n), global, out, rounds); });
            const auto found = unwrap(out.to_vector());
            for (std::size_t i = 0; i < n; i += bench.size<std::size_t>(997, 1)) {
                int sum = 0;
                for (int k = 0; k < rounds; ++k)
                    sum += value((k + i % 32 % different * 33) % 1024);
                check(found[i] == sum, "every sum is right");
            }
            const std::string name = std::to_string(different) +
                                     (different == 1 ? " word" : " words") + " a warp, " +
                                     (in_constant ? "constant" : "global");
            if (different == 1) uniform[in_constant] = time;
            if (different == 1)
                bench.row(name, time, "ms", reported());
            else
                bench.row(
                    name + ", beside 1 word", time / uniform[in_constant], "x",
                    in_constant ? at_least(different * 0.7, "one after the other") : reported());
            if (different == 32 && !in_constant)
                bench.row("1 word: constant beside global", uniform[0] / uniform[1], "x",
                          at_least(0.9, "as fast as global memory in the L1 cache"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "The constant cache serves one word at a time: fast if all lanes read "
                           "the same, n times slower for n words.",
                           constants);
}
