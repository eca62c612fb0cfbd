// lode::kernels as a host uses it, on the software device, against the standard library.
#include "tests/unit/kernels/operations_host.hpp"

#include <lode/kernels.hpp>
#include <lode/runtime/graph.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

using lode::Errc;
using lode::unwrap;
using lode::kernels::Workspace;
using lode::test::check_refused;
using lode::test::Host;

namespace {

/// Values of which every sum is exact, or all bits if they aren't added.
template <class T>
std::vector<T> random_numbers(std::size_t count, bool small = true) {
    std::mt19937_64 random(count + sizeof(T));
    std::vector<T> values(count);
    for (auto& value : values)
        value = small ? static_cast<T>(static_cast<int>(random() % 31) - 15)
                      : static_cast<T>(static_cast<std::int64_t>(random()));
    return values;
}

template <class T>
void check_reduce(Host& host, const lode::kernels::CombineOptions& options,
                  const std::function<T(T, T)>& combine, T identity) {
    const auto reduce = unwrap(lode::kernels::Reduce<T>::load(*host.machine.loader, options));
    auto result = unwrap(host.device.alloc<T>(1));
    for (const std::size_t count : {0U, 1U, 31U, 70001U}) {
        CAPTURE(count);
        const auto values = random_numbers<T>(count);
        const auto from = unwrap(host.device.upload(values));
        const T wanted = std::accumulate(values.begin(), values.end(), identity, combine);
        for (int run = 0; run < 2; ++run) {
            unwrap(reduce.run(host.stream, from, result, host.workspace));
            CHECK(host.read(result).front() == wanted);
        }
        unwrap(result.zero());
        unwrap(reduce.run(host.stream, from, result));
        CHECK(host.read(result).front() == wanted);
    }
}

template <class T>
void check_scan(Host& host, const lode::kernels::CombineOptions& options,
                const std::function<T(T, T)>& combine, std::size_t most = 20001) {
    const auto scan = unwrap(lode::kernels::Scan<T>::load(*host.machine.loader, options));
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{2049}, most, std::size_t{3000}}) {
        CAPTURE(count);
        auto values = random_numbers<T>(count);
        const auto from = unwrap(host.device.upload(values));
        auto to = unwrap(host.device.alloc<T>(count));
        std::partial_sum(values.begin(), values.end(), values.begin(), combine);
        unwrap(scan.run(host.stream, from, to, host.workspace));
        CHECK(host.read(to) == values);
        if (count != 0) unwrap(to.zero());
        unwrap(scan.run(host.stream, from, to));
        CHECK(host.read(to) == values);
    }
}

/// The order of sorts: that of numbers, with -0 before 0, and NaNs at the ends.
template <class T>
bool is_before(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::strong_order(a, b) < 0;
    return a < b;
}

template <class T>
void check_sort(Host& host, bool descending) {
    const auto sort =
        unwrap(lode::kernels::Sort<T>::load(*host.machine.loader, {.descending = descending}));
    for (const std::size_t count : {1U, 10009U}) {
        auto keys = random_numbers<T>(count, false);
        if constexpr (std::is_floating_point_v<T>) {
            using Limits = std::numeric_limits<T>;
            const T few[] = {-T{},
                             T{},
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             -Limits::quiet_NaN(),
                             Limits::denorm_min()};
            for (std::size_t i = 0; i < count; i += 3)
                keys[i] = few[i % std::size(few)];
        }
        auto buffer = unwrap(host.device.upload(keys));
        auto sorted = unwrap(host.device.alloc<T>(count));
        std::ranges::stable_sort(
            keys, [&](T a, T b) { return descending ? is_before(b, a) : is_before(a, b); });
        const auto is_right = [&](const std::vector<T>& got) {
            return std::memcmp(got.data(), keys.data(), count * sizeof(T)) == 0;
        };
        unwrap(sort.run(host.stream, buffer, sorted, host.workspace));
        CHECK(is_right(host.read(sorted)));
        // In place, with a workspace of the pool.
        unwrap(sort.run(host.stream, buffer, buffer));
        CHECK(is_right(host.read(buffer)));
    }
}

template <class Key, class Value>
void check_pairs(Host& host) {
    const auto sort = unwrap(lode::kernels::SortPairs<Key, Value>::load(*host.machine.loader));
    const std::size_t count = 10009;
    const auto keys = random_numbers<Key>(count);
    std::vector<Value> places(count);
    std::iota(places.begin(), places.end(), Value{});
    const auto from = unwrap(host.device.upload(keys));
    auto to = unwrap(host.device.alloc<Key>(count));
    const auto values = unwrap(host.device.upload(places));
    auto to_values = unwrap(host.device.alloc<Value>(count));
    unwrap(sort.run(host.stream, from, to, values, to_values, host.workspace));
    std::ranges::stable_sort(places, {},
                             [&](Value place) { return keys[static_cast<std::size_t>(place)]; });
    CHECK(host.read(to_values) == places);
    auto sorted = host.read(to);
    CHECK(std::ranges::is_sorted(sorted));
    CHECK(std::ranges::is_permutation(sorted, keys));
}

}  // namespace

TEST_CASE("operations: Reduce adds every type, and takes operators of the host's") {
    Host host;
    if (!host.machine.compiles) return;
    check_reduce<int>(host, {}, std::plus<>(), 0);
    check_reduce<std::uint64_t>(host, {}, std::plus<>(), 0);
    check_reduce<double>(host, {}, std::plus<>(), 0);
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    check_reduce<float>(
        host, {.combine = "a > b ? a : b", .identity = "-1 / 0.0f"},
        [](float a, float b) { return std::max(a, b); }, lowest);
    check_reduce<unsigned>(host, {.combine = "a ^ b", .identity = "0"}, std::bit_xor<>(), 0);
    lode::kernels::CombineOptions gcd{.combine = "divisor(a, b)", .identity = "0"};
    gcd.compile.headers = {{"divisor.cuh",
                            "__device__ int divisor(int a, int b) {\n"
                            "    while (b != 0) { const int rest = a % b; a = b; b = rest; }\n"
                            "    return a < 0 ? -a : a;\n}\n"}};
    gcd.compile.pre_includes = {"divisor.cuh"};
    check_reduce<int>(
        host, gcd, [](int a, int b) { return std::gcd(a, b); }, 0);
}

TEST_CASE("operations: Scan adds every type, and takes operators of the host's") {
    Host host;
    if (!host.machine.compiles) return;
    check_scan<int>(host, {}, std::plus<>(), 300001);
    check_scan<double>(host, {}, std::plus<>());
    check_scan<unsigned>(host, {.combine = "a | b", .identity = "0"}, std::bit_or<>());
    check_scan<long long>(host, {.combine = "a < b ? a : b", .identity = "0x7fffffffffffffff"},
                          [](long long a, long long b) { return std::min(a, b); });
    Host older("sm_75");
    check_scan<int>(older, {}, std::plus<>());
}

TEST_CASE("operations: Select and Partition take a predicate of the host's") {
    Host host;
    if (!host.machine.compiles) return;
    const auto is_selected = [](unsigned x) { return x % 3 == 0; };
    const lode::kernels::SelectOptions options{.predicate = "x % 3 == 0"};
    const auto select =
        unwrap(lode::kernels::Select<unsigned>::load(*host.machine.loader, options));
    const auto partition =
        unwrap(lode::kernels::Partition<unsigned>::load(*host.machine.loader, options));
    auto number = unwrap(host.device.upload<std::uint32_t>({~0U}));
    for (const std::size_t count : {0U, 1U, 40021U, 999U}) {
        CAPTURE(count);
        const auto values = random_numbers<unsigned>(count, false);
        std::vector<unsigned> wanted(count, 7);
        const auto selected = static_cast<std::size_t>(
            std::ranges::copy_if(values, wanted.begin(), is_selected).out - wanted.begin());
        const auto from = unwrap(host.device.upload(values));
        auto to = unwrap(host.device.upload(std::vector<unsigned>(count, 7)));
        for (int run = 0; run < 2; ++run) {
            unwrap(run == 0 ? select.run(host.stream, from, to, number)
                            : select.run(host.stream, from, to, number, host.workspace));
            CHECK(host.read(number).front() == selected);
            CHECK(host.read(to) == wanted);
        }
        unwrap(partition.run(host.stream, from, to, number, host.workspace));
        std::ranges::copy_if(values, wanted.rbegin(), std::not_fn(is_selected));
        CHECK(host.read(number).front() == selected);
        CHECK(host.read(to) == wanted);
    }
}

TEST_CASE("operations: Sort orders every type of key in both directions") {
    Host host;
    if (!host.machine.compiles) return;
    check_sort<int>(host, false);
    check_sort<unsigned>(host, true);
    check_sort<std::uint64_t>(host, false);
    check_sort<double>(host, true);
    check_sort<long long>(host, true);
    check_sort<float>(host, false);
    Host older("sm_75");
    check_sort<int>(older, false);
}

TEST_CASE("operations: SortPairs moves values of 32 bits with keys of 32 and of 64 bits") {
    Host host;
    if (!host.machine.compiles) return;
    check_pairs<int, std::uint32_t>(host);
    check_pairs<double, int>(host);
    check_pairs<std::uint64_t, float>(host);
}

TEST_CASE("operations: one workspace serves operations, sizes and graphs in any order") {
    ::setenv("LODE_EMULATOR_CHECK", "init", 1);  // ctest runs each case in a process of its own.
    ::setenv("LODE_EMULATOR_SEED", "5", 1);
    Host host;
    if (!host.machine.compiles) return;
    const auto& loader = *host.machine.loader;
    const auto scan = unwrap(lode::kernels::Scan<int>::load(loader));
    const auto sum = unwrap(lode::kernels::Reduce<int>::load(loader));
    const auto sort = unwrap(lode::kernels::Sort<int>::load(loader));
    const auto select = unwrap(lode::kernels::Select<int>::load(loader));
    const std::size_t count = 20011;
    const auto values = random_numbers<int>(count);
    const auto from = unwrap(host.device.upload(values));
    auto to = unwrap(host.device.alloc<int>(count));
    auto sorted = unwrap(host.device.alloc<int>(count));
    auto selected = unwrap(host.device.alloc<int>(count));
    auto result = unwrap(host.device.alloc<int>(1));
    auto number = unwrap(host.device.alloc<std::uint32_t>(1));
    auto sums = values;
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    const auto positive = std::ranges::count_if(values, [](int x) { return x > 0; });
    const auto run_scan = [&](std::size_t n) {
        unwrap(scan.run(host.stream, unwrap(from.span().first(n)), unwrap(to.span().first(n)),
                        host.workspace));
    };
    const auto check_sums = [&](std::size_t n) {
        const auto got = host.read(to);
        CHECK(std::ranges::equal(std::span(got).first(n), std::span(sums).first(n)));
    };

    // The first run clears what it needs, a longer one more: it doesn't write its last word.
    for (const std::size_t n : {std::size_t{1}, count})
        unwrap(select.run(host.stream, unwrap(from.span().first(n)),
                          unwrap(selected.span().first(n)), number, host.workspace));
    const auto words = unwrap(select.workspace_bytes(count));
    CHECK(host.read(host.memory).at(words - 1) == std::byte{0});
    CHECK(host.read(host.memory).at(words) == std::byte{0xff});

    // Each run on the stream finds what the graph's last operation has left.
    auto capture = unwrap(lode::Capture::begin(host.stream));
    unwrap(sum.run(host.stream, from, result, host.workspace));
    unwrap(sort.run(host.stream, from, sorted, host.workspace));
    unwrap(select.run(host.stream, from, selected, number, host.workspace));
    run_scan(count);
    unwrap(scan.run(host.stream, from, to));
    const auto graph = unwrap(unwrap(std::move(capture).finish()).instantiate());
    for (int run = 0; run < 3; ++run) {
        unwrap(sorted.zero());
        unwrap(sort.run(host.stream, from, sorted, host.workspace));
        CHECK(std::ranges::is_sorted(host.read(sorted)));
        CHECK(std::ranges::is_permutation(host.read(sorted), values));
        unwrap(graph.launch(host.stream));
        check_sums(count);
        CHECK(host.read(result).front() == sums.back());
        CHECK(host.read(number).front() == positive);
    }
}

TEST_CASE("operations: more runs than a selection's words tell apart") {
    // Words of a run are mistaken for those of the one 2^16 runs later, which has more tiles.
    Host host;
    if (!host.machine.compiles) return;
    const auto select = unwrap(lode::kernels::Select<int>::load(*host.machine.loader));
    const std::size_t count = 20000;
    auto from = unwrap(host.device.upload(std::vector<int>(count, 1)));
    auto to = unwrap(host.device.alloc<int>(count));
    auto number = unwrap(host.device.alloc<std::uint32_t>(1));
    const auto run = [&](std::size_t n) {
        unwrap(select.run(host.stream, unwrap(from.span().first(n)), unwrap(to.span().first(n)),
                          number, host.workspace));
    };
    run(count);
    for (int i = 0; i < (1 << 16) - 1; ++i)
        run(1);
    unwrap(from.zero());
    run(count);
    CHECK(host.read(number).front() == 0);
}

TEST_CASE("operations: spans of numbers may start anywhere") {
    Host host;
    if (!host.machine.compiles) return;
    const auto& loader = *host.machine.loader;
    const std::size_t count = 20000;
    auto values = random_numbers<int>(count + 1);
    auto from = unwrap(host.device.upload(values));
    auto to = unwrap(host.device.alloc<int>(count + 1));
    auto result = unwrap(host.device.alloc<int>(1));
    auto number = unwrap(host.device.alloc<std::uint32_t>(1));
    values.erase(values.begin());
    const auto in = unwrap(from.span().subspan(1));
    const auto out = unwrap(to.span().subspan(1));
    const auto check = [&](const std::vector<int>& wanted) {
        unwrap(host.stream.sync());
        CHECK(unwrap(out.to_vector()) == wanted);
    };
    unwrap(unwrap(lode::kernels::Reduce<int>::load(loader)).run(host.stream, in, result));
    CHECK(host.read(result).front() == std::accumulate(values.begin(), values.end(), 0));
    auto sums = values;
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    unwrap(unwrap(lode::kernels::Scan<int>::load(loader)).run(host.stream, in, out));
    check(sums);
    unwrap(unwrap(lode::kernels::Partition<int>::load(loader)).run(host.stream, in, out, number));
    auto parts = values;
    const auto rest =
        std::stable_partition(parts.begin(), parts.end(), [](int x) { return x > 0; });
    std::reverse(rest, parts.end());
    check(parts);
    unwrap(unwrap(lode::kernels::Sort<int>::load(loader)).run(host.stream, in, out));
    std::ranges::sort(values);
    check(values);
}

TEST_CASE("operations: threads share an operation, whose rows they load at once") {
    Host host;
    if (!host.machine.compiles) return;
    const auto scan = unwrap(lode::kernels::Scan<unsigned>::load(*host.machine.loader));
    const auto work = [&](std::size_t count) {
        const auto stream = unwrap(host.device.create_stream());
        auto values = random_numbers<unsigned>(count);
        const auto from = unwrap(host.device.upload(values));
        auto to = unwrap(host.device.alloc<unsigned>(count));
        std::partial_sum(values.begin(), values.end(), values.begin());
        unwrap(scan.run(stream, from, to));
        unwrap(stream.sync());
        return unwrap(to.to_vector()) == values;
    };
    std::vector<char> right(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < right.size(); ++i)
            threads.emplace_back(
                [&, i] { right[i] = work(1000) && work(i % 2 == 0 ? 300000 : 5); });
    }
    CHECK(std::ranges::count(right, char{1}) == 4);
}

TEST_CASE("operations: errors name the values and the limits") {
    Host host;
    if (!host.machine.compiles) return;
    const auto& loader = *host.machine.loader;
    const auto sum = unwrap(lode::kernels::Reduce<int>::load(loader));
    const auto scan = unwrap(lode::kernels::Scan<int>::load(loader));
    auto from = unwrap(host.device.alloc<int>(100));
    auto to = unwrap(host.device.alloc<int>(99));
    check_refused(scan.run(host.stream, from, to),
                  "The output of a scan has 99 elements instead of 100.");
    check_refused(scan.run(host.stream, from, from),
                  "The output of a scan overlaps its input by 400 bytes.");
    check_refused(sum.run(host.stream, from, to), "has 99 elements instead of 1.");
    Workspace small(unwrap(host.memory.span().first(8)));
    auto result = unwrap(to.span().first(1));
    check_refused(sum.run(host.stream, from, result, small),
                  "The workspace has 8 bytes, but 'reduce' needs " +
                      std::to_string(unwrap(sum.workspace_bytes(100))));
    Workspace shifted(unwrap(host.memory.span().subspan(8)));
    check_refused(sum.run(host.stream, from, result, shifted), "8 bytes after a multiple of 16");
    Workspace none;
    check_refused(sum.run(host.stream, from, result, none), "The workspace has 0 bytes");

    const auto half = lode::kernels::Reduce<int>::load(loader, {.combine = "a * b"});
    REQUIRE_FALSE(half);
    CHECK(half.error().message.find("no identity") != std::string::npos);
    const auto wrong = lode::kernels::Select<int>::load(loader, {.predicate = "x >"});
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == Errc::compile_failed);
}
