// A kernel that uses mapped host memory, beside copies and a kernel on the device's memory (Best
// Practices Guide, "Zero Copy"): it pays for data that is read and written once, in order.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void work(const float* in, float* out, int n) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x);
    const int at = SCATTERED ? int(i * 40503ll % n) : i;  // n is a power of two: every element.
    if (i >= n) return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < READS; ++k) sum += ((volatile const float*)in)[at];
    out[at] = sum;
})";

void zero_copy(experiment::Bench& bench) {
    using namespace experiment;
    const int n = bench.size(1 << 24, 1 << 12);
    const auto host_in = unwrap(bench.device.alloc_pinned<float>(n));
    const auto host_out = unwrap(bench.device.alloc_pinned<float>(n));
    for (int i = 0; i < n; ++i)
        host_in[i] = static_cast<float>(i % 1021);
    auto in = unwrap(bench.device.alloc<float>(n));
    const auto out = unwrap(bench.device.alloc<float>(n));
    const auto mapped_in = unwrap(host_in.device_span());
    const auto mapped_out = unwrap(host_out.device_span());
    const auto measure = [&](const std::string& name, int reads, int scattered,
                             const Expectation& gain) {
        const auto work = bench.load<void(const float*, float*, int)>(
            text, "work", {define("READS", reads), define("SCATTERED", scattered)});
        const auto verify = [&] {
            for (int i = 0; i < n; ++i)
                check(host_out[i] == static_cast<float>(reads) * host_in[i],
                      "every element is right");
            std::fill(host_out.begin(), host_out.end(), -1.0F);
        };
        const auto copied = bench.ms([&] {
            unwrap(in.copy_from_async(bench.stream, host_in.span()));
            unwrap(work.launch(bench.stream, lode::cover(n), in, out, n));
            return out.copy_to_async(bench.stream, host_out.span());
        });
        verify();
        const auto mapped = bench.ms(
            [&] { return work.launch(bench.stream, lode::cover(n), mapped_in, mapped_out, n); });
        verify();
        bench.row(name + ", copies", copied, "ms", reported());
        bench.row(name + ", mapped", mapped, "ms", reported());
        bench.row("  gain", copied / mapped, "x", gain);
    };
    measure("read once, in order", 1, 0, at_least(1, "copies and kernel overlap"));
    measure("read eight times", 8, 0, at_most(1, "every read goes over the bus"));
    measure("read once, scattered", 1, 1, at_most(1, "not coalesced"));
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Mapped host memory is faster than copies if each element is used once "
                           "and accesses are coalesced, and slower otherwise.",
                           zero_copy);
}
