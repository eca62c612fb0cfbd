#include "lode_kernels/row_shapes.hpp"
#include "lode_kernels/workload.hpp"

#include <lode_embedded/softmax.hpp>

namespace LODE_NAMESPACE::kernels::softmax {
namespace {

// A multiprocessor of 9.0 has this much shared memory; a block takes a KiB more than it asks for.
constexpr std::uint32_t shared_bytes_of_90 = 228 * 1024;
constexpr std::uint32_t shared_bytes_besides = 1024 + 256;  // With its static variables.
constexpr std::uint32_t shared_granularity = 128;

/// Blocks of rows of up to 2,048 columns ask for shared memory that they don't use, so that a
/// multiprocessor of 9.0 holds 48 KiB of rows at a time: with more under way, memory is slower.
LaunchShape narrow_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    constexpr std::uint64_t least_columns = 1024;
    constexpr std::uint64_t most_columns = 2048;
    constexpr std::uint64_t columns_under_way = 12288;
    auto shape = registers_shape<8>(problem, properties);
    if (properties.cc != ComputeCapability{9, 0} || problem.y <= least_columns ||
        problem.y > most_columns)
        return shape;
    const auto blocks = static_cast<std::uint32_t>(columns_under_way / problem.y);
    shape.dynamic_shared_bytes = (shared_bytes_of_90 / blocks - shared_bytes_besides) /
                                 shared_granularity * shared_granularity;
    return shape;
}

// As in softmax_sm90.cu.
constexpr std::uint32_t split_bytes_per_thread = 64;
constexpr std::uint32_t split_static_bytes = 512;
constexpr std::uint32_t split_shared_bytes = 1024 * split_bytes_per_thread + split_static_bytes;

LaunchShape split_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    auto shape = cluster_shape(problem, properties);
    shape.dynamic_shared_bytes = shape.block.x * split_bytes_per_thread;
    return shape;
}

class Softmax final : public MatrixWorkload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_floats(problem.x * problem.y, seed);
        for (auto& value : values)
            value *= 10;
        return upload(device, std::move(values)).map([&](Matrices matrices) {
            return std::unique_ptr<Workload>(new Softmax(problem, std::move(matrices)));
        });
    }

    Status check() const override {
        const auto to = read();
        if (!to) return tl::unexpected(to.error());
        const std::size_t columns = problem().y;
        return compare_rows(problem().x, columns, [&](std::size_t row, Comparison& comparison) {
            const std::span from(values().data() + row * columns, columns);
            const double largest = *std::ranges::max_element(from);
            double sum = 0;
            for (const float value : from)
                sum += std::exp(value - largest);
            for (std::size_t column = 0; column < columns; ++column) {
                // The error of __expf is 2 + |1.16·x| units in the last place; here |x| ≤ 20, and
                // a result is a product of two.
                const double wanted = std::exp(from[column] - largest) / sum;
                const std::size_t at = row * columns + column;
                comparison.add(at, (*to)[at], wanted, 1e-5 * wanted);
            }
        });
    }

private:
    using MatrixWorkload::MatrixWorkload;
};

}  // namespace

FamilyEntry entry() {
    KernelFamily family{"softmax", {}, lode_embedded::softmax()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "softmax/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "softmax",
            .extents = "rows, columns",
            .test_problems = {{1, 1},
                              {3, 5},
                              {37, 128},
                              {50, 200},
                              {100, 1000},
                              {64, 1024},
                              {33, 8192},
                              {4, 16384},
                              {3, 32768},
                              {2, 65536},
                              {5, 20000},
                              {5, 20001},
                              {3, 100000},
                              {2, 262144},
                              {2, 300004}},
            .bench_problems = {{262144, 256},
                               {65536, 1024},
                               {32768, 2048},
                               {16384, 4096},
                               {8192, 8192},
                               {4096, 16384},
                               {2048, 32768},
                               {1024, 65536},
                               {256, 262144}},
            .make = &Softmax::make};
}

}  // namespace LODE_NAMESPACE::kernels::softmax
