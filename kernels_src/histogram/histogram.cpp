#include "lode_kernels/workload.hpp"

#include <lode_embedded/histogram.hpp>

namespace LODE_NAMESPACE::kernels::histogram {
namespace {

constexpr std::uint32_t threads = 512;
// As in histogram_packed.cu.
constexpr std::uint32_t packed_threads = 1024;
constexpr std::uint64_t packed_values_per_thread = 16;  // At a time.
constexpr std::uint64_t most_fields = 8;
constexpr std::uint64_t barrier_words = 4;
constexpr std::uint32_t packed_static_bytes = 16384 + 256;
constexpr std::uint64_t most_packed_bins = 262144;
constexpr std::uint32_t packed_shared_bytes =
    most_packed_bins / most_fields * 4 + packed_static_bytes;
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

std::uint32_t packed_blocks(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors));
    return std::clamp(ceil_div(problem.x, packed_threads * packed_values_per_thread), 1U, most);
}

/// Whether equally frequent bins all but never overflow fields of this number: the mean is far
/// below the range, in units of its root.
bool is_roomy(std::uint32_t fields, double mean) {
    const int bits = static_cast<int>(32 / fields);
    const double range = std::ldexp(1.0, bits);
    return mean + 8 * std::sqrt(mean) + 8 < range && mean <= range / (bits >= 8 ? 2 : 4);
}

/// The words of a block: as many fields to a word as the values allow, because every word of every
/// block is written and read once more, but at least as many as the shared memory demands. Fields
/// of whole bytes or half ones are added up faster than others.
std::uint32_t packed_words(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = (properties.shared_bytes_per_block - packed_static_bytes) / 4;
    const double mean = static_cast<double>(problem.x) / packed_blocks(problem, properties) /
                        static_cast<double>(problem.y);
    auto fields = static_cast<std::uint32_t>(most_fields);
    while (fields > 1 && !is_roomy(fields, mean))
        fields /= 2;
    const auto least = ceil_div(problem.y, most / 4 * 4);
    if (fields < least) {
        fields = static_cast<std::uint32_t>(most_fields);
        while (fields > least && !is_roomy(fields, mean))
            --fields;
    }
    return ceil_div(ceil_div(problem.y, fields), 4) * 4;
}

LaunchShape packed_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    return {.grid = {packed_blocks(problem, properties)},
            .block = {packed_threads},
            .dynamic_shared_bytes = packed_words(problem, properties) * 4,
            .cooperative = true};
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
    return refuses_above(problem, most_packed_bins, "a block with eight counters to a word");
}

/// A random value, at most `bins`: includes one past the last bin, which must be ignored. Half of
/// skewed values are in four bins.
std::uint32_t value_of(std::uint64_t bits, const Problem& problem) {
    const auto value = static_cast<std::uint32_t>((bits >> 32) % (problem.y + 1));
    const bool is_frequent = problem.z > 1 && bits % 2 == 1;
    return is_frequent ? static_cast<std::uint32_t>((bits >> 1) % 4 * 97 % problem.y) : value;
}

class Histogram final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        const auto values = random_values<std::uint32_t>(
            problem.x, seed, [&](std::uint64_t bits) { return value_of(bits, problem); });
        std::vector<std::uint32_t> counts(problem.y);
        for (const auto value : values) {
            if (value < problem.y) ++counts[value];
        }
        auto on_device = device.upload(values);
        if (!on_device) return tl::unexpected(on_device.error());
        auto to = Output<std::uint32_t>::create(device, problem.y, 0xdeadbeefU);
        if (!to) return tl::unexpected(to.error());
        const auto properties = lode::variant_device_properties(device);
        std::uint64_t words = 0;
        if (problem.y <= most_packed_bins &&
            properties.shared_bytes_per_block >= packed_shared_bytes) {
            words =
                barrier_words + ceil_div(problem.y, 4) * 4 +
                packed_shape(problem, properties).grid.volume() * packed_words(problem, properties);
        }
        auto workspace = device.alloc<std::uint32_t>(std::max<std::uint64_t>(words, 1));
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = workspace->zero(); !zeroed) return tl::unexpected(zeroed.error());
        return std::unique_ptr<Workload>(new Histogram(problem, std::move(counts),
                                                       *std::move(on_device), *std::move(to),
                                                       *std::move(workspace)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        // The cooperative row stores its counts, the others add to them.
        if (!variant.row.needs.cooperative_launch) {
            if (auto zeroed = counts_.zero_async(stream); !zeroed) return zeroed;
        }
        return launch_with(variant, stream, problem(), values_.data(), counts_.data(),
                           workspace_.data(), static_cast<unsigned long long>(problem().x),
                           static_cast<unsigned>(problem().y));
    }
    Status poison() override { return counts_.poison(); }
    WorkloadData data() const override { return {{values_.data()}, {counts_.data()}}; }

    Status check() const override {
        const auto counts = counts_.read();
        if (!counts) return tl::unexpected(counts.error());
        return compare_equal<std::uint32_t>(*counts, expected_);
    }

    double bytes() const noexcept override {
        return 4.0 * static_cast<double>(problem().x + problem().y);
    }

private:
    Histogram(const Problem& problem, std::vector<std::uint32_t> expected,
              DeviceBuffer<std::uint32_t> values, Output<std::uint32_t> counts,
              DeviceBuffer<std::uint32_t> workspace)
        : Workload(problem),
          expected_(std::move(expected)),
          values_(std::move(values)),
          counts_(std::move(counts)),
          workspace_(std::move(workspace)) {}

    std::vector<std::uint32_t> expected_;
    DeviceBuffer<std::uint32_t> values_;
    Output<std::uint32_t> counts_;
    DeviceBuffer<std::uint32_t> workspace_;  ///< See histogram_packed.cu.
};

}  // namespace

FamilyEntry entry() {
    KernelFamily family{"histogram", {}, lode_embedded::histogram()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "histogram/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "histogram",
            .extents = "values, bins, 2 if skewed",
            .test_problems = {{1, 1},
                              {1000, 7},
                              {100003, 256},
                              {1000003, 12288},
                              {300001, 50001},
                              {200003, 60000, 2},
                              {400009, 262144, 2},
                              {300007, 1000000},
                              {2000003, 98303},
                              {12000003, 2}},
            .bench_problems = {{1U << 27, 2048}, {1U << 27, 65536}, {1U << 27, 262144}},
            .make = &Histogram::make};
}

}  // namespace LODE_NAMESPACE::kernels::histogram
