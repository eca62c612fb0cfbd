// Two devices: a kernel on the first reads the second's memory, directly where the link allows it
// and from a copy where it doesn't.
//
// It needs two devices; LODE_EMULATOR_DEVICES=sm_90,sm_90 gives the software device two.
//
//     cmake -B build && cmake --build build && build/17_peers
//     … reads the memory of … from a copy
//     …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    if (runtime.device_count() < 2) throw std::runtime_error("This sample needs two devices.");
    const auto first = unwrap(runtime.device(0));
    const auto second = unwrap(runtime.device(1));
    const auto gather = unwrap(first.load<void(const int*, const int*, int*, int)>(
        lode_embedded::kernels()[0].source(), "gather"));

    constexpr int n = 1'000'000;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = i;
    const auto mine = unwrap(first.upload(values));
    const auto theirs = unwrap(second.upload(values));
    auto copy = unwrap(first.alloc<int>(n));
    auto sum = unwrap(first.alloc<int>(n));
    const auto stream = unwrap(first.create_stream());
    const auto check_sum = [&](const char* how) {
        unwrap(stream.sync());
        const auto result = unwrap(sum.to_vector());
        for (int i = 0; i < n; ++i)
            check(result[i] == 2 * i, "every sum is right");
        std::printf("%s reads the memory of %s %s\n", first.name().c_str(), second.name().c_str(),
                    how);
        unwrap(sum.zero());
    };

    // Without access a launch refuses the other device's memory, but copies work.
    const auto refused = gather.launch(stream, lode::cover(n), mine, theirs, sum, n);
    check(!refused, "memory without access is refused");
    unwrap(copy.copy_from_async(stream, theirs));
    unwrap(gather.launch(stream, lode::cover(n), mine, copy, sum, n));
    check_sum("from a copy");

    if (!unwrap(lode::can_access_peer(first, second))) {
        std::printf("The link allows no direct access.\n");
        return 0;
    }
    unwrap(lode::enable_peer_access(first, second));
    unwrap(gather.launch(stream, lode::cover(n), mine, theirs, sum, n));
    check_sum("directly");
    unwrap(lode::disable_peer_access(first, second));
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
