#include "lode_kernels/workload.hpp"

#include "layer_norm/layer_norm.hpp"

namespace LODE_NAMESPACE::kernels::layer_norm {
namespace {

constexpr float epsilon = 1e-5F;

class LayerNorm final : public MatrixWorkload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_floats(problem.x * problem.y, seed);
        for (auto& value : values)
            value = 3 * value + 2;
        auto scales = random_floats(problem.y, seed + 1);
        auto shifts = random_floats(problem.y, seed + 2);
        auto on_device_scales = device.upload(scales);
        if (!on_device_scales) return tl::unexpected(on_device_scales.error());
        auto on_device_shifts = device.upload(shifts);
        if (!on_device_shifts) return tl::unexpected(on_device_shifts.error());
        return upload(device, std::move(values)).map([&](Matrices matrices) {
            return std::unique_ptr<Workload>(
                new LayerNorm(problem, std::move(matrices), std::move(scales), std::move(shifts),
                              *std::move(on_device_scales), *std::move(on_device_shifts)));
        });
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        const auto matrices = MatrixWorkload::data();
        return layer_norm::launch(variant, stream, problem(), matrices.inputs[0],
                                  matrices.outputs[0], on_device_scales_.data(),
                                  on_device_shifts_.data(), epsilon);
    }
    WorkloadData data() const override {
        auto all = MatrixWorkload::data();
        all.inputs.push_back(on_device_scales_.data());
        all.inputs.push_back(on_device_shifts_.data());
        return all;
    }
    double bytes() const noexcept override {
        return MatrixWorkload::bytes() + 8.0 * static_cast<double>(problem().y);
    }

    Status check() const override {
        const auto to = read();
        if (!to) return tl::unexpected(to.error());
        const std::size_t columns = problem().y;
        return compare_rows(problem().x, columns, [&](std::size_t row, Comparison& comparison) {
            const std::span from(values().data() + row * columns, columns);
            double sum = 0;
            for (const float value : from)
                sum += value;
            const double mean = sum / static_cast<double>(columns);
            double squares = 0;
            for (const float value : from)
                squares += (value - mean) * (value - mean);
            const double deviation =
                std::sqrt(squares / static_cast<double>(columns) + double{epsilon});
            for (std::size_t column = 0; column < columns; ++column) {
                const double normal = (from[column] - mean) / deviation;
                const std::size_t at = row * columns + column;
                // |x| < 5: the mean and x - mean have the error of a few units of 2^-22, which the
                // deviation divides.
                comparison.add(at, (*to)[at], normal * scales_[column] + shifts_[column],
                               4e-6 * (std::abs(normal) + 1 / deviation + 1));
            }
        });
    }

private:
    LayerNorm(const Problem& problem, Matrices matrices, std::vector<float> scales,
              std::vector<float> shifts, DeviceBuffer<float> on_device_scales,
              DeviceBuffer<float> on_device_shifts)
        : MatrixWorkload(problem, std::move(matrices)),
          scales_(std::move(scales)),
          shifts_(std::move(shifts)),
          on_device_scales_(std::move(on_device_scales)),
          on_device_shifts_(std::move(on_device_shifts)) {}

    std::vector<float> scales_;
    std::vector<float> shifts_;
    DeviceBuffer<float> on_device_scales_;
    DeviceBuffer<float> on_device_shifts_;
};

}  // namespace

FamilyEntry entry() {
    return {.family = family(),
            .folder = "layer_norm",
            .extents = "rows, columns",
            .test_problems = {{1, 1},
                              {3, 5},
                              {37, 128},
                              {50, 200},
                              {100, 1000},
                              {64, 1024},
                              {33, 8192},
                              {3, 32768},
                              {2, 65536},
                              {5, 20000},
                              {5, 20001},
                              {3, 100000},
                              {2, 300004}},
            .bench_problems = {{262144, 256},
                               {65536, 1024},
                               {32768, 2048},
                               {16384, 4096},
                               {8192, 8192},
                               {4096, 16384},
                               {2048, 32768}},
            .make = &LayerNorm::make};
}

}  // namespace LODE_NAMESPACE::kernels::layer_norm
