#include "lode_kernels/common.hpp"

#include <bit>
#include <type_traits>

#include <lode_embedded/select.hpp>

namespace lode::kernels::select {
namespace {

constexpr std::uint32_t first_word = 2;  // As in select.cuh.

/// What y of a problem means.
enum Kind : std::uint8_t { half = 1, none = 2, every = 3, first_half = 4 };

/// A block's part of the work.
struct Tile {
    std::uint32_t threads;
    std::uint32_t bytes_per_thread;
    std::uint32_t blocks;  ///< The most on a multiprocessor; 0 if a block has one tile.

    [[nodiscard]] std::uint32_t size(std::uint32_t element_bytes) const {
        return threads * bytes_per_thread / element_bytes;
    }
};

/// One row of variants.def.
struct Row {
    std::string_view name;
    std::string_view source;
    std::string_view arch;
    std::uint64_t most;    ///< Bytes of elements; 0 for any number.
    std::uint32_t stages;  ///< Tiles in dynamic shared memory; 0 if a block has one tile.
    Tile selection;
    Tile partition;
};

constexpr Row table[] = {
#define LODE_VARIANT(...) {__VA_ARGS__},
#include "select/variants.def"
#undef LODE_VARIANT
};

/// The type of a family's elements, and whether the others are written as well.
struct Types {
    std::string_view element;
    std::uint32_t bytes;
    bool partitions;
};

VariantRow make_variant(const Row& from, const Types& types) {
    constexpr std::uint32_t barriers = 2048;  // More than the static shared memory of the kernels.
    const Tile& tile = types.partitions ? from.partition : from.selection;
    const std::uint32_t elements = tile.size(types.bytes);
    const std::uint32_t shared = from.stages * elements * types.bytes;
    const Needs needs{.shared_bytes = shared == 0 ? 0 : shared + barriers};
    auto row = make_row(from.name, from.source, from.arch, needs, nullptr, nullptr);
    const auto number = [](std::uint32_t value) { return fmt::format("{}", value); };
    row.definitions = {{"SELECT_ELEMENT", std::string(types.element)},
                       {"SELECT_PARTITION", types.partitions ? "1" : "0"},
                       {"SELECT_THREADS", number(tile.threads)},
                       {"SELECT_ITEMS", number(tile.bytes_per_thread / types.bytes)}};
    row.shape = [tile, elements, shared](const Problem& problem,
                                         const VariantDeviceProperties& properties) {
        const auto tiles = ceil_div(problem.x, elements);
        const auto most =
            std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors)) * tile.blocks;
        return LaunchShape{.grid = {tile.blocks == 0 ? tiles : std::min(tiles, most)},
                           .block = {tile.threads},
                           .dynamic_shared_bytes = shared};
    };
    if (from.most != 0) {
        row.refuses = [most = from.most /
                              types.bytes](const Problem& problem) -> std::optional<std::string> {
            if (problem.x <= most) return std::nullopt;
            return fmt::format("{} elements exceed its {}", problem.x, most);
        };
    }
    return row;
}

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
        auto least = table[0].selection.size(sizeof(Element));
        for (const auto& row : table) {
            for (const auto& tile : {row.selection, row.partition})
                least = std::min(least, tile.size(sizeof(Element)));
        }
        auto state = device.alloc<unsigned long long>(first_word + ceil_div(problem.x, least));
        if (!state) return tl::unexpected(state.error());
        if (auto zeroed = state->zero(); !zeroed) return tl::unexpected(zeroed.error());
        return std::unique_ptr<Workload>(new Select(problem, elements, partitions, *std::move(from),
                                                    *std::move(to), *std::move(count),
                                                    *std::move(state)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return launch_with(variant, stream, problem(), from_.data(), to_.data(), count_.data(),
                           state_.data(), static_cast<unsigned long long>(problem().x));
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
           DeviceBuffer<unsigned long long> state)
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
    DeviceBuffer<unsigned long long> state_;
};

FamilyEntry make_entry(std::string name, const Types& types, decltype(FamilyEntry::make) make) {
    KernelFamily family{std::move(name), {}, lode_embedded::select()};
    for (const auto& row : table)
        family.rows.push_back(make_variant(row, types));
    return {.family = std::move(family),
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
            .make = make};
}

}  // namespace

FamilyEntry entry() {
    return make_entry("select", {"int", 4, false}, &Select<std::int32_t>::make<false>);
}
FamilyEntry float_entry() {
    return make_entry("select_float", {"float", 4, false}, &Select<float>::make<false>);
}
FamilyEntry int64_entry() {
    return make_entry("select_int64", {"long long", 8, false}, &Select<std::int64_t>::make<false>);
}
FamilyEntry partition_entry() {
    return make_entry("partition", {"int", 4, true}, &Select<std::int32_t>::make<true>);
}
FamilyEntry partition_float_entry() {
    return make_entry("partition_float", {"float", 4, true}, &Select<float>::make<true>);
}
FamilyEntry partition_int64_entry() {
    return make_entry("partition_int64", {"long long", 8, true}, &Select<std::int64_t>::make<true>);
}

}  // namespace lode::kernels::select
