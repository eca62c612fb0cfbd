#include "lode_kernels/common.hpp"

#include <numeric>

#include <lode_embedded/reduce.hpp>

namespace lode::kernels::reduce {
namespace {

constexpr std::uint32_t threads = 512;     // As in reduce.cuh.
constexpr std::uint32_t cluster_size = 8;  // As in reduce_sm90.cu.
constexpr std::uint32_t blocks_per_multiprocessor = 3;
constexpr std::uint32_t bytes_per_thread = 64;  // Four vectors.

std::uint32_t most_blocks(const VariantDeviceProperties& properties) {
    return std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors)) *
           blocks_per_multiprocessor;
}

template <class Element>
std::uint32_t wanted_blocks(const Problem& problem) {
    return ceil_div(problem.x, std::uint64_t{threads} * (bytes_per_thread / sizeof(Element)));
}

template <class Element>
LaunchShape block_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    return {.grid = {std::clamp(wanted_blocks<Element>(problem), 1U, most_blocks(properties))},
            .block = {threads}};
}

template <class Element>
LaunchShape cluster_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    // A cluster finishes as a whole, so many short blocks keep the multiprocessors busier. There
    // are as many partial sums as clusters, never more than most_blocks.
    const auto clusters = std::clamp(ceil_div(wanted_blocks<Element>(problem), cluster_size), 1U,
                                     most_blocks(properties) / 2);
    return {.grid = {clusters * cluster_size}, .block = {threads}, .cluster = {cluster_size}};
}

template <class Element>
class Sum final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        const auto values = random_summands<Element>(problem.x, seed);
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<Element>::create(device, 1, static_cast<Element>(0xdeadbeefU));
        if (!to) return tl::unexpected(to.error());
        auto workspace = device.alloc<Element>(
            16 / sizeof(Element) + most_blocks(lode::variant_device_properties(device)));
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = workspace->zero(); !zeroed) return tl::unexpected(zeroed.error());
        const auto sum = std::accumulate(values.begin(), values.end(), Element{0});
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
        return compare_equal<Element>(*to, std::span(&sum_, 1));
    }

    double bytes() const noexcept override {
        return sizeof(Element) * static_cast<double>(problem().x);
    }

private:
    Sum(const Problem& problem, Element sum, DeviceBuffer<Element> from, Output<Element> to,
        DeviceBuffer<Element> workspace)
        : Workload(problem),
          sum_(sum),
          from_(std::move(from)),
          to_(std::move(to)),
          workspace_(std::move(workspace)) {}

    Element sum_;
    DeviceBuffer<Element> from_;
    Output<Element> to_;
    DeviceBuffer<Element> workspace_;  ///< A ticket, then partial sums.
};

template <class Element>
FamilyEntry make_entry(std::string name, const char* element) {
    KernelFamily family{std::move(name), {}, lode_embedded::reduce()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "reduce/variants.def"
#undef LODE_VARIANT
    if (element != nullptr) {
        std::erase_if(family.rows, [](const VariantRow& row) {
            return row.name == "redux" || row.name == "cluster";
        });
        for (auto& row : family.rows)
            row.definitions = {{"LODE_ELEMENT", element}};
    }
    return {.family = std::move(family),
            .folder = "reduce",
            .extents = "elements",
            .test_problems = {{1}, {31}, {4096}, {100003}, {10000019}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Sum<Element>::make};
}

}  // namespace

FamilyEntry entry() {
    return make_entry<std::uint32_t>("reduce", nullptr);
}

FamilyEntry float_entry() {
    return make_entry<float>("reduce_float", "float");
}

FamilyEntry int64_entry() {
    return make_entry<std::uint64_t>("reduce_int64", "unsigned long long");
}

}  // namespace lode::kernels::reduce
