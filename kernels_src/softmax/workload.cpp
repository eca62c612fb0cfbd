#include "lode_kernels/workload.hpp"

#include "softmax/softmax.hpp"

namespace LODE_NAMESPACE::kernels::softmax {
namespace {

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
    return {.family = family(),
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
