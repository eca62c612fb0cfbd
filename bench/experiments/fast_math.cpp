// What --use_fast_math gains and costs: the largest error of functions in both profiles beside the
// bounds of the Programming Guide (appendix D, tables 6 and 9), and their speed.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void apply(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
#pragma unroll 1
    for (int k = 1; k < ROUNDS; ++k) {
        const float y = FUNCTION;
        x = in[i] + 1e-30f * y;  // The next round needs this one's result.
    }
    out[i] = FUNCTION;
})";

struct Function {
    const char* name;
    const char* expression;
    double low, high;  ///< Arguments.
    double (*exact)(double);
    double ieee_ulp;
    double fast_ulp;       ///< 0: the bound is absolute.
    double fast_absolute;  ///< The fast profile's bound.
    double gain;           ///< Least speed-up that is expected.
};

/// |found - exact| in units in the last place of the float nearest to `exact`.
double error_in_ulp(float found, double exact) {
    const int exponent = std::max(std::ilogb(exact), -126);
    return std::abs(found - exact) / std::ldexp(1.0, exponent - 23);
}

void accuracy_and_speed(experiment::Bench& bench) {
    using namespace experiment;
    const double pi = std::acos(-1.0);
    // The bound of __expf grows with the argument: 2 + floor(1.16 |x|).
    const Function functions[] = {
        {"sinf", "sinf(x)", -pi, pi, [](double x) { return std::sin(x); }, 2, 0, 0x1p-21 * 0.7526,
         2},
        {"cosf", "cosf(x)", -pi, pi, [](double x) { return std::cos(x); }, 2, 0, 0x1p-21 * 0.8766,
         2},
        {"expf", "expf(x)", -10, 10, [](double x) { return std::exp(x); }, 2, 13, 0, 1.1},
        {"logf", "logf(x)", 2, 1e6, [](double x) { return std::log(x); }, 1, 3, 0, 1.5},
        {"log2f", "log2f(x)", 2, 1e6, [](double x) { return std::log2(x); }, 1, 2, 0, 1.2},
        {"sqrtf", "sqrtf(x)", 1e-3, 1e6, [](double x) { return std::sqrt(x); }, 0.5, 3, 0, 1.2},
        {"1/x", "1.0f / x", 1e-3, 1e6, [](double x) { return 1 / x; }, 0.5, 1, 0, 1.2},
        {"3/x", "3.0f / x", 1e-3, 1e6, [](double x) { return 3 / x; }, 0.5, 2, 0, 1.2},
        {"rsqrtf", "rsqrtf(x)", 1e-3, 1e6, [](double x) { return 1 / std::sqrt(x); }, 2, 2, 0, 0.9},
    };
    const std::size_t n = bench.size(std::size_t{1} << 21, std::size_t{1} << 11);
    auto out = unwrap(bench.device.alloc<float>(n));
    for (const Function& function : functions) {
        const auto argument = [&](std::size_t i) {
            return static_cast<float>(function.low + (function.high - function.low) *
                                                         (static_cast<double>(i) + 0.5) /
                                                         static_cast<double>(n));
        };
        const auto in = bench.fill<float>(n, argument);
        Figure ieee_time;
        for (const bool fast : {false, true}) {
            lode::KernelOptions options;
            if (fast) options.compile.math.preset = lode::Math::Preset::fast;
            const auto apply = bench.load<void(const float*, float*, int)>(
                text, "apply",
                {{"FUNCTION", function.expression}, define("ROUNDS", bench.size(200, 2))}, options);
            const auto time = bench.ms([&] {
                return apply.launch(bench.stream, lode::cover(n), in, out, static_cast<int>(n));
            });
            const auto found = unwrap(out.to_vector());
            double ulp = 0;
            double absolute = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const double exact = function.exact(argument(i));
                ulp = std::max(ulp, error_in_ulp(found[i], exact));
                absolute = std::max(absolute, std::abs(found[i] - exact));
            }
            const std::string name = std::string(function.name) + (fast ? ", fast" : ", IEEE");
            if (!fast) {
                // Half a unit more: the bound counts from the rounded result.
                check(ulp <= function.ieee_ulp + 0.5, name + " keeps its bound");
                bench.row(name, ulp, "ulp", at_most(function.ieee_ulp + 0.5));
                ieee_time = time;
                continue;
            }
            if (function.fast_ulp == 0) {
                bench.row(name, absolute * 0x1p21, "2^-21",
                          at_most(function.fast_absolute * 0x1p21));
                bench.row(name + ", near zeros", ulp, "ulp", reported("the bound is absolute"));
            } else {
                bench.row(name, ulp, "ulp", at_most(function.fast_ulp + 0.5));
            }
            bench.row(name + ", gain", ieee_time / time, "x", at_least(function.gain));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Fast functions are faster and less accurate, within the bounds of the "
                           "Programming Guide: 2^-21.41 for __sinf, 2 + 1.16 |x| ulp for __expf.",
                           accuracy_and_speed);
}
