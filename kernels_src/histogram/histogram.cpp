#include "lode_kernels/common.hpp"

#include <lode_embedded/histogram.hpp>

namespace lode::kernels::histogram {
namespace {

constexpr std::uint32_t threads = 512;
constexpr std::uint32_t packed_threads = 1024;
constexpr std::uint64_t part_bins = 65536;  // As in histogram.cu.
constexpr std::uint64_t most_parts = 8;     // With more, the values would be read too often.
// As in histogram_sm90a.cu.
constexpr std::uint32_t cluster_size = 8;
constexpr std::uint32_t cluster_threads = 544;
constexpr std::uint32_t cluster_tile = 8192;
constexpr std::uint32_t cluster_ring_bytes = 3 * cluster_tile * 4;
constexpr std::uint32_t cluster_part_bytes = 128 * 1024;
constexpr std::uint32_t blocks_per_multiprocessor = 4;
constexpr std::uint32_t values_per_thread = 16;
constexpr std::uint64_t bins_of_a_block = 48 * 1024 / 4;  // The maximum without opt-in.

LaunchShape global_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors)) *
                      blocks_per_multiprocessor;
    const auto wanted = ceil_div(problem.x, std::uint64_t{threads} * values_per_thread);
    return {.grid = {std::clamp(wanted, 1U, most)}, .block = {threads}};
}

LaunchShape shared_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    LaunchShape shape = global_shape(problem, properties);
    shape.dynamic_shared_bytes = static_cast<std::uint32_t>(problem.y * 4);
    return shape;
}

LaunchShape packed_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto parts = ceil_div(problem.y, part_bins);
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors) / parts);
    const auto wanted = ceil_div(problem.x, std::uint64_t{packed_threads} * values_per_thread);
    return {.grid = {std::clamp(wanted, 1U, most) * parts},
            .block = {packed_threads},
            .dynamic_shared_bytes = ceil_div(std::min(problem.y, part_bins), 2) * 4};
}

LaunchShape cluster_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    // One cluster less than the number of multiprocessors allows: the 132 of an H200 form groups
    // that hold only 15 clusters of 8, and a sixteenth would run alone after the others.
    const auto most =
        std::max(2U, static_cast<std::uint32_t>(properties.multiprocessors) / cluster_size);
    const auto clusters = std::clamp(ceil_div(problem.x, cluster_tile), 1U, most - 1);
    return {.grid = {clusters * cluster_size},
            .block = {cluster_threads},
            .dynamic_shared_bytes = cluster_ring_bytes + ceil_div(problem.y, cluster_size) * 4,
            .cluster = {cluster_size}};
}

std::optional<std::string> refuses_above(const Problem& problem, std::uint64_t most,
                                         std::string_view holder) {
    if (problem.y <= most) return std::nullopt;
    return fmt::format("{} bins exceed the {} that {} holds", problem.y, most, holder);
}

std::optional<std::string> refuses_more_than_a_block(const Problem& problem) {
    return refuses_above(problem, bins_of_a_block, "a block");
}

std::optional<std::string> refuses_more_than_packed(const Problem& problem) {
    return refuses_above(problem, part_bins * most_parts, "a group of blocks");
}

std::optional<std::string> refuses_more_than_a_cluster(const Problem& problem) {
    return refuses_above(problem, cluster_part_bytes / 4 * cluster_size, "a cluster");
}

class Histogram final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_words(problem.x, seed);
        std::vector<std::uint32_t> counts(problem.y);
        for (auto& value : values) {
            // Includes one value past the last bin, which must be ignored.
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
    WorkloadData data() const override { return {{values_.data()}, {counts_.data()}}; }

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

FamilyEntry entry() {
    KernelFamily family{"histogram", {}, lode_embedded::histogram()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "histogram/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "histogram",
            .extents = "values, bins",
            .test_problems = {{1, 1},
                              {1000, 7},
                              {100003, 256},
                              {1000003, 12288},
                              {300001, 50001},
                              {2000003, 98303},
                              {12000003, 2}},
            .bench_problems = {{1U << 27, 2048}, {1U << 27, 65536}, {1U << 27, 262144}},
            .make = &Histogram::make};
}

}  // namespace lode::kernels::histogram
