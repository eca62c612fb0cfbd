// A copy with 4, 8 and 16 bytes a thread: one instruction each (Programming Guide, "Size and
// Alignment Requirement"), and a structure of 12 bytes, which takes three.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void copy(ELEMENT* out, const ELEMENT* in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
})";

void widths(experiment::Bench& bench) {
    using namespace experiment;
    // Few blocks, so that the number of accesses in flight limits the bandwidth; then many.
    const auto multiprocessors =
        static_cast<std::uint32_t>(bench.device.properties().multiprocessors);
    const std::size_t n = bench.size<std::size_t>(3U << 25, 3U << 10);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 8191); };
    const auto in = bench.fill<float>(n, value);
    auto out = unwrap(bench.device.alloc<float>(n));
    for (const bool full : {false, true}) {
        const auto grid =
            full ? lode::cover(n).grid.x : bench.size<std::uint32_t>(multiprocessors, 2);
        Figure scalar;
        for (const int width : {1, 2, 3, 4}) {
            const std::string element = width == 1 ? "float" : "float" + std::to_string(width);
            const auto copy =
                bench.load<void(void*, const void*, int)>(text, "copy", {{"ELEMENT", element}});
            const auto blocks = full ? grid / static_cast<std::uint32_t>(width) : grid;
            unwrap(out.zero());
            const auto time = bench.ms([&] {
                return copy.launch(bench.stream, {.grid = {blocks}, .block = {256}}, out.data(),
                                   in.data(), static_cast<int>(n) / width);
            });
            bench.expect(out, "every element is copied", value);
            const auto bandwidth =
                Bench::gb_per_s(2.0 * sizeof(float) * static_cast<double>(n), time);
            const std::string name =
                element + (full ? ", a thread an element" : ", one block a multiprocessor");
            bench.row(name, bandwidth, "GB/s", reported());
            if (width == 1)
                scalar = bandwidth;
            else if (width != 3)
                bench.row("  beside float", bandwidth / scalar, "x",
                          at_least(full ? 0.95 : 1.0 + 0.2 * (width - 1),
                                   full ? "the memory limits" : "more bytes under way"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Aligned elements of 8 and 16 bytes move with one instruction: with few "
                           "threads they move more. Elements of 12 bytes take three.",
                           widths);
}
