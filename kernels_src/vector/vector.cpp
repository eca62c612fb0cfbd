#include "lode_kernels/workload.hpp"

#include <limits>

#include <lode_embedded/vector.hpp>

namespace LODE_NAMESPACE::kernels::vector {
namespace {

constexpr std::uint32_t bulk_tile = 1024;  // As in vector_sm90.cu.
constexpr std::uint32_t bulk_shared_bytes = 3 * 2 * bulk_tile * 4;
constexpr std::uint32_t bulk_blocks_per_multiprocessor = 8;

LaunchShape scalar_shape(const Problem& problem, const VariantDeviceProperties&) {
    return cover(problem.x);
}

LaunchShape vec16_shape(const Problem& problem, const VariantDeviceProperties&) {
    return cover(ceil_div(problem.x, 4));
}

LaunchShape bulk_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most =
        static_cast<std::uint32_t>(properties.multiprocessors) * bulk_blocks_per_multiprocessor;
    return {.grid = {std::clamp(ceil_div(problem.x, bulk_tile), 1U, std::max(most, 1U))},
            .block = {256},
            .dynamic_shared_bytes = bulk_shared_bytes};
}

class Axpy final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto x = random_floats(problem.x, seed);
        auto y = random_floats(problem.x, seed + 1);
        auto on_device_x = device.upload(x);
        if (!on_device_x) return tl::unexpected(on_device_x.error());
        auto on_device_y = device.upload(y);
        if (!on_device_y) return tl::unexpected(on_device_y.error());
        auto z = Output<float>::create(device, problem.x, std::numeric_limits<float>::quiet_NaN());
        if (!z) return tl::unexpected(z.error());
        return std::unique_ptr<Workload>(new Axpy(problem, std::move(x), std::move(y),
                                                  *std::move(on_device_x), *std::move(on_device_y),
                                                  *std::move(z)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return launch_with(variant, stream, problem(), factor, x_.data(), y_.data(), z_.data(),
                           static_cast<unsigned long long>(problem().x));
    }
    Status poison() override { return z_.poison(); }
    WorkloadData data() const override { return {{x_.data(), y_.data()}, {z_.data()}}; }

    Status check() const override {
        const auto z = z_.read();
        if (!z) return tl::unexpected(z.error());
        return compare_rows(z->size(), 1, [&](std::size_t i, Comparison& comparison) {
            // One rounding: |a·x + y| ≤ 3, half a unit in the last place.
            const double wanted = double{factor} * host_x_[i] + host_y_[i];
            comparison.add(i, (*z)[i], wanted, 1.3e-7 * std::abs(wanted) + 1e-30);
        });
    }

    double bytes() const noexcept override { return 12.0 * static_cast<double>(problem().x); }

private:
    static constexpr float factor = 1.7F;

    Axpy(const Problem& problem, std::vector<float> host_x, std::vector<float> host_y,
         DeviceBuffer<float> x, DeviceBuffer<float> y, Output<float> z)
        : Workload(problem),
          host_x_(std::move(host_x)),
          host_y_(std::move(host_y)),
          x_(std::move(x)),
          y_(std::move(y)),
          z_(std::move(z)) {}

    std::vector<float> host_x_;
    std::vector<float> host_y_;
    DeviceBuffer<float> x_;
    DeviceBuffer<float> y_;
    Output<float> z_;
};

}  // namespace

FamilyEntry entry() {
    KernelFamily family{"vector", {}, lode_embedded::vector()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "vector/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "vector",
            .extents = "elements",
            .test_problems = {{1}, {3}, {1024}, {2048}, {4099}, {1000003}},
            .bench_problems = {{1U << 24}, {1U << 26}, {1U << 28}},
            .make = &Axpy::make};
}

}  // namespace LODE_NAMESPACE::kernels::vector
