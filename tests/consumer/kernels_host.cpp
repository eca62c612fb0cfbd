// A host that calls lode's own kernels: it sorts pairs, counts, selects, scans and reduces, and
// prints 42.
#include <lode/base/unwrap.hpp>
#include <lode/kernels.hpp>
#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using lode::unwrap;

int run() {
    const auto runtime = unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto device = unwrap(runtime.device());
    const auto stream = unwrap(device.create_stream());
    const lode::VariantLoader loader(runtime, device);
    const auto sort = unwrap(lode::kernels::SortPairs<float>::load(loader));
    const auto select =
        unwrap(lode::kernels::Select<std::uint32_t>::load(loader, {.predicate = "x % 2 == 0"}));
    const auto scan = unwrap(lode::kernels::Scan<std::uint32_t>::load(loader));
    const auto largest = unwrap(lode::kernels::Reduce<std::uint32_t>::load(
        loader, {.combine = "a > b ? a : b", .identity = "0"}));

    const auto histogram = unwrap(lode::kernels::Histogram::load(loader));

    // The places of the keys in their order are 13, 12 … 0; the even ones add up to 42.
    std::vector<float> descending(14);
    std::vector<std::uint32_t> order(14);
    for (std::uint32_t i = 0; i < 14; ++i) {
        descending[i] = -static_cast<float>(i);
        order[i] = i;
    }
    const auto keys = unwrap(device.upload(descending));
    const auto places = unwrap(device.upload(order));
    auto sorted = unwrap(device.alloc<float>(14));
    auto moved = unwrap(device.alloc<std::uint32_t>(14));
    auto counts = unwrap(device.alloc<std::uint32_t>(14));
    auto even = unwrap(device.alloc<std::uint32_t>(14));
    auto number = unwrap(device.alloc<std::uint32_t>(1));
    auto sums = unwrap(device.alloc<std::uint32_t>(14));
    auto result = unwrap(device.alloc<std::uint32_t>(1));
    unwrap(even.zero());
    unwrap(sort.run(stream, keys, sorted, places, moved));
    unwrap(histogram.run(stream, moved, counts));
    unwrap(select.run(stream, moved, even, number));
    unwrap(scan.run(stream, even, sums));
    unwrap(largest.run(stream, sums, result));
    unwrap(stream.sync());
    const bool is_right = unwrap(moved.to_vector()).front() == 13 &&
                          unwrap(counts.to_vector()) == std::vector<std::uint32_t>(14, 1) &&
                          unwrap(number.to_vector()).front() == 7;
    std::printf("%s: %u\n", device.name().c_str(), unwrap(result.to_vector()).front());
    return is_right ? 0 : 1;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const lode::Exception& exception) {
        std::fprintf(stderr, "%s\n", exception.what());
        return 1;
    }
}
