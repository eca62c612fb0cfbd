#include "sort/sort.hpp"

#include <lode/kernels/sort.hpp>

#include <algorithm>

#include <lode_embedded/sort.hpp>

namespace LODE_NAMESPACE::kernels {
namespace sort {
namespace {

constexpr std::uint32_t digits = 256;  // As in sort.cuh.
constexpr std::uint64_t bytes_per_count_thread = 64;
constexpr std::uint32_t count_shared_bytes = 128 * 1024;  // As in sort_sm90.cu.

/// A block's part of the work.
struct Tile {
    std::uint32_t threads = 0;
    std::uint32_t items = 0;
    std::uint32_t blocks = 0;     ///< That share a multiprocessor.
    std::uint64_t most = 0;       ///< Keys, if not those of the row.
    bool reuses_arrived = false;  ///< Tiling::reuses_arrived of sort.cuh; for pairs of 32 bits.

    [[nodiscard]] std::uint32_t size() const { return threads * items; }
    /// sizeof(Tiling::Shared) of sort.cuh or sizeof(BulkShared) of sort_sm90.cuh, or a little more.
    [[nodiscard]] std::uint32_t shared_bytes(std::uint32_t pair_bytes, bool persistent) const {
        constexpr std::uint32_t fixed = digits * 8 + 8 * 4 + 8 * 8 + 96;
        const auto of_pair = pair_bytes * (persistent ? 2 : 1) - (reuses_arrived ? 4 : 0);
        return size() * of_pair + threads / 32 * digits * 2 + fixed;
    }
};

/// What the blocks of a row do.
enum class Blocks : std::uint8_t {
    one_tile,    ///< Each block sorts one tile.
    persistent,  ///< Each sorts many.
    late         ///< Each sorts many, and takes the next one late: Tiling::takes_late of sort.cuh.
};

/// One row of variants.def.
struct Row {
    std::string_view name;
    std::string_view source;
    std::string_view arch;
    std::uint64_t most;  ///< Keys; 0 for any number.
    Blocks blocks;
    Tile keys32;
    Tile keys64;
    Tile pairs;

    [[nodiscard]] bool persistent() const { return blocks != Blocks::one_tile; }
};

constexpr Row table[] = {
#define LODE_VARIANT(...) {__VA_ARGS__},
#include "sort/variants.def"
#undef LODE_VARIANT
};

/// The launch of sort_count: that of sort.cu, or of sort_sm90.cu.
LaunchShape count_shape(bool persistent, std::uint64_t bytes, std::uint32_t multiprocessors) {
    const std::uint32_t threads = persistent ? 1024 : 512;
    const std::uint32_t most = multiprocessors * (persistent ? 1 : 4);
    const auto wanted = ceil_div(bytes, threads * bytes_per_count_thread);
    return {.grid = {std::clamp(wanted, 1U, most)},
            .block = {threads},
            .dynamic_shared_bytes = persistent ? count_shared_bytes : 0};
}

const Tile& tile_of(const Row& row, const detail::NumberType& key, bool has_values) {
    return has_values ? row.pairs : key.bytes == 8 ? row.keys64 : row.keys32;
}

VariantRow make_variant(const Row& from, const detail::NumberType& key, bool has_values,
                        bool descending) {
    const Tile tile = tile_of(from, key, has_values);
    const auto shared = tile.shared_bytes(key.bytes + (has_values ? 4 : 0), from.persistent());
    constexpr std::uint32_t no_need = 48 * 1024;  // Every device has as much.
    const auto most_shared = from.persistent() ? std::max(shared, count_shared_bytes) : shared;
    const Needs needs{.shared_bytes = most_shared > no_need ? most_shared : 0};
    auto row = make_row(from.name, std::string(from.source) + ":sort_pass", from.arch, needs,
                        nullptr, nullptr);
    row.helpers = {"sort_count"};
    const std::string name(key.name);
    row.definitions = {{"SORT_KEY", descending ? "Descending<" + name + ">" : name},
                       {"SORT_VALUES", has_values ? "1" : "0"},
                       {"SORT_WORD", from.most != 0 ? "unsigned" : "unsigned long long"},
                       {"SORT_THREADS", std::to_string(tile.threads)},
                       {"SORT_ITEMS", std::to_string(tile.items)},
                       {"SORT_BLOCKS", std::to_string(tile.blocks)},
                       {"SORT_REUSES_ARRIVED", tile.reuses_arrived ? "true" : "false"},
                       {"SORT_TAKES_LATE", from.blocks == Blocks::late ? "true" : "false"},
                       {"SORT_SHARED_BYTES", std::to_string(shared)}};
    row.shape = [tile, shared, most = from.persistent() ? tile.blocks : 0](
                    const Problem& problem, const VariantDeviceProperties& properties) {
        const auto tiles = ceil_div(problem.x, tile.size());
        const auto resident = multiprocessors_of(properties) * most;
        return LaunchShape{.grid = {most == 0 ? tiles : std::min(tiles, resident)},
                           .block = {tile.threads},
                           .dynamic_shared_bytes = shared};
    };
    if (from.most != 0) {
        row.refuses = [most = tile.most != 0 ? tile.most : from.most](
                          const Problem& problem) -> std::optional<std::string> {
            if (problem.x <= most) return std::nullopt;
            return text_of(problem.x, " keys exceed its ", most);
        };
    }
    return row;
}

Status launch_count(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
                    std::uint32_t key_bytes, const void* keys, void* state) {
    auto n = static_cast<unsigned long long>(problem.x);
    const auto shape = count_shape(variant.row.source == "sort_sm90.cu", n * key_bytes,
                                   multiprocessors_of(variant.device_properties));
    void* arguments[] = {&keys, &state, &n};
    return variant.helpers.front().launch(stream, shape, arguments);
}

/// The next multiple of 16: where an array may start.
constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + 15) / 16 * 16;
}

/// Keys and values between passes, after the state.
template <bool has_values>
detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType& key) {
    const auto state = state_bytes(variant, problem, key, has_values);
    const auto keys = aligned(problem.x * key.bytes);
    return {.bytes = aligned(state) + keys + (has_values ? problem.x * 4 : 0),
            .cleared = state,
            .layout = state};
}

}  // namespace

KernelFamily family(const detail::NumberType& key, bool has_values, bool descending) {
    std::string name = has_values ? "sort_pairs" : "sort";
    if (!key.is_integer)
        name += "_" + std::string(key.name);
    else if (key.bytes == 8)
        name += "_int64";
    KernelFamily family{std::move(name), {}, lode_embedded::sort()};
    for (const auto& row : table)
        family.rows.push_back(make_variant(row, key, has_values, descending));
    return family;
}

std::size_t state_bytes(const LoadedVariant& variant, const Problem& problem,
                        const detail::NumberType& key, bool has_values) {
    const auto* const row = std::ranges::find(table, variant.row.name, &Row::name);
    const auto tiles = ceil_div(problem.x, tile_of(*row, key, has_values).size());
    return (1 + (std::size_t{key.bytes} + tiles) * digits) * 8;
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const detail::NumberType& key, const Arguments& arguments) {
    const auto& [from, between, to, from_values, values_between, to_values, state] = arguments;
    if (auto counted = launch_count(variant, stream, problem, key.bytes, from, state); !counted)
        return counted;
    const auto n = static_cast<unsigned long long>(problem.x);
    for (unsigned pass = 0; pass < key.bytes; ++pass) {
        const bool is_odd = pass % 2 != 0;
        const void* const keys = pass == 0 ? from : is_odd ? between : to;
        const void* const values = pass == 0 ? from_values : is_odd ? values_between : to_values;
        if (auto launched =
                launch_with(variant, stream, problem, keys, is_odd ? to : between, values,
                            is_odd ? to_values : values_between, state, n, pass);
            !launched)
            return launched;
    }
    return {};
}

}  // namespace sort

namespace detail {

Result<OperationPointer> load_sort(const VariantLoader& loader, const NumberType& type,
                                   bool has_values, const SortOptions& options) {
    return Operation::load(loader, sort::family(type, has_values, options.descending),
                           options.compile, type,
                           has_values ? &sort::need<true> : &sort::need<false>);
}

Status run_sort(const Operation& operation, StreamRef stream, Elements from, Elements to,
                Elements from_values, Elements to_values, Workspace* workspace) {
    const auto& key = operation.type();
    const Problem problem{from.count};
    const bool has_values = from_values.count != 0;
    const auto check = [](std::string_view what, const Elements& in, const Elements& out) {
        if (in.memory.address == out.memory.address) return Status();
        return check_apart(what, in, out);
    };
    auto valid = check_count("The output of a sort", to.count, from.count);
    if (valid) valid = check("The output of a sort", from, to);
    if (valid && has_values) {
        valid = check_count("The input of values of a sort", from_values.count, from.count);
        if (valid)
            valid = check_count("The output of values of a sort", to_values.count, from.count);
        if (valid) valid = check("The output of values of a sort", from_values, to_values);
    }
    if (!valid || from.count == 0) return valid;
    return operation.run(
        stream, problem, {from, to, from_values, to_values}, workspace,
        [&](const LoadedVariant& variant, void* work) {
            auto* const state = static_cast<std::byte*>(work);
            auto* const between =
                state + sort::aligned(sort::state_bytes(variant, problem, key, has_values));
            auto* const values = between + sort::aligned(from.count * key.bytes);
            return sort::launch(variant, stream, problem, key,
                                {from.data(), between, to.data(), from_values.data(),
                                 has_values ? values : nullptr, to_values.data(), state});
        });
}

}  // namespace detail
}  // namespace LODE_NAMESPACE::kernels
