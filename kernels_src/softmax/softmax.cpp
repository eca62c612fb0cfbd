#include "lode_kernels/common.hpp"

#include <lode_embedded/softmax.hpp>

namespace lode::kernels::softmax {
namespace {

constexpr std::uint32_t threads = 256;
constexpr std::uint64_t columns_of_a_warp = 32 * 8 * 4;  // As in softmax.cu.
constexpr std::uint64_t columns_of_a_block = threads * 8 * 4;

LaunchShape block_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {static_cast<std::uint32_t>(problem.x)}, .block = {threads}};
}

LaunchShape warp_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {ceil_div(problem.x, threads / 32)}, .block = {threads}};
}

std::optional<std::string> refuses_above(const Problem& problem, std::uint64_t most,
                                         std::string_view holder) {
    if (problem.y % 4 != 0) return fmt::format("{} columns aren't a multiple of 4", problem.y);
    if (problem.y <= most) return std::nullopt;
    return fmt::format("{} columns exceed the {} that {} holds in registers", problem.y, most,
                       holder);
}

std::optional<std::string> refuses_above_a_warp(const Problem& problem) {
    return refuses_above(problem, columns_of_a_warp, "a warp");
}

std::optional<std::string> refuses_above_a_block(const Problem& problem) {
    return refuses_above(problem, columns_of_a_block, "a block");
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
        Comparison comparison;
        const std::size_t columns = problem().y;
        for (std::size_t row = 0; row < problem().x; ++row) {
            const std::span from(values().data() + row * columns, columns);
            const double largest = *std::ranges::max_element(from);
            double sum = 0;
            for (const float value : from)
                sum += std::exp(value - largest);
            for (std::size_t column = 0; column < columns; ++column) {
                // The error of __expf is 2 + |1.16·x| units in the last place; here |x| ≤ 20.
                const double wanted = std::exp(from[column] - largest) / sum;
                const std::size_t at = row * columns + column;
                comparison.add(at, (*to)[at], wanted, 8e-6 * wanted);
            }
        }
        return comparison.result();
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
            .test_problems =
                {{1, 1}, {3, 5}, {37, 128}, {100, 1000}, {64, 1024}, {33, 8192}, {5, 20001}},
            .bench_problems = {{65536, 1024}, {16384, 4096}},
            .make = &Softmax::make};
}

}  // namespace lode::kernels::softmax
