#include "lode_kernels/workload.hpp"

#include "select/select.hpp"

#include <bit>
#include <type_traits>

namespace LODE_NAMESPACE::kernels::select {
namespace {

/// What y of a problem means.
enum Kind : std::uint8_t { half = 1, none = 2, every = 3, first_half = 4 };

template <class Element>
std::vector<Element> make_elements(const Problem& problem, std::uint64_t seed) {
    std::vector<Element> elements = random_values<Element>(problem.x, seed, [](std::uint64_t bits) {
        if constexpr (std::is_floating_point_v<Element>)
            return static_cast<Element>(static_cast<std::int64_t>(bits) >> 40);
        else
            return static_cast<Element>(bits >> (64 - sizeof(Element) * 8));
    });
    if (problem.y == half) return elements;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const bool wanted =
            problem.y == every || (problem.y == first_half && i < elements.size() / 2);
        if ((elements[i] > Element{}) == wanted) continue;
        // The bits of -0 and of the lowest integer have no negative.
        elements[i] = wanted ? static_cast<Element>(1 + i % 100) : Element{};
    }
    return elements;
}

template <class Element>
class Select final : public Workload {
public:
    template <bool partitions>
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        const auto elements = make_elements<Element>(problem, seed);
        auto from = device.upload(elements);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<Element>::create(device, problem.x, poison_value);
        if (!to) return tl::unexpected(to.error());
        auto count = Output<std::uint32_t>::create(device, 1, ~0U);
        if (!count) return tl::unexpected(count.error());
        auto state = device.alloc<std::byte>(need({}, problem, detail::number_type<Element>).bytes);
        if (!state) return tl::unexpected(state.error());
        if (auto zeroed = state->zero(); !zeroed) return tl::unexpected(zeroed.error());
        return std::unique_ptr<Workload>(new Select(problem, elements, partitions, *std::move(from),
                                                    *std::move(to), *std::move(count),
                                                    *std::move(state)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return select::launch(variant, stream, problem(), from_.data(), to_.data(), count_.data(),
                              state_.data());
    }
    Status poison() override {
        return to_.poison().and_then([&] { return count_.poison(); });
    }
    WorkloadData data() const override { return {{from_.data()}, {to_.data(), count_.data()}}; }

    Status check() const override {
        const auto count = count_.read();
        if (!count) return tl::unexpected(count.error());
        const auto to = to_.read();
        if (!to) return tl::unexpected(to.error());
        if (count->front() != selected_)
            return fail(Errc::driver_failed, fmt::format("{} elements are selected instead of {}.",
                                                         count->front(), selected_));
        for (std::size_t i = 0; i < to->size(); ++i) {
            if (std::memcmp(&(*to)[i], &expected_[i], sizeof(Element)) == 0) continue;
            return fail(Errc::driver_failed,
                        fmt::format("Element {} is {} instead of {}.", i, (*to)[i], expected_[i]));
        }
        return {};
    }

    double bytes() const noexcept override {
        const auto written = partitions_ ? problem().x : selected_;
        return static_cast<double>(sizeof(Element)) * static_cast<double>(problem().x + written);
    }

private:
    /// Not selected, and its halves are equal: see Output.
    static constexpr auto poison_value = std::bit_cast<Element>(
        static_cast<std::conditional_t<sizeof(Element) == 8, std::uint64_t, std::uint32_t>>(
            0xc5c5c5c5c5c5c5c5U));

    Select(const Problem& problem, const std::vector<Element>& elements, bool partitions,
           DeviceBuffer<Element> from, Output<Element> to, Output<std::uint32_t> count,
           DeviceBuffer<std::byte> state)
        : Workload(problem),
          partitions_(partitions),
          // A selection leaves what is after it untouched.
          expected_(elements.size(), poison_value),
          from_(std::move(from)),
          to_(std::move(to)),
          count_(std::move(count)),
          state_(std::move(state)) {
        std::size_t rest = elements.size();
        for (const Element x : elements) {
            if (x > Element{})
                expected_[selected_++] = x;
            else if (partitions)
                expected_[--rest] = x;
        }
    }

    bool partitions_;
    std::vector<Element> expected_;
    std::size_t selected_ = 0;
    DeviceBuffer<Element> from_;
    Output<Element> to_;
    Output<std::uint32_t> count_;
    DeviceBuffer<std::byte> state_;
};

template <class Element, bool partitions>
FamilyEntry make_entry() {
    return {.family = family(detail::number_type<Element>, partitions),
            .folder = "select",
            .extents = "elements, their kind (1 half selected, 2 none, 3 all, 4 the first half)",
            .test_problems = {{1},
                              {1000},
                              {16384},
                              {40021},
                              {40021, none},
                              {40021, every},
                              {40021, first_half},
                              {1000003},
                              {10000019}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Select<Element>::template make<partitions>};
}

}  // namespace

std::vector<FamilyEntry> entries() {
    return {make_entry<std::int32_t, true>(), make_entry<float, true>(),
            make_entry<std::int64_t, true>(), make_entry<std::int32_t, false>(),
            make_entry<float, false>(),       make_entry<std::int64_t, false>()};
}

}  // namespace LODE_NAMESPACE::kernels::select
