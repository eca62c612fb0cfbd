// sinf has a slow path for arguments above 105615, in local memory; __sinf has none, and is wrong
// there (Programming Guide, "Arithmetic Instructions": trigonometric functions).
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void sines(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) sum += FUNCTION(in[i] + k);
    out[i] = sum;
})";

void slow_path(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 20, std::size_t{1} << 8);
    const int rounds = bench.size(64, 2);
    auto out = unwrap(bench.device.alloc<float>(n));
    Figure precise[2];
    for (const char* function : {"sinf", "__sinf"}) {
        const bool fast = function[0] == '_';
        lode::KernelOptions options;
        options.compile.definitions = {{"FUNCTION", function}, define("ROUNDS", rounds)};
        const auto image =
            unwrap(bench.device.compile(lode::Source::text(text, "sines.cu"), options));
        const auto* cost = image.resources_of("sines");
        if (cost != nullptr) {
            bench.row(std::string(function) + ", registers", cost->registers, "",
                      reported(fast ? "2 in 2010" : "10 in 2010"));
            bench.row(std::string(function) + ", local memory",
                      static_cast<double>(cost->stack_bytes), "bytes",
                      fast ? at_most(0) : at_least(1, "28 in 2010"));
        }
        const auto library = unwrap(bench.device.load(image));
        const auto sines = unwrap(library.kernel<void(const float*, float*)>("sines"));
        for (const bool large : {false, true}) {
            const float base = large ? 200'000.0F : 1.0F;
            const auto argument = [&](std::size_t i) {
                return base + static_cast<float>(i % 1024) / 64;
            };
            const auto in = bench.fill<float>(n, argument);
            const auto time =
                bench.ms([&] { return sines.launch(bench.stream, lode::cover(n), in, out); });
            const auto found = unwrap(out.to_vector());
            double error = 0;
            for (std::size_t i = 0; i < std::min<std::size_t>(n, 1024); ++i) {
                double sum = 0;
                for (int k = 0; k < rounds; ++k)
                    sum += std::sin(static_cast<double>(argument(i) + static_cast<float>(k)));
                error = std::max(error, std::abs(found[i] - sum) / rounds);
            }
            const std::string name =
                std::string(function) + (large ? " above 105615" : " of small arguments");
            if (!fast) check(error <= 1e-5, name + " is right");
            bench.row(name + ", error", error, "", fast ? reported() : at_most(1e-5));
            bench.row(name, time, "ms", reported());
            if (!fast)
                precise[large] = time;
            else
                bench.row("  gain", precise[large] / time, "x", at_least(large ? 5 : 1.5));
        }
        if (!fast)
            bench.row("sinf, large beside small arguments", precise[1] / precise[0], "x",
                      at_least(2, "an order of magnitude"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "sinf is an order of magnitude slower above 105615, where it uses local "
                           "memory; __sinf isn't, but has no accuracy there.",
                           slow_path);
}
