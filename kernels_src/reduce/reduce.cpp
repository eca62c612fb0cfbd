#include "reduce/reduce.hpp"

#include "lode_kernels/combine.hpp"

#include <lode/kernels/reduce.hpp>

#include <algorithm>

#include <lode_embedded/reduce.hpp>

namespace LODE_NAMESPACE::kernels {
namespace reduce {
namespace {

constexpr std::uint32_t threads = 512;     // As in reduce.cuh.
constexpr std::uint32_t cluster_size = 8;  // As in reduce_sm90.cu.
constexpr std::uint32_t blocks_per_multiprocessor = 3;
constexpr std::uint32_t bytes_per_thread = 64;  // Four vectors.
constexpr std::size_t ticket_bytes = 16;

std::uint32_t most_blocks(const VariantDeviceProperties& properties) {
    return multiprocessors_of(properties) * blocks_per_multiprocessor;
}

template <std::uint32_t bytes>
std::uint32_t wanted_blocks(const Problem& problem) {
    return ceil_div(problem.x, std::uint64_t{threads} * (bytes_per_thread / bytes));
}

template <std::uint32_t bytes>
LaunchShape block_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    return {.grid = {std::clamp(wanted_blocks<bytes>(problem), 1U, most_blocks(properties))},
            .block = {threads}};
}

template <std::uint32_t bytes>
LaunchShape cluster_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    // A cluster finishes as a whole, so many short blocks keep the multiprocessors busier. There
    // are as many partial sums as clusters, never more than most_blocks.
    const auto clusters = std::clamp(ceil_div(wanted_blocks<bytes>(problem), cluster_size), 1U,
                                     most_blocks(properties) / 2);
    return {.grid = {clusters * cluster_size}, .block = {threads}, .cluster = {cluster_size}};
}

template <std::uint32_t bytes>
std::vector<VariantRow> rows() {
    return {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "reduce/variants.def"
#undef LODE_VARIANT
    };
}

}  // namespace

KernelFamily family(const detail::NumberType& type, bool adds) {
    KernelFamily family{"reduce", type.bytes == 8 ? rows<8>() : rows<4>(), lode_embedded::reduce()};
    set_element(family, type, adds);
    if (!family.rows.front().definitions.empty()) {
        std::erase_if(family.rows, [](const VariantRow& row) {
            return row.name == "redux" || row.name == "cluster";
        });
    }
    return family;
}

detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem&,
                           const detail::NumberType& type) {
    return {
        .bytes = ticket_bytes + std::size_t{most_blocks(variant.device_properties)} * type.bytes,
        .cleared = ticket_bytes};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* workspace) {
    return launch_with(variant, stream, problem, from, to, workspace,
                       static_cast<unsigned long long>(problem.x));
}

}  // namespace reduce

namespace detail {

Result<OperationPointer> load_reduce(const VariantLoader& loader, const NumberType& type,
                                     const CombineOptions& options) {
    return load_combining(loader, &reduce::family, &reduce::need, type, options);
}

Status run_reduce(const Operation& operation, StreamRef stream, Elements from, Elements to,
                  Workspace* workspace) {
    const Problem problem{from.count};
    if (auto one = check_count("The result of a reduction", to.count, 1); !one) return one;
    return operation.run(
        stream, problem, {from, to}, workspace, [&](const LoadedVariant& variant, void* work) {
            return reduce::launch(variant, stream, problem, from.data(), to.data(), work);
        });
}

}  // namespace detail
}  // namespace LODE_NAMESPACE::kernels
