// Adds a million numbers with clusters: blocks that run at the same time and read each other's
// shared memory, so that only one block of each cluster touches the result. A device without
// clusters adds block by block.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using Sum = unsigned long long;

void cluster() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto library = lode::unwrap(device.load(
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("total.cu"))))));
    const bool has_clusters = device.properties().cluster_launch;
    const auto total = lode::unwrap(library.kernel<void(const unsigned*, int, Sum*)>(
        has_clusters ? "by_clusters" : "by_blocks"));

    constexpr int n = 1'000'000;
    std::vector<unsigned> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<unsigned>(i) * 2654435761U;  // Spreads over all 32 bits.
    const Sum expected = std::accumulate(values.begin(), values.end(), Sum{0});
    const auto x = lode::unwrap(device.upload(values));
    auto result = lode::unwrap(device.alloc<Sum>(1));
    lode::unwrap(result.zero());

    lode::LaunchShape shape{.grid = {128}, .block = {256}};
    if (has_clusters) {
        // The largest cluster that every device with clusters runs, if this kernel fits into it.
        shape.cluster = {static_cast<std::uint32_t>(
            lode::unwrap(lode::max_cluster_size(total.untyped(), shape)))};
        std::printf("%u blocks in a cluster, %d clusters at once on %s\n", shape.cluster.x,
                    lode::unwrap(lode::max_active_clusters(total.untyped(), shape)),
                    device.name().c_str());
    } else {
        std::printf("%s has no clusters\n", device.name().c_str());
    }
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(total.launch(stream, shape, x, n, result));
    lode::unwrap(stream.sync());
    const Sum sum = lode::unwrap(result.to_vector()).front();
    std::printf("the sum is %llu\n", sum);
    sample::check(sum == expected, "the sum is right");

    // The blocks of a grid must fill its clusters.
    shape.grid.x = 127;
    shape.cluster = {2};
    const auto refused = total.launch(stream, shape, x, n, result);
    sample::check(!refused, "an incomplete cluster is refused");
    std::printf("127 blocks in clusters of 2: %s\n", refused.error().message.c_str());
}

}  // namespace

int main() {
    return sample::run(cluster);
}
