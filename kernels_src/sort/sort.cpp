#include "lode_kernels/common.hpp"

#include <atomic>
#include <bit>
#include <type_traits>

#include <lode_embedded/sort.hpp>

namespace lode::kernels::sort {
namespace {

constexpr std::uint32_t digits = 256;  // As in sort.cuh.
constexpr std::uint64_t bytes_per_count_thread = 64;
constexpr std::uint32_t count_shared_bytes = 128 * 1024;  // As in sort_sm90.cu.

/// What y of a problem means.
enum Kind : std::uint8_t { random_keys = 1, few_distinct = 2, ascending = 3, all_equal = 4 };

/// A block's part of the work.
struct Tile {
    std::uint32_t threads = 0;
    std::uint32_t items = 0;
    std::uint64_t most = 0;  ///< Keys, if not those of the row.

    [[nodiscard]] std::uint32_t size() const { return threads * items; }
    /// sizeof(Tiling::Shared) of sort.cuh or sizeof(BulkShared) of sort_sm90.cuh, or a little more.
    [[nodiscard]] std::uint32_t shared_bytes(std::uint32_t pair_bytes, bool persistent) const {
        constexpr std::uint32_t fixed = digits * 8 + 8 * 4 + 8 * 8 + 96;
        return size() * pair_bytes * (persistent ? 2 : 1) + threads / 32 * digits * 2 + fixed;
    }
};

/// One row of variants.def.
struct Row {
    std::string_view name;
    std::string_view source;
    std::string_view arch;
    std::uint64_t most;    ///< Keys; 0 for any number.
    bool persistent;       ///< Each block sorts many tiles.
    std::uint32_t blocks;  ///< That share a multiprocessor.
    Tile keys32;
    Tile keys64;
    Tile pairs;
};

constexpr Row table[] = {
#define LODE_VARIANT(...) {__VA_ARGS__},
#include "sort/variants.def"
#undef LODE_VARIANT
};

/// The launch of sort_count: that of sort.cu, or of sort_sm90.cu.
LaunchShape count_shape(bool persistent, std::uint64_t bytes, std::uint32_t multiprocessors) {
    const std::uint32_t threads = persistent ? 1024 : 512;
    const std::uint32_t most = std::max(1U, multiprocessors) * (persistent ? 1 : 4);
    const auto wanted = ceil_div(bytes, threads * bytes_per_count_thread);
    return {.grid = {std::clamp(wanted, 1U, most)},
            .block = {threads},
            .dynamic_shared_bytes = persistent ? count_shared_bytes : 0};
}

/// The type of a family's keys, and whether it has values.
struct Types {
    std::string_view key;
    std::uint32_t key_bytes;
    bool values;

    [[nodiscard]] const Tile& tile(const Row& row) const {
        return values ? row.pairs : key_bytes == 8 ? row.keys64 : row.keys32;
    }
};

VariantRow make_variant(const Row& from, const Types& types) {
    const Tile tile = types.tile(from);
    const auto shared =
        tile.shared_bytes(types.key_bytes + (types.values ? 4 : 0), from.persistent);
    constexpr std::uint32_t no_need = 48 * 1024;  // Every device has as much.
    const auto most_shared = from.persistent ? std::max(shared, count_shared_bytes) : shared;
    const Needs needs{.shared_bytes = most_shared > no_need ? most_shared : 0};
    auto row = make_row(from.name, std::string(from.source) + ":sort_pass", from.arch, needs,
                        nullptr, nullptr);
    row.helpers = {"sort_count"};
    const auto number = [](std::uint64_t value) { return fmt::format("{}", value); };
    row.definitions = {{"SORT_KEY", std::string(types.key)},
                       {"SORT_VALUES", types.values ? "1" : "0"},
                       {"SORT_WORD", from.most != 0 ? "unsigned" : "unsigned long long"},
                       {"SORT_THREADS", number(tile.threads)},
                       {"SORT_ITEMS", number(tile.items)},
                       {"SORT_BLOCKS", number(from.blocks)},
                       {"SORT_SHARED_BYTES", number(shared)}};
    row.shape = [tile, shared, most = from.persistent ? from.blocks : 0](
                    const Problem& problem, const VariantDeviceProperties& properties) {
        const auto tiles = ceil_div(problem.x, tile.size());
        const auto resident =
            std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors)) * most;
        return LaunchShape{.grid = {most == 0 ? tiles : std::min(tiles, resident)},
                           .block = {tile.threads},
                           .dynamic_shared_bytes = shared};
    };
    if (from.most != 0) {
        row.refuses = [most = tile.most != 0 ? tile.most : from.most](
                          const Problem& problem) -> std::optional<std::string> {
            if (problem.x <= most) return std::nullopt;
            return fmt::format("{} keys exceed its {}", problem.x, most);
        };
    }
    return row;
}

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
        const auto n = static_cast<unsigned long long>(problem().x);
        const void* const in = from_->data();
        void* const state = state_->data();
        if (auto counted = launch_count(variant, stream); !counted) return counted;
        for (unsigned pass = 0; pass < sizeof(Key); ++pass) {
            const bool odd = pass % 2 != 0;
            const void* keys = pass == 0 ? in : odd ? between_->data() : to_->data();
            void* sorted = odd ? to_->data() : between_->data();
            const void* values = nullptr;
            void* sorted_values = nullptr;
            if (has_values_) {
                values = pass == 0 ? from_values_->data()
                         : odd     ? values_between_->data()
                                   : to_values_->data();
                sorted_values = odd ? to_values_->data() : values_between_->data();
            }
            if (auto launched = launch_with(variant, stream, problem(), keys, sorted, values,
                                            sorted_values, state, n, pass);
                !launched)
                return launched;
        }
        return {};
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

    Status launch_count(const LoadedVariant& variant, StreamRef stream) const {
        const void* keys = from_->data();
        void* state = state_->data();
        auto n = static_cast<unsigned long long>(problem().x);
        const auto shape =
            count_shape(variant.row.source == "sort_sm90.cu", n * sizeof(Key),
                        static_cast<std::uint32_t>(variant.device_properties.multiprocessors));
        void* arguments[] = {&keys, &state, &n};
        return variant.helpers.front().launch(stream, shape, arguments);
    }

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
        auto least = table[0].pairs.size();
        for (const auto& row : table) {
            for (const auto& tile : {row.keys32, row.keys64, row.pairs})
                least = std::min(least, tile.size());
        }
        const auto words = 1 + (sizeof(Key) + ceil_div(problem().x, least)) * digits;
        if (!state_ || state_->size() < words) {
            auto state = device_.alloc<unsigned long long>(words);
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
    std::optional<DeviceBuffer<unsigned long long>> state_;
    std::string row_;  ///< Whose words the state has.
};

FamilyEntry make_entry(std::string name, const Types& types, decltype(FamilyEntry::make) make) {
    KernelFamily family{std::move(name), {}, lode_embedded::sort()};
    for (const auto& row : table)
        family.rows.push_back(make_variant(row, types));
    return {.family = std::move(family),
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
            .make = make};
}

}  // namespace

FamilyEntry entry() {
    return make_entry("sort", {"int", 4, false}, &Sort<std::int32_t>::make<false>);
}
FamilyEntry float_entry() {
    return make_entry("sort_float", {"float", 4, false}, &Sort<float>::make<false>);
}
FamilyEntry int64_entry() {
    return make_entry("sort_int64", {"long long", 8, false}, &Sort<std::int64_t>::make<false>);
}
FamilyEntry pairs_entry() {
    return make_entry("sort_pairs", {"int", 4, true}, &Sort<std::int32_t>::make<true>);
}

}  // namespace lode::kernels::sort
