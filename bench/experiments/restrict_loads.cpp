// const __restrict__ lets the compiler read through the read-only cache and keep what it has read
// (Programming Guide, "__restrict__", "Read-Only Data Cache Load Function").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void smooth(const float* RESTRICT a, const float* RESTRICT b, float* RESTRICT x, float* RESTRICT y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] = a[i] * b[i];
        y[i] = a[i] + b[i];  // Unless the arrays overlap, a[i] and b[i] are still known.
    }
})";

std::size_t count(const std::string& in, const std::string& what) {
    std::size_t found = 0;
    for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1))
        ++found;
    return found;
}

void restricted(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 26, std::size_t{1} << 12);
    const auto a = [](std::size_t i) { return static_cast<float>(i % 251); };
    const auto b = [](std::size_t i) { return static_cast<float>(i % 127); };
    const auto device_a = bench.fill<float>(n, a);
    const auto device_b = bench.fill<float>(n, b);
    auto x = unwrap(bench.device.alloc<float>(n));
    auto y = unwrap(bench.device.alloc<float>(n));
    Figure plain;
    for (const bool restrict : {false, true}) {
        lode::KernelOptions options;
        options.compile.definitions = {{"RESTRICT", restrict ? "__restrict__" : ""}};
        options.compile.extra_flags = {"--extra-device-vectorization"};
        const auto image =
            unwrap(bench.device.compile(lode::Source::text(text, "smooth.cu"), options));
        const std::string name = restrict ? "__restrict__" : "plain pointers";
        bench.row(name + ", loads in the PTX", static_cast<double>(count(image.ptx, "ld.global")),
                  "", reported());
        bench.row(name + ", of them read-only",
                  static_cast<double>(count(image.ptx, "ld.global.nc")), "",
                  restrict ? at_least(1) : at_most(0));
        const auto library = unwrap(bench.device.load(image));
        const auto smooth =
            unwrap(library.kernel<void(const float*, const float*, float*, float*, int)>("smooth"));
        unwrap(x.zero());
        unwrap(y.zero());
        const auto time = bench.ms([&] {
            return smooth.launch(bench.stream, lode::cover(n / 8), device_a, device_b, x, y,
                                 static_cast<int>(n));
        });
        bench.expect(x, "every product is right", [&](std::size_t i) { return a(i) * b(i); });
        bench.expect(y, "every sum is right", [&](std::size_t i) { return a(i) + b(i); });
        bench.row(name, Bench::gb_per_s(4.0 * sizeof(float) * static_cast<double>(n), time), "GB/s",
                  reported());
        if (restrict) bench.row("  gain", plain / time, "x", at_least(0.98));
        plain = time;
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(
        argc, argv,
        "const __restrict__ gives ld.global.nc and fewer loads; it may need more "
        "registers.",
        restricted);
}
