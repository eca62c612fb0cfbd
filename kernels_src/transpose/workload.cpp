#include "lode_kernels/workload.hpp"

#include "transpose/transpose.hpp"

namespace LODE_NAMESPACE::kernels::transpose {
namespace {

class Transpose final : public MatrixWorkload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_floats(problem.x * problem.y, seed);
        return upload(device, std::move(values)).map([&](Matrices matrices) {
            return std::unique_ptr<Workload>(new Transpose(problem, std::move(matrices)));
        });
    }

    Status check() const override {
        const auto to = read();
        if (!to) return tl::unexpected(to.error());
        const std::size_t rows = problem().x;
        const std::size_t columns = problem().y;
        return compare_rows(columns, rows, [&](std::size_t column, Comparison& comparison) {
            for (std::size_t row = 0; row < rows; ++row) {
                const std::size_t at = column * rows + row;
                comparison.add(at, (*to)[at], values()[row * columns + column], 0);
            }
        });
    }

private:
    using MatrixWorkload::MatrixWorkload;
};

}  // namespace

FamilyEntry entry() {
    return {
        .family = family(),
        .folder = "transpose",
        .extents = "rows, columns",
        .test_problems =
            {{1, 1}, {5, 3}, {31, 65}, {64, 64}, {67, 130}, {100, 260}, {1023, 517}, {2048, 1028}},
        .bench_problems =
            {{8192, 8192}, {16384, 16384}, {2048, 65536}, {65536, 2048}, {8191, 8193}},
        .make = &Transpose::make};
}

}  // namespace LODE_NAMESPACE::kernels::transpose
