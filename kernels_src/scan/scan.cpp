#include "lode_kernels/common.hpp"

#include <numeric>

#include <lode_embedded/scan.hpp>

namespace lode::kernels::scan {
namespace {

constexpr std::uint32_t threads = 512;                     // As in scan.cuh.
constexpr std::uint32_t tile = 16384;                      // As in scan.cuh.
constexpr std::uint32_t bulk_shared_bytes = 3 * tile * 4;  // As in scan_sm90.cu.
constexpr std::uint32_t last_epoch = (1U << 30) - 1;

LaunchShape tile_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {ceil_div(problem.x, tile)}, .block = {threads}};
}

LaunchShape bulk_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors));
    return {.grid = {std::min(ceil_div(problem.x, tile), most)},
            .block = {threads},
            .dynamic_shared_bytes = bulk_shared_bytes};
}

class Scan final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_words(problem.x, seed);
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<std::uint32_t>::create(device, problem.x, 0xdeadbeefU);
        if (!to) return tl::unexpected(to.error());
        auto state = device.alloc<unsigned long long>(1 + ceil_div(problem.x, tile));
        if (!state) return tl::unexpected(state.error());
        if (auto zeroed = state->zero(); !zeroed) return tl::unexpected(zeroed.error());
        std::partial_sum(values.begin(), values.end(), values.begin());
        return std::unique_ptr<Workload>(new Scan(problem, std::move(values), *std::move(from),
                                                  *std::move(to), *std::move(state)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        // Before the epoch wraps, clears the state: old words would look like those of this launch.
        if (epoch_ == last_epoch) {
            if (auto zeroed = state_.zero_async(stream); !zeroed) return zeroed;
            epoch_ = 0;
        }
        return launch_with(variant, stream, problem(), from_.data(), to_.data(), state_.data(),
                           ++epoch_, static_cast<unsigned long long>(problem().x));
    }
    Status poison() override { return to_.poison(); }
    WorkloadData data() const override { return {{from_.data()}, {to_.data()}}; }

    Status check() const override {
        const auto to = to_.read();
        if (!to) return tl::unexpected(to.error());
        return compare_words(*to, sums_);
    }

    double bytes() const noexcept override { return 8.0 * static_cast<double>(problem().x); }

private:
    Scan(const Problem& problem, std::vector<std::uint32_t> sums, DeviceBuffer<std::uint32_t> from,
         Output<std::uint32_t> to, DeviceBuffer<unsigned long long> state)
        : Workload(problem),
          sums_(std::move(sums)),
          from_(std::move(from)),
          to_(std::move(to)),
          state_(std::move(state)) {}

    std::vector<std::uint32_t> sums_;
    DeviceBuffer<std::uint32_t> from_;
    Output<std::uint32_t> to_;
    DeviceBuffer<unsigned long long> state_;
    std::uint32_t epoch_ = 0;
};

}  // namespace

FamilyEntry entry() {
    KernelFamily family{"scan", {}, lode_embedded::scan()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "scan/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "scan",
            .extents = "elements",
            .test_problems = {{1}, {127}, {16384}, {16385}, {1000003}, {10000019}},
            .bench_problems = {{1U << 26}, {1U << 27}},
            .make = &Scan::make};
}

}  // namespace lode::kernels::scan
