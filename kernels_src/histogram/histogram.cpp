#include "lode_kernels/common.hpp"

#include <lode_embedded/histogram.hpp>

namespace lode::kernels {
namespace {

constexpr std::uint32_t threads = 512;
constexpr std::uint32_t cluster_size = 8;  // As in histogram_sm90.cu.
constexpr std::uint32_t blocks_per_multiprocessor = 4;
constexpr std::uint32_t values_per_thread = 16;
constexpr std::uint64_t bins_of_a_block = 48 * 1024 / 4;  // Without opting in to more.

LaunchShape global_shape(const Problem& problem, const VariantFacts& facts) {
    const auto most =
        std::max(1U, static_cast<std::uint32_t>(facts.multiprocessors)) * blocks_per_multiprocessor;
    const auto wanted = ceil_div(problem.x, std::uint64_t{threads} * values_per_thread);
    return {.grid = {std::clamp(wanted, 1U, most)}, .block = {threads}};
}

LaunchShape shared_shape(const Problem& problem, const VariantFacts& facts) {
    LaunchShape shape = global_shape(problem, facts);
    shape.dynamic_shared_bytes = static_cast<std::uint32_t>(problem.y * 4);
    return shape;
}

LaunchShape cluster_shape(const Problem& problem, const VariantFacts& facts) {
    LaunchShape shape = global_shape(problem, facts);
    shape.grid.x = ceil_div(shape.grid.x, cluster_size) * cluster_size;
    shape.cluster = {cluster_size};
    shape.dynamic_shared_bytes = ceil_div(problem.y, cluster_size) * 4;
    return shape;
}

std::optional<std::string> refuses_above(const Problem& problem, std::uint64_t most,
                                         std::string_view holder) {
    if (problem.y <= most) return std::nullopt;
    return fmt::format("{} bins exceed the {} that {} holds", problem.y, most, holder);
}

std::optional<std::string> refuses_more_than_a_block(const Problem& problem) {
    return refuses_above(problem, bins_of_a_block, "a block");
}

std::optional<std::string> refuses_more_than_a_cluster(const Problem& problem) {
    return refuses_above(problem, bins_of_a_block * cluster_size, "a cluster");
}

class Histogram final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_words(problem.x, seed);
        std::vector<std::uint32_t> counts(problem.y);
        for (auto& value : values) {
            // One value past the end as well: it must be ignored.
            value = static_cast<std::uint32_t>(value % (problem.y + 1));
            if (value < problem.y) ++counts[value];
        }
        auto on_device = device.upload(values);
        if (!on_device) return tl::unexpected(on_device.error());
        auto to = Output<std::uint32_t>::create(device, problem.y, 0xdeadbeefU);
        if (!to) return tl::unexpected(to.error());
        return std::unique_ptr<Workload>(
            new Histogram(problem, std::move(counts), *std::move(on_device), *std::move(to)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        if (auto zeroed = counts_.zero_async(stream); !zeroed) return zeroed;
        return launch_with(variant, stream, problem(), values_.data(), counts_.data(),
                           static_cast<unsigned long long>(problem().x),
                           static_cast<unsigned>(problem().y));
    }
    Status poison() override { return counts_.poison(); }

    Status check() const override {
        const auto counts = counts_.read();
        if (!counts) return tl::unexpected(counts.error());
        return compare_words(*counts, expected_);
    }

    double bytes() const noexcept override {
        return 4.0 * static_cast<double>(problem().x + problem().y);
    }

private:
    Histogram(const Problem& problem, std::vector<std::uint32_t> expected,
              DeviceBuffer<std::uint32_t> values, Output<std::uint32_t> counts)
        : Workload(problem),
          expected_(std::move(expected)),
          values_(std::move(values)),
          counts_(std::move(counts)) {}

    std::vector<std::uint32_t> expected_;
    DeviceBuffer<std::uint32_t> values_;
    Output<std::uint32_t> counts_;
};

}  // namespace

FamilyEntry histogram_family() {
    KernelFamily family{"histogram", {}, lode_embedded::histogram()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "histogram/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .extents = "values, bins",
            .test_problems = {{1, 1}, {1000, 7}, {100003, 256}, {1000003, 12288}, {2000003, 98303}},
            .bench_problems = {{1U << 27, 2048}, {1U << 27, 65536}},
            .make = &Histogram::make};
}

}  // namespace lode::kernels
