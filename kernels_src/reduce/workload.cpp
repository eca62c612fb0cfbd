#include "lode_kernels/workload.hpp"

#include "reduce/reduce.hpp"

#include <numeric>

namespace LODE_NAMESPACE::kernels::reduce {
namespace {

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
        LoadedVariant any;
        any.device_properties = lode::variant_device_properties(device);
        auto workspace =
            device.alloc<std::byte>(need(any, problem, detail::number_type<Element>).bytes);
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = workspace->zero(); !zeroed) return tl::unexpected(zeroed.error());
        const auto sum = std::accumulate(values.begin(), values.end(), Element{0});
        return std::unique_ptr<Workload>(
            new Sum(problem, sum, *std::move(from), *std::move(to), *std::move(workspace)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return reduce::launch(variant, stream, problem(), from_.data(), to_.data(),
                              workspace_.data());
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
        DeviceBuffer<std::byte> workspace)
        : Workload(problem),
          sum_(sum),
          from_(std::move(from)),
          to_(std::move(to)),
          workspace_(std::move(workspace)) {}

    Element sum_;
    DeviceBuffer<Element> from_;
    Output<Element> to_;
    DeviceBuffer<std::byte> workspace_;
};

template <class Element>
FamilyEntry make_entry() {
    return {.family = family(detail::number_type<Element>, true),
            .folder = "reduce",
            .extents = "elements",
            .test_problems = {{1}, {31}, {4096}, {100003}, {10000019}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Sum<Element>::make};
}

}  // namespace

std::vector<FamilyEntry> entries() {
    return {make_entry<std::uint32_t>(), make_entry<float>(), make_entry<std::uint64_t>()};
}

}  // namespace LODE_NAMESPACE::kernels::reduce
