#include "lode_kernels/common.hpp"

#include <numeric>

#include <lode_embedded/reduce.hpp>

namespace lode::kernels::reduce {
namespace {

constexpr std::uint32_t threads = 256;
constexpr std::uint32_t cluster_size = 8;  // As in reduce_sm90.cu.
constexpr std::uint32_t blocks_per_multiprocessor = 8;
constexpr std::uint32_t elements_per_thread = 16;

std::uint32_t most_blocks(const VariantDeviceProperties& properties) {
    return std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors)) *
           blocks_per_multiprocessor;
}

LaunchShape block_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto wanted = ceil_div(problem.x, std::uint64_t{threads} * elements_per_thread);
    return {.grid = {std::clamp(wanted, 1U, most_blocks(properties))}, .block = {threads}};
}

LaunchShape cluster_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    // A cluster finishes as a whole, so many short blocks keep the multiprocessors busier. There
    // are as many partial sums as clusters, never more than most_blocks.
    const auto wanted = ceil_div(problem.x, std::uint64_t{threads} * elements_per_thread);
    const auto clusters =
        std::clamp(ceil_div(wanted, cluster_size), 1U, most_blocks(properties) / 2);
    return {.grid = {clusters * cluster_size}, .block = {threads}, .cluster = {cluster_size}};
}

class Sum final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        const auto values = random_words(problem.x, seed);
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<std::uint32_t>::create(device, 1, 0xdeadbeefU);
        if (!to) return tl::unexpected(to.error());
        auto workspace = device.alloc<std::uint32_t>(
            1 + most_blocks(lode::variant_device_properties(device)) + cluster_size);
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = workspace->zero(); !zeroed) return tl::unexpected(zeroed.error());
        const auto sum = std::accumulate(values.begin(), values.end(), std::uint32_t{0});
        return std::unique_ptr<Workload>(
            new Sum(problem, sum, *std::move(from), *std::move(to), *std::move(workspace)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return launch_with(variant, stream, problem(), from_.data(), to_.data(), workspace_.data(),
                           static_cast<unsigned long long>(problem().x));
    }
    Status poison() override { return to_.poison(); }
    WorkloadData data() const override { return {{from_.data()}, {to_.data()}}; }

    Status check() const override {
        const auto to = to_.read();
        if (!to) return tl::unexpected(to.error());
        return compare_words(*to, std::span(&sum_, 1));
    }

    double bytes() const noexcept override { return 4.0 * static_cast<double>(problem().x); }

private:
    Sum(const Problem& problem, std::uint32_t sum, DeviceBuffer<std::uint32_t> from,
        Output<std::uint32_t> to, DeviceBuffer<std::uint32_t> workspace)
        : Workload(problem),
          sum_(sum),
          from_(std::move(from)),
          to_(std::move(to)),
          workspace_(std::move(workspace)) {}

    std::uint32_t sum_;
    DeviceBuffer<std::uint32_t> from_;
    Output<std::uint32_t> to_;
    DeviceBuffer<std::uint32_t> workspace_;  ///< A ticket, then partial sums.
};

}  // namespace

FamilyEntry entry() {
    KernelFamily family{"reduce", {}, lode_embedded::reduce()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "reduce/variants.def"
#undef LODE_VARIANT
    return {.family = std::move(family),
            .folder = "reduce",
            .extents = "elements",
            .test_problems = {{1}, {31}, {4096}, {100003}, {10000019}},
            .bench_problems = {{1U << 27}},
            .make = &Sum::make};
}

}  // namespace lode::kernels::reduce
