// The operations of lode::kernels on rows of floats and on bins, on the software device.
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/kernels/operations_host.hpp"

#include <lode/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::unwrap;
using lode::test::check_refused;
using lode::test::Host;

namespace {

using Size = std::pair<std::size_t, std::size_t>;

/// `rows` rows of `columns` numbers from -8 to 8.
std::vector<float> random_matrix(const Size& size) {
    std::mt19937 random(static_cast<unsigned>(size.first * 7 + size.second));
    std::uniform_real_distribution<float> values(-8, 8);
    std::vector<float> matrix(size.first * size.second);
    for (auto& element : matrix)
        element = values(random);
    return matrix;
}

/// Runs an operation on a matrix, and returns what it makes.
template <class Run>
std::vector<float> made_of(Host& host, const std::vector<float>& matrix, Run run) {
    const auto from = unwrap(host.device.upload(matrix));
    auto to = unwrap(host.device.upload(std::vector<float>(matrix.size(), -1)));
    unwrap(run(from, to));
    return host.read(to);
}

/// Whether both are the same but for rounding.
bool is_close(const std::vector<float>& got, const std::vector<double>& wanted, double limit) {
    return std::ranges::equal(got, wanted, [&](double a, double b) {
        return std::abs(a - b) <= limit * std::max(1.0, std::abs(b));
    });
}

}  // namespace

TEST_CASE("operations: Softmax and LayerNorm take rows of any length") {
    Host host;
    if (!host.machine.compiles) return;
    const auto softmax = unwrap(lode::kernels::Softmax::load(*host.machine.loader));
    const auto norm = unwrap(lode::kernels::LayerNorm::load(*host.machine.loader));
    for (const Size& size : {Size{0, 5}, {5, 3}, {9, 128}, {3, 1000}, {2, 5001}, {2, 20000}}) {
        const auto [rows, columns] = size;
        CAPTURE(columns);
        const auto matrix = random_matrix(size);
        const auto scales = random_matrix({1, columns});
        std::vector<double> exponentials;
        std::vector<double> normal;
        for (std::size_t row = 0; row < rows; ++row) {
            const auto from = std::span(matrix).subspan(row * columns, columns);
            const auto count = static_cast<double>(columns);
            double sum = 0;
            double mean = 0;
            double variance = 0;
            for (const double x : from) {
                sum += std::exp(x);
                mean += x / count;
            }
            for (const double x : from)
                variance += (x - mean) * (x - mean) / count;
            for (std::size_t i = 0; i < columns; ++i) {
                exponentials.push_back(std::exp(double{from[i]}) / sum);
                normal.push_back((from[i] - mean) / std::sqrt(variance + 0.5) * scales[i] -
                                 scales[i]);
            }
        }
        CHECK(is_close(made_of(host, matrix,
                               [&](const auto& from, auto& to) {
                                   return softmax.run(host.stream, from, to, rows, columns);
                               }),
                       exponentials, 1e-5));
        auto shifts = scales;
        for (auto& shift : shifts)
            shift = -shift;
        const auto on_device = unwrap(host.device.upload(scales));
        const auto negative = unwrap(host.device.upload(shifts));
        CHECK(is_close(made_of(host, matrix,
                               [&](const auto& from, auto& to) {
                                   return norm.run(host.stream, from, to, on_device, negative, rows,
                                                   columns, 0.5F);
                               }),
                       normal, 1e-4));
    }
}

TEST_CASE("operations: Transpose takes matrices of any size") {
    Host host;
    if (!host.machine.compiles) return;
    const auto transpose = unwrap(lode::kernels::Transpose::load(*host.machine.loader));
    for (const Size& size : {Size{0, 5}, {1, 1}, {31, 65}, {64, 128}, {100, 260}}) {
        const auto [rows, columns] = size;
        const auto matrix = random_matrix(size);
        std::vector<float> wanted(matrix.size());
        for (std::size_t i = 0; i < matrix.size(); ++i)
            wanted[i % columns * rows + i / columns] = matrix[i];
        CHECK(made_of(host, matrix, [&](const auto& from, auto& to) {
                  return transpose.run(host.stream, from, to, rows, columns);
              }) == wanted);
    }
}

TEST_CASE("operations: Histogram counts with few and many bins, whatever it counted before") {
    Host host;
    if (!host.machine.compiles) return;
    const auto histogram = unwrap(lode::kernels::Histogram::load(*host.machine.loader));
    // More than 12,288 bins take a row whose workspace has another layout for each number.
    for (const std::size_t bins : {1U, 256U, 20000U, 13000U, 20000U, 300000U}) {
        CAPTURE(bins);
        std::mt19937 random(static_cast<unsigned>(bins));
        std::vector<std::uint32_t> values(30001);
        std::vector<std::uint32_t> wanted(bins);
        for (auto& value : values) {
            value = static_cast<std::uint32_t>(random() % (bins + 1));
            if (value < bins) ++wanted[value];
        }
        const auto from = unwrap(host.device.upload(values));
        auto counts = unwrap(host.device.upload(std::vector<std::uint32_t>(bins, 7)));
        unwrap(histogram.run(host.stream, from, counts, host.workspace));
        CHECK(host.read(counts) == wanted);
        unwrap(histogram.run(host.stream, unwrap(from.span().subspan(1)), counts));
        if (values[0] < bins) --wanted[values[0]];
        CHECK(host.read(counts) == wanted);
        CHECK((unwrap(histogram.workspace_bytes(values.size(), bins)) != 0) ==
              (bins > 12288 && bins <= 262144));
    }
    auto counts = unwrap(host.device.alloc<std::uint32_t>(3));
    unwrap(histogram.run(host.stream, {}, counts));
    CHECK(host.read(counts) == std::vector<std::uint32_t>(3));
    check_refused(histogram.run(host.stream, counts, {}), "has 1 to 4294967295 bins, not 0.");
}

TEST_CASE("operations: errors of matrices name the values and the limits") {
    Host host;
    if (!host.machine.compiles) return;
    const auto softmax = unwrap(lode::kernels::Softmax::load(*host.machine.loader));
    auto from = unwrap(host.device.alloc<float>(104));
    auto to = unwrap(host.device.alloc<float>(104));
    const auto part = [](auto& buffer, std::size_t first, std::size_t count) {
        return unwrap(buffer.span().subspan(first, count));
    };
    check_refused(softmax.run(host.stream, from, to, 10, 10),
                  "The input of a softmax has 104 elements instead of 100.");
    check_refused(softmax.run(host.stream, part(from, 1, 100), part(to, 0, 100), 10, 10),
                  "The input of a softmax starts 4 bytes after a multiple of 16");
    check_refused(softmax.run(host.stream, part(from, 0, 100), part(from, 4, 100), 10, 10),
                  "The output of a softmax overlaps its input by 384 bytes.");
    check_refused(softmax.run(host.stream, from, to, 1ULL << 31, 1),
                  "has 2147483648 rows and 1 columns, but at most 2147483647");
}

TEST_CASE("operations: a choice that was tuned for a size is taken for that size alone") {
    const auto folder = lode::ScratchFolder::create();
    REQUIRE(folder);
    Host host;
    if (!host.machine.compiles) return;
    const auto runtime = unwrap(lode::Runtime::open(
        {.driver = {.library = LODE_EMULATOR_LIBRARY}, .cache = lode::CacheOptions{}}));
    const lode::VariantLoader loader(runtime, unwrap(runtime.device()), {},
                                     lode::TunedChoices(folder->path()));
    const lode::KernelFamily family{.name = "histogram", .rows = {}, .files = {}};
    unwrap(loader.choices().keep({loader.key(family, "1000x20x1"), "global", 1.0}));
    const auto histogram = unwrap(lode::kernels::Histogram::load(loader));
    CHECK(unwrap(histogram.workspace_bytes(1001, 20)) == 0);
    CHECK(loader.counters().tuned == 0);
    CHECK(unwrap(histogram.workspace_bytes(1000, 20)) == 0);
    CHECK(loader.counters().tuned == 1);
}
