// Adds a million numbers with clusters: blocks that run at the same time and read each other's
// shared memory, so that only one block of each cluster touches the result. A device without
// clusters adds block by block.
//
//     cmake -B build && cmake --build build && build/21_cluster
//     …
//     the sum is 2147478263136480
//     127 blocks in clusters of 2: …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

using Sum = unsigned long long;

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto library =
        unwrap(device.load(unwrap(device.compile(lode_embedded::kernels()[0].source()))));
    const bool has_clusters = device.properties().cluster_launch;
    const auto total = unwrap(library.kernel<void(const unsigned*, int, Sum*)>(
        has_clusters ? "by_clusters" : "by_blocks"));

    constexpr int n = 1'000'000;
    std::vector<unsigned> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<unsigned>(i) * 2654435761U;  // Spreads over all 32 bits.
    const Sum expected = std::accumulate(values.begin(), values.end(), Sum{0});
    const auto x = unwrap(device.upload(values));
    auto result = unwrap(device.alloc<Sum>(1));
    unwrap(result.zero());

    lode::LaunchShape shape{.grid = {128}, .block = {256}};
    if (has_clusters) {
        // The largest cluster that every device with clusters runs, if this kernel fits into it.
        shape.cluster = {
            static_cast<std::uint32_t>(unwrap(lode::max_cluster_size(total.untyped(), shape)))};
        std::printf("%u blocks in a cluster, %d clusters at once on %s\n", shape.cluster.x,
                    unwrap(lode::max_active_clusters(total.untyped(), shape)),
                    device.name().c_str());
    } else {
        std::printf("%s has no clusters\n", device.name().c_str());
    }
    const auto stream = unwrap(device.create_stream());
    unwrap(total.launch(stream, shape, x, n, result));
    unwrap(stream.sync());
    const Sum sum = unwrap(result.to_vector()).front();
    std::printf("the sum is %llu\n", sum);
    check(sum == expected, "the sum is right");

    // The blocks of a grid must fill its clusters.
    shape.grid.x = 127;
    shape.cluster = {2};
    const auto refused = total.launch(stream, shape, x, n, result);
    check(!refused, "an incomplete cluster is refused");
    std::printf("127 blocks in clusters of 2: %s\n", refused.error().message.c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
