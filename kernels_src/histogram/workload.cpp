#include "lode_kernels/workload.hpp"

#include "histogram/histogram.hpp"

namespace LODE_NAMESPACE::kernels::histogram {
namespace {

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
        // For any row: that of the packed one.
        LoadedVariant packed;
        packed.row.needs.cooperative_launch = true;
        packed.device_properties = lode::variant_device_properties(device);
        const auto bytes = refusal_of(*family().row("packed"), packed.device_properties, problem)
                               ? 0
                               : need(packed, problem, {}).bytes;
        auto workspace = device.alloc<std::byte>(bytes);
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = bytes == 0 ? Status() : workspace->zero(); !zeroed)
            return tl::unexpected(zeroed.error());
        return std::unique_ptr<Workload>(new Histogram(problem, std::move(counts),
                                                       *std::move(on_device), *std::move(to),
                                                       *std::move(workspace)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return histogram::launch(variant, stream, problem(), values_.data(), counts_.span(),
                                 workspace_.data());
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
              DeviceBuffer<std::byte> workspace)
        : Workload(problem),
          expected_(std::move(expected)),
          values_(std::move(values)),
          counts_(std::move(counts)),
          workspace_(std::move(workspace)) {}

    std::vector<std::uint32_t> expected_;
    DeviceBuffer<std::uint32_t> values_;
    Output<std::uint32_t> counts_;
    DeviceBuffer<std::byte> workspace_;
};

}  // namespace

FamilyEntry entry() {
    return {.family = family(),
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
