// Finds the best of many results with lode's own kernels: selects those that are valid, sorts them
// with their places, and adds them up.
//
//     cmake -B build && cmake --build build && build/31_kernels
//     50325 of 100000 results are valid; the best is 9998 at place 9093, their sum 250961822
#include <lode/base/unwrap.hpp>
#include <lode/kernels.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto stream = unwrap(device.create_stream());

    // Once: what is loaded here is used for any number of runs, of any size.
    const lode::VariantLoader loader(runtime, device, lode::Log::to_stderr());
    const auto select =
        unwrap(lode::kernels::Select<int>::load(loader, {.predicate = "x % 2 == 0"}));
    const auto sum = unwrap(lode::kernels::Reduce<int>::load(loader));
    const auto sort = unwrap(lode::kernels::SortPairs<int>::load(loader, {.descending = true}));

    constexpr std::size_t n = 100000;
    std::vector<int> results(n);
    std::mt19937 random(7);
    for (auto& result : results)
        result = static_cast<int>(random() % 10000);
    const auto from = unwrap(device.upload(results));
    auto valid = unwrap(device.alloc<int>(n));
    auto number = unwrap(device.alloc<std::uint32_t>(1));
    unwrap(select.run(stream, from, valid, number));
    unwrap(stream.sync());
    const std::size_t count = unwrap(number.to_vector()).front();

    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    const auto places = unwrap(device.upload(order));
    auto sorted = unwrap(device.alloc<int>(count));
    auto moved = unwrap(device.alloc<std::uint32_t>(count));
    auto total = unwrap(device.alloc<int>(1));
    const auto kept = unwrap(valid.span().first(count));
    unwrap(sort.run(stream, kept, sorted, places, moved));
    unwrap(sum.run(stream, kept, total));
    unwrap(stream.sync());

    std::erase_if(results, [](int result) { return result % 2 != 0; });
    check(results.size() == count, "the number of valid results is right");
    check(unwrap(total.to_vector()).front() == std::accumulate(results.begin(), results.end(), 0),
          "the sum is right");
    const auto best = std::ranges::max_element(results);
    const auto place = unwrap(moved.to_vector()).front();
    check(place == best - results.begin(), "equal results stay in order");
    std::ranges::sort(results, std::ranges::greater());
    check(unwrap(sorted.to_vector()) == results, "the results descend");
    std::printf("%zu of %zu results are valid; the best is %d at place %u, their sum %d\n", count,
                n, results.front(), place, unwrap(total.to_vector()).front());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
