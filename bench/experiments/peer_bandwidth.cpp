// Two devices: copies from one to the other, and a kernel that reads the other's memory directly
// (Programming Guide, "Peer-to-Peer Memory Access" and "Peer-to-Peer Memory Copy").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void copy(float* out, const float* in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
})";

void peers(experiment::Bench& bench) {
    using namespace experiment;
    if (bench.runtime.device_count() < 2)
        throw lode::Exception(
            {.code = lode::Errc::no_device, .message = "This experiment needs two devices"});
    const auto other = unwrap(bench.runtime.device(1));
    const std::size_t n = bench.size(std::size_t{1} << 26, std::size_t{1} << 12);
    const double bytes = sizeof(float) * static_cast<double>(n);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 8191); };
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = value(i);
    const auto theirs = unwrap(other.upload(values));
    auto mine = unwrap(bench.device.alloc<float>(n));
    const auto copy = bench.load<void(float*, const float*, int)>(text, "copy");
    const auto measure = [&](const auto& enqueue) {
        unwrap(mine.zero());
        const auto bandwidth = Bench::gb_per_s(bytes, bench.ms(enqueue));
        bench.expect(mine, "every element is copied", value);
        return bandwidth;
    };
    const auto staged = measure([&] { return mine.copy_from_async(bench.stream, theirs); });
    bench.row("copy without peer access", staged, "GB/s", reported());
    if (!unwrap(lode::can_access_peer(bench.device, other))) {
        bench.remark("These devices can't access each other's memory.");
        return;
    }
    unwrap(lode::enable_peer_access(bench.device, other));
    const auto direct = measure([&] { return mine.copy_from_async(bench.stream, theirs); });
    bench.row("copy with peer access", direct, "GB/s", reported());
    bench.row("  gain", direct / staged, "x", at_least(0.95, "faster if it went by the host"));
    const auto read = measure([&] {
        return copy.launch(bench.stream, lode::cover(n), mine, theirs, static_cast<int>(n));
    });
    bench.row("kernel that reads the other's memory", read, "GB/s", reported());
    bench.row("  beside the copy", read / direct, "x", at_least(0.5));
    unwrap(lode::disable_peer_access(bench.device, other));
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "With peer access, copies between devices don't go by the host's "
                           "memory, and kernels use the other's memory directly.",
                           peers);
}
