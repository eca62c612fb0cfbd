// A number that is a definition instead of an argument: division and remainder become
// multiplications and shifts (Best Practices Guide, "Division Modulo Operations").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void divide(unsigned* out, unsigned divisor) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef DIVISOR
    divisor = DIVISOR;
#endif
    unsigned x = i * 2654435761u;
#pragma unroll 4
    for (int k = 0; k < ROUNDS; ++k) x = x / divisor + x % divisor * 40503u + k;
    out[i] = x;
})";

void specialisation(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 22, std::size_t{1} << 10);
    const int rounds = bench.size(256, 4);
    auto out = unwrap(bench.device.alloc<unsigned>(n));
    const auto one =
        bench.load<void(unsigned*, unsigned)>(text, "divide", {define("ROUNDS", rounds)});
    for (const unsigned divisor : {7U, 1000U, 64U}) {
        const auto other = bench.load<void(unsigned*, unsigned)>(
            text, "divide", {define("ROUNDS", rounds), define("DIVISOR", divisor)});
        const auto measure = [&](const auto& kernel) {
            unwrap(out.zero());
            const auto time =
                bench.ms([&] { return kernel.launch(bench.stream, lode::cover(n), out, divisor); });
            bench.expect(out, "every quotient is right", [&](std::size_t i) {
                auto x = static_cast<unsigned>(i) * 2654435761U;
                for (int k = 0; k < rounds; ++k)
                    x = x / divisor + x % divisor * 40503U + static_cast<unsigned>(k);
                return x;
            });
            return time;
        };
        const auto argument = measure(one);
        const auto definition = measure(other);
        const std::string name = "by " + std::to_string(divisor);
        bench.row(name + ", an argument", argument, "ms", reported());
        bench.row(name + ", a definition", definition, "ms", reported());
        bench.row("  gain", argument / definition, "x",
                  at_least(divisor == 64 ? 3 : 1.5, divisor == 64 ? "shifts" : "multiplications"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Integer division is expensive; by a literal it becomes a few cheap "
                           "instructions, and by a power of two a shift.",
                           specialisation);
}
