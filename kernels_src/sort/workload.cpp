#include "lode_kernels/workload.hpp"

#include "sort/sort.hpp"

#include <atomic>
#include <bit>
#include <type_traits>

namespace LODE_NAMESPACE::kernels::sort {
namespace {

/// What y of a problem means.
enum Kind : std::uint8_t { random_keys = 1, few_distinct = 2, ascending = 3, all_equal = 4 };

/// The bits of a key whose unsigned order is the order of the keys, as Order of sort.cuh.
template <class Key>
auto order_of(Key key) {
    using Bits = std::conditional_t<sizeof(Key) == 8, std::uint64_t, std::uint32_t>;
    constexpr Bits sign = Bits{1} << (sizeof(Key) * 8 - 1);
    const auto bits = std::bit_cast<Bits>(key);
    if (std::is_floating_point_v<Key> && (bits & sign) != 0) return static_cast<Bits>(~bits);
    return bits ^ sign;
}

template <class Key>
std::vector<Key> make_keys(const Problem& problem, std::uint64_t seed) {
    using Bits = decltype(order_of(Key{}));
    const auto from_bits = [](std::uint64_t bits) {
        const auto key = std::bit_cast<Key>(static_cast<Bits>(bits));
        // Libraries may take -0 and 0 for equal.
        return key == Key{} ? Key{} : key;
    };
    if (problem.y == all_equal)
        return std::vector<Key>(problem.x, std::bit_cast<Key>(static_cast<Bits>(seed)));
    if (problem.y == few_distinct) {
        using Limits = std::numeric_limits<Key>;
        const Key few[] = {Key{},
                           Key{-1},
                           Limits::lowest(),
                           Limits::max(),
                           Key{7},
                           -Key{},
                           Limits::has_infinity ? Limits::infinity() : Key{1},
                           Limits::has_quiet_NaN ? Limits::quiet_NaN() : Key{256}};
        return random_values<Key>(problem.x, seed,
                                  [&](std::uint64_t bits) { return few[bits % std::size(few)]; });
    }
    auto keys = random_values<Key>(problem.x, seed, from_bits);
    if (problem.y == ascending) std::ranges::sort(keys, {}, [](Key key) { return order_of(key); });
    return keys;
}

/// What keys in any order have in common: a difference of one key changes it.
template <class Key>
std::uint64_t sum_of_hashes(std::span<const Key> keys) {
    std::atomic<std::uint64_t> sum{0};
    in_parts(keys.size(), [&](std::size_t first, std::size_t last) {
        std::uint64_t part = 0;
        for (std::size_t i = first; i < last; ++i)
            part += random_bits(1, order_of(keys[i]));
        sum += part;
    });
    return sum;
}

template <class Key>
class Sort final : public Workload {
public:
    template <bool has_values>
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto workload = std::unique_ptr<Sort>(new Sort(device, problem, has_values, seed));
        if (auto made = workload->allocate(); !made) return tl::unexpected(std::move(made).error());
        return workload;
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        if (auto ready = prepare_state(variant, stream); !ready) return ready;
        sort::Arguments arguments{.from = from_->data(),
                                  .between = between_->data(),
                                  .to = to_->data(),
                                  .state = state_->data()};
        if (has_values_) {
            arguments.from_values = from_values_->data();
            arguments.values_between = values_between_->data();
            arguments.to_values = to_values_->data();
        }
        return sort::launch(variant, stream, problem(), detail::number_type<Key>, arguments);
    }

    Status poison() override {
        auto poisoned = to_->poison();
        if (poisoned && has_values_) poisoned = to_values_->poison();
        return poisoned;
    }

    WorkloadData data() const override {
        if (!has_values_) return {{from_->data()}, {to_->data()}};
        return {{from_->data(), from_values_->data()}, {to_->data(), to_values_->data()}};
    }

    Status check() const override {
        const auto keys = to_->read();
        if (!keys) return tl::unexpected(keys.error());
        if (has_values_) return check_pairs(*keys);
        for (std::size_t i = 1; i < keys->size(); ++i) {
            if (order_of((*keys)[i - 1]) > order_of((*keys)[i])) return out_of_order(i);
        }
        if (sum_of_hashes<Key>(*keys) == hashes_) return {};
        return fail(Errc::driver_failed,
                    fmt::format("The {} sorted keys aren't those of the input.", keys->size()));
    }

    /// Each pass reads and writes everything; the count reads the keys.
    double bytes() const noexcept override {
        const double n = static_cast<double>(problem().x);
        const double pair = sizeof(Key) + (has_values_ ? 4.0 : 0.0);
        return n * (sizeof(Key) + 2.0 * sizeof(Key) * pair);
    }

private:
    Sort(Device device, const Problem& problem, bool has_values, std::uint64_t seed)
        : Workload(problem),
          device_(std::move(device)),
          has_values_(has_values),
          keys_(make_keys<Key>(problem, seed)),
          hashes_(sum_of_hashes<Key>(keys_)) {}

    static Status out_of_order(std::size_t i) {
        return fail(Errc::driver_failed,
                    fmt::format("Element {} is before the one that precedes it.", i));
    }

    Status allocate() {
        const auto n = problem().x;
        const auto keep = [](auto& member, auto made) -> Status {
            if (!made) return tl::unexpected(made.error());
            member.emplace(*std::move(made));
            return {};
        };
        constexpr Key poison =
            std::bit_cast<Key>(static_cast<decltype(order_of(Key{}))>(0xdeadbeefdeadbeefULL));
        auto done = keep(from_, device_.upload(keys_));
        if (done) done = keep(to_, Output<Key>::create(device_, n, poison));
        if (done) done = keep(between_, device_.alloc<Key>(n));
        if (!has_values_) {
            keys_ = {};
            return done;
        }
        std::vector<std::uint32_t> places(n);
        for (std::size_t i = 0; i < n; ++i)
            places[i] = static_cast<std::uint32_t>(i);
        if (done) done = keep(from_values_, device_.upload(places));
        if (done) done = keep(to_values_, Output<std::uint32_t>::create(device_, n, ~0U));
        if (done) done = keep(values_between_, device_.alloc<std::uint32_t>(n));
        return done;
    }

    /// Zeroes the state if the last launch was of another row, whose words mean something else.
    Status prepare_state(const LoadedVariant& variant, StreamRef stream) {
        if (state_ && row_ == variant.row.name) return {};
        const auto bytes = state_bytes(variant, problem(), detail::number_type<Key>, has_values_);
        if (!state_ || state_->size() < bytes) {
            auto state = device_.alloc<std::byte>(bytes);
            if (!state) return tl::unexpected(state.error());
            state_.emplace(*std::move(state));
        }
        row_ = variant.row.name;
        return state_->zero_async(stream);
    }

    /// The values are the places of the keys in the input. They can't repeat if the pairs ascend,
    /// so this proves a stable sort.
    Status check_pairs(const std::vector<Key>& keys) const {
        const auto places = to_values_->read();
        if (!places) return tl::unexpected(places.error());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto place = (*places)[i];
            if (place >= keys.size() || order_of(keys_[place]) != order_of(keys[i]))
                return fail(Errc::driver_failed,
                            fmt::format("Element {} has the value {} of another key.", i, place));
            if (i == 0) continue;
            const auto before = order_of(keys[i - 1]);
            if (before > order_of(keys[i]) ||
                (before == order_of(keys[i]) && (*places)[i - 1] >= place))
                return out_of_order(i);
        }
        return {};
    }

    Device device_;
    bool has_values_;
    std::vector<Key> keys_;  ///< The input; empty without values.
    std::uint64_t hashes_;
    std::optional<DeviceBuffer<Key>> from_;
    std::optional<Output<Key>> to_;
    std::optional<DeviceBuffer<Key>> between_;
    std::optional<DeviceBuffer<std::uint32_t>> from_values_;
    std::optional<Output<std::uint32_t>> to_values_;
    std::optional<DeviceBuffer<std::uint32_t>> values_between_;
    std::optional<DeviceBuffer<std::byte>> state_;
    std::string row_;  ///< Whose words the state has.
};

template <class Key, bool has_values>
FamilyEntry make_entry() {
    return {.family = family(detail::number_type<Key>, has_values, false),
            .folder = "sort",
            .extents = "keys, their kind (1 random, 2 few distinct, 3 ascending, 4 equal)",
            .test_problems = {{1},
                              {255},
                              {8192},
                              {20011, few_distinct},
                              {20011, ascending},
                              {20011, all_equal},
                              {40009},
                              {3000017},
                              {3000017, few_distinct}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Sort<Key>::template make<has_values>};
}

}  // namespace

std::vector<FamilyEntry> entries() {
    return {make_entry<std::int32_t, false>(), make_entry<float, false>(),
            make_entry<std::int64_t, false>(), make_entry<std::int32_t, true>()};
}

}  // namespace LODE_NAMESPACE::kernels::sort
