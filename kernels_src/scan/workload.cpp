#include "lode_kernels/workload.hpp"

#include "scan/scan.hpp"

#include <numeric>

namespace LODE_NAMESPACE::kernels::scan {
namespace {

template <class Element>
class Scan final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_summands<Element>(problem.x, seed);
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<Element>::create(device, problem.x, static_cast<Element>(0xdeadbeefU));
        if (!to) return tl::unexpected(to.error());
        std::vector<std::uint64_t> words(need({}, problem, detail::number_type<Element>).bytes / 8);
        // The epoch starts at the last one, so that the second launch is the first of a new round.
        words[0] = std::uint64_t{(1U << 30) - 1} << 32;
        auto state = device.upload(words);
        if (!state) return tl::unexpected(state.error());
        std::partial_sum(values.begin(), values.end(), values.begin());
        return std::unique_ptr<Workload>(new Scan(problem, std::move(values), *std::move(from),
                                                  *std::move(to), *std::move(state)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return scan::launch(variant, stream, problem(), from_.data(), to_.data(), state_.data());
    }
    Status poison() override { return to_.poison(); }
    WorkloadData data() const override { return {{from_.data()}, {to_.data()}}; }

    Status check() const override {
        const auto to = to_.read();
        if (!to) return tl::unexpected(to.error());
        return compare_equal<Element>(*to, sums_);
    }

    double bytes() const noexcept override {
        return 2.0 * sizeof(Element) * static_cast<double>(problem().x);
    }

private:
    Scan(const Problem& problem, std::vector<Element> sums, DeviceBuffer<Element> from,
         Output<Element> to, DeviceBuffer<std::uint64_t> state)
        : Workload(problem),
          sums_(std::move(sums)),
          from_(std::move(from)),
          to_(std::move(to)),
          state_(std::move(state)) {}

    std::vector<Element> sums_;
    DeviceBuffer<Element> from_;
    Output<Element> to_;
    DeviceBuffer<std::uint64_t> state_;
};

template <class Element>
FamilyEntry make_entry() {
    return {.family = family(detail::number_type<Element>, true),
            .folder = "scan",
            .extents = "elements",
            .test_problems = {{1}, {127}, {2048}, {16385}, {131072}, {1000003}, {10000019}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Scan<Element>::make};
}

}  // namespace

std::vector<FamilyEntry> entries() {
    return {make_entry<std::uint32_t>(), make_entry<float>(), make_entry<std::uint64_t>()};
}

}  // namespace LODE_NAMESPACE::kernels::scan
