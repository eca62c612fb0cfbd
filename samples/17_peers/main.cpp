// Two devices: a kernel on the first reads the second's memory, directly where the link allows it
// and from a copy where it doesn't. With fewer than two devices the sample is skipped.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <vector>

namespace {

void peers() {
    const auto runtime = sample::open_runtime();
    if (runtime.device_count() < 2)
        throw lode::Exception(
            {.code = lode::Errc::no_device, .message = "The sample needs two devices"});
    const auto first = lode::unwrap(runtime.device(0));
    const auto second = lode::unwrap(runtime.device(1));
    const auto gather = lode::unwrap(first.load<void(const int*, const int*, int*, int)>(
        lode::Source::file(sample::kernel_file("gather.cu")), "gather"));

    constexpr int n = 1'000'000;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = i;
    const auto mine = lode::unwrap(first.upload(values));
    const auto theirs = lode::unwrap(second.upload(values));
    auto copy = lode::unwrap(first.alloc<int>(n));
    auto sum = lode::unwrap(first.alloc<int>(n));
    const auto stream = lode::unwrap(first.create_stream());
    const auto check_sum = [&](const char* how) {
        lode::unwrap(stream.sync());
        const auto result = lode::unwrap(sum.to_vector());
        for (int i = 0; i < n; ++i)
            sample::check(result[i] == 2 * i, "every sum is right");
        std::printf("%s reads the memory of %s %s\n", first.name().c_str(), second.name().c_str(),
                    how);
        lode::unwrap(sum.zero());
    };

    // Without access a launch refuses the other device's memory, but copies work.
    const auto refused = gather.launch(stream, lode::cover(n), mine, theirs, sum, n);
    sample::check(!refused, "memory without access is refused");
    lode::unwrap(copy.copy_from_async(stream, theirs));
    lode::unwrap(gather.launch(stream, lode::cover(n), mine, copy, sum, n));
    check_sum("from a copy");

    if (!lode::unwrap(lode::can_access_peer(first, second))) {
        std::printf("The link allows no direct access.\n");
        return;
    }
    lode::unwrap(lode::enable_peer_access(first, second));
    lode::unwrap(gather.launch(stream, lode::cover(n), mine, theirs, sum, n));
    check_sum("directly");
    lode::unwrap(lode::disable_peer_access(first, second));
}

}  // namespace

int main() {
    return sample::run(peers);
}
