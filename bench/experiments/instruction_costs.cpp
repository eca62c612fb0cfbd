// The relative cost of instructions: multiplication of 24 bits, division, reciprocal square roots,
// powers, doubles (Best Practices Guide, "Arithmetic Instructions", "Math Libraries").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void repeat(const TYPE* in, TYPE* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    TYPE x = in[i];
    const TYPE y = in[i + 1];
#pragma unroll 8
    for (int k = 0; k < ROUNDS; ++k) x = EXPRESSION;
    out[i] = x;
})";

template <class T>
struct Pair {
    const char* name;
    const char* slow;
    const char* fast;
    double least;  ///< Gain.
    T (*exact)(T x, T y);
    double tolerance;  ///< Relative, of a round.
};

template <class T>
void measure(experiment::Bench& bench, const char* type, const Pair<T>& pair) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 20, std::size_t{1} << 8);
    const auto value = [](std::size_t i) { return static_cast<T>(1 + i % 7); };
    const auto in = bench.fill<T>(n + 1, value);
    auto out = unwrap(bench.device.alloc<T>(n));
    Figure slow;
    for (const bool fast : {false, true}) {
        const char* const expression = fast ? pair.fast : pair.slow;
        const auto kernel = [&](int rounds) {
            return bench.load<void(const T*, T*)>(
                text, "repeat",
                {{"TYPE", type}, {"EXPRESSION", expression}, define("ROUNDS", rounds)});
        };
        unwrap(kernel(1).launch(bench.stream, lode::cover(n), in, out));
        unwrap(bench.stream.sync());
        const auto found = unwrap(out.to_vector());
        for (std::size_t i = 0; i < n; ++i) {
            const auto exact = static_cast<double>(pair.exact(value(i), value(i + 1)));
            check(
                std::abs(static_cast<double>(found[i]) - exact) <= pair.tolerance * std::abs(exact),
                std::string(expression) + " is right");
        }
        const auto many = kernel(bench.size(256, 2));
        const auto time =
            bench.ms([&] { return many.launch(bench.stream, lode::cover(n), in, out); });
        if (!fast)
            slow = time;
        else
            bench.row(std::string(pair.fast) + " over " + pair.slow, slow / time, "x",
                      pair.least > 0 ? at_least(pair.least, pair.name) : reported(pair.name));
    }
}

void costs(experiment::Bench& bench) {
    using Float = Pair<float>;
    for (const Float& pair : {
             Float{"use rsqrtf", "1.0f / sqrtf(x + y)", "rsqrtf(x + y)", 1.5,
                   [](float x, float y) { return 1 / std::sqrt(x + y); }, 1e-6},
             Float{"use explicit products", "powf(x, 3.0f) * y", "x * x * x * y", 3,
                   [](float x, float y) { return x * x * x * y; }, 2e-6},
             Float{"use cbrtf", "powf(x + y, 1.0f / 3)", "cbrtf(x + y)", 1.1,
                   [](float x, float y) { return std::cbrt(x + y); }, 2e-6},
             Float{"use exp2f", "powf(2.0f, x - y)", "exp2f(x - y)", 1.5,
                   [](float x, float y) { return std::exp2(x - y); }, 2e-6},
             Float{"use sinpif", "sinf(3.14159265f * x * y / 64)", "sinpif(x * y / 64)", 1.1,
                   [](float x, float y) {
                       return static_cast<float>(std::sin(std::acos(-1.0) * x * y / 64));
                   },
                   1e-5},
             Float{"rintf is one instruction", "roundf(x * y)", "rintf(x * y)", 1.2,
                   [](float x, float y) { return x * y; }, 0},
             Float{"suffix f avoids doubles", "x * 0.5 + y * 0.25", "x * 0.5f + y * 0.25f", 1.5,
                   [](float x, float y) { return x * 0.5F + y * 0.25F; }, 0},
         })
        measure(bench, "float", pair);
    measure(bench, "int",
            Pair<int>{"once advised, slow now", "x * y + 1", "__mul24(x, y) + 1", 0,
                      [](int x, int y) { return x * y + 1; }, 0});
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Some expressions cost several times as much as others of the same "
                           "meaning; __mul24, once advised, is slower than a product today.",
                           costs);
}
