#include "select/select.hpp"

#include <lode/kernels/select.hpp>

#include <algorithm>
#include <limits>

#include <lode_embedded/select.hpp>

namespace LODE_NAMESPACE::kernels {
namespace select {
namespace {

constexpr std::uint32_t first_word = 2;  // As in select.cuh.

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

VariantRow make_variant(const Row& from, const detail::NumberType& type, bool partitions) {
    constexpr std::uint32_t barriers = 2048;  // More than the static shared memory of the kernels.
    const Tile& tile = partitions ? from.partition : from.selection;
    const std::uint32_t elements = tile.size(type.bytes);
    const std::uint32_t shared = from.stages * elements * type.bytes;
    const Needs needs{.shared_bytes = shared == 0 ? 0 : shared + barriers};
    auto row = make_row(from.name, from.source, from.arch, needs, nullptr, nullptr);
    row.definitions = {{"SELECT_ELEMENT", std::string(type.name)},
                       {"SELECT_PARTITION", partitions ? "1" : "0"},
                       {"SELECT_THREADS", std::to_string(tile.threads)},
                       {"SELECT_ITEMS", std::to_string(tile.bytes_per_thread / type.bytes)}};
    row.shape = [tile, elements, shared](const Problem& problem,
                                         const VariantDeviceProperties& properties) {
        const auto tiles = ceil_div(problem.x, elements);
        const auto most = multiprocessors_of(properties) * tile.blocks;
        return LaunchShape{.grid = {tile.blocks == 0 ? tiles : std::min(tiles, most)},
                           .block = {tile.threads},
                           .dynamic_shared_bytes = shared};
    };
    if (from.most != 0) {
        row.refuses = [most = from.most /
                              type.bytes](const Problem& problem) -> std::optional<std::string> {
            if (problem.x <= most) return std::nullopt;
            return text_of(problem.x, " elements exceed its ", most);
        };
    }
    return row;
}

/// Elements of the smallest tile.
std::uint32_t least_tile(std::uint32_t element_bytes) {
    auto least = table[0].selection.size(element_bytes);
    for (const auto& row : table) {
        for (const auto& tile : {row.selection, row.partition})
            least = std::min(least, tile.size(element_bytes));
    }
    return least;
}

}  // namespace

KernelFamily family(const detail::NumberType& type, bool partitions) {
    std::string name = partitions ? "partition" : "select";
    if (!type.is_integer)
        name += "_" + std::string(type.name);
    else if (type.bytes == 8)
        name += "_int64";
    KernelFamily family{std::move(name), {}, lode_embedded::select()};
    for (const auto& row : table)
        family.rows.push_back(make_variant(row, type, partitions));
    return family;
}

detail::WorkspaceNeed need(const LoadedVariant&, const Problem& problem,
                           const detail::NumberType& type) {
    const std::size_t bytes = (first_word + ceil_div(problem.x, least_tile(type.bytes))) * 8;
    return {.bytes = bytes, .cleared = bytes, .most_runs = 1U << 15};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* selected, void* workspace) {
    return launch_with(variant, stream, problem, from, to, selected, workspace,
                       static_cast<unsigned long long>(problem.x));
}

}  // namespace select

namespace detail {

Result<OperationPointer> load_select(const VariantLoader& loader, const NumberType& type,
                                     bool partitions, const SelectOptions& options) {
    if (options.predicate.empty())
        return fail(Errc::invalid_argument, "The predicate of a selection is empty.");
    auto compile = options.compile;
    if (options.predicate != SelectOptions().predicate)
        compile.definitions.push_back({"SELECT_PREDICATE", options.predicate});
    return Operation::load(loader, select::family(type, partitions), std::move(compile), type,
                           &select::need);
}

Status run_select(const Operation& operation, StreamRef stream, Elements from, Elements to,
                  Elements selected, Workspace* workspace) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    const Problem problem{from.count};
    auto valid = check_count("The output of a selection", to.count, from.count);
    if (valid) valid = check_count("The number of a selection", selected.count, 1);
    if (valid) valid = check_apart("The output of a selection", from, to);
    if (!valid) return valid;
    if (from.count > most) {
        return fail(Errc::invalid_argument,
                    text_of("The input of a selection has ", from.count, " elements, but at most ",
                            most, " can be counted."));
    }
    if (from.count == 0) return DeviceSpan<std::uint32_t>(selected.memory, 1).zero_async(stream);
    return operation.run(stream, problem, {from, to, selected}, workspace,
                         [&](const LoadedVariant& variant, void* work) {
                             return select::launch(variant, stream, problem, from.data(), to.data(),
                                                   selected.data(), work);
                         });
}

}  // namespace detail
}  // namespace LODE_NAMESPACE::kernels
