// A copy whose addresses are shifted: a warp then touches one more sector of 32 bytes than it needs
// (Best Practices Guide, "A Simple Access Pattern" and "A Sequential but Misaligned Access
// Pattern").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void offset_copy(float* out, const float* in) {
    const int i = blockIdx.x * blockDim.x * ELEMENTS + threadIdx.x + OFFSET;
    float own[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; ++k) own[k] = in[i + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < ELEMENTS; ++k) out[i + k * blockDim.x] = own[k];
})";

void offsets(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::size_t most = 32;
    const std::size_t n = bench.size(std::size_t{1} << 26, std::size_t{1} << 12);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 4093); };
    const auto in = bench.fill<float>(n + most, value);
    auto out = unwrap(bench.device.alloc<float>(n + most));
    constexpr std::size_t threads = 256;
    // Each thread of the guide's kernel has 4 bytes on their way, which is too little for a memory
    // of today; with four elements a thread the memory is the limit.
    for (const std::size_t elements : {1, 4}) {
        Figure aligned;
        const std::string each = elements == 1 ? "" : ", 4 elements a thread";
        for (const std::size_t offset : {0, 1, 2, 4, 7, 8, 12, 16, 17, 24, 32}) {
            if (elements == 4 && offset % 8 > 1) continue;
            const auto copy = bench.load<void(float*, const float*)>(
                text, "offset_copy",
                {define("OFFSET", static_cast<long long>(offset)),
                 define("ELEMENTS", static_cast<long long>(elements))});
            unwrap(out.zero());
            const auto shape = lode::cover(n / elements, threads);
            const auto time = bench.ms([&] { return copy.launch(bench.stream, shape, out, in); });
            bench.expect(unwrap(out.span().subspan(offset, n)), "every element is copied",
                         [&](std::size_t i) { return value(i + offset); });
            const auto bandwidth =
                Bench::gb_per_s(2.0 * sizeof(float) * static_cast<double>(n), time);
            if (offset == 0) {
                aligned = bandwidth;
                bench.row("offset 0" + each, bandwidth, "GB/s",
                          reported("M2090: 130 GB/s of 177.6"));
                bench.row("offset 0, of the theoretical bandwidth" + each,
                          bandwidth / Figure{bench.theoretical_gb_per_s() / 100}, "%",
                          elements == 1 ? reported("4 bytes a thread on their way")
                                        : at_least(75, "M2090: 73"));
                continue;
            }
            const bool whole_sectors = offset % 8 == 0;
            bench.row("offset " + std::to_string(offset) + " beside offset 0" + each,
                      bandwidth / aligned, "x",
                      whole_sectors ? at_least(0.95, "whole sectors")
                                    : at_least(0.8, "M2090: 4/5; V100: 0.9"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "A misaligned copy reaches 4/5 of an aligned one; about 9/10 where "
                           "caches reuse the shared sectors.",
                           offsets);
}
