#include "scan/scan.hpp"

#include "lode_kernels/combine.hpp"

#include <lode/kernels/scan.hpp>

#include <algorithm>

#include <lode_embedded/scan.hpp>

namespace LODE_NAMESPACE::kernels {
namespace scan {
namespace {

constexpr std::uint32_t bulk_threads = 512;       // As in scan_sm90.cu.
constexpr std::uint32_t bulk_tile_bytes = 65536;  // As in scan_sm90.cu.
constexpr std::uint32_t bulk_shared_bytes = 3 * bulk_tile_bytes;
constexpr std::uint32_t least_tile_bytes = 8192;  // Bytes of the smallest tile.
constexpr std::uint64_t first_word = 2;           // As in scan.cuh.

std::uint32_t tiles_of(const Problem& problem, std::uint32_t tile_bytes, std::uint32_t bytes) {
    return ceil_div(problem.x, tile_bytes / bytes);
}

template <std::uint32_t bytes, std::uint32_t threads, std::uint32_t tile_bytes>
LaunchShape tile_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {tiles_of(problem, tile_bytes, bytes)}, .block = {threads}};
}

template <std::uint32_t bytes>
LaunchShape bulk_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    return {.grid = {std::min(tiles_of(problem, bulk_tile_bytes, bytes),
                              multiprocessors_of(properties))},
            .block = {bulk_threads},
            .dynamic_shared_bytes = bulk_shared_bytes};
}

/// For rows that want all tiles to run at the same time. Wide elements take so many shuffles that
/// persistent blocks are faster from 4 MiB on.
template <std::uint32_t bytes, std::uint64_t mebibytes, std::uint64_t mebibytes_if_wide>
std::optional<std::string> refuses_above(const Problem& problem) {
    constexpr std::uint64_t limit = bytes == 8 ? mebibytes_if_wide : mebibytes;
    constexpr std::uint64_t most = (limit << 20) / bytes;
    if (problem.x <= most) return std::nullopt;
    return text_of(problem.x, " elements exceed the ", most, " that it was made for");
}

template <std::uint32_t bytes>
std::vector<VariantRow> rows() {
    return {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "scan/variants.def"
#undef LODE_VARIANT
    };
}

}  // namespace

KernelFamily family(const detail::NumberType& type, bool adds) {
    KernelFamily family{"scan", type.bytes == 8 ? rows<8>() : rows<4>(), lode_embedded::scan()};
    set_element(family, type, adds);
    return family;
}

detail::WorkspaceNeed need(const LoadedVariant&, const Problem& problem,
                           const detail::NumberType& type) {
    const auto words = first_word + std::uint64_t{tiles_of(problem, least_tile_bytes, type.bytes)} *
                                        (type.bytes / 4);
    return {.bytes = words * 8, .cleared = words * 8, .most_runs = 1U << 29};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* workspace) {
    return launch_with(variant, stream, problem, from, to, workspace,
                       static_cast<unsigned long long>(problem.x));
}

}  // namespace scan

namespace detail {

Result<OperationPointer> load_scan(const VariantLoader& loader, const NumberType& type,
                                   const CombineOptions& options) {
    return load_combining(loader, &scan::family, &scan::need, type, options);
}

Status run_scan(const Operation& operation, StreamRef stream, Elements from, Elements to,
                Workspace* workspace) {
    const Problem problem{from.count};
    auto valid = check_count("The output of a scan", to.count, from.count);
    if (valid) valid = check_apart("The output of a scan", from, to);
    if (!valid || from.count == 0) return valid;
    return operation.run(
        stream, problem, {from, to}, workspace, [&](const LoadedVariant& variant, void* work) {
            return scan::launch(variant, stream, problem, from.data(), to.data(), work);
        });
}

}  // namespace detail
}  // namespace LODE_NAMESPACE::kernels
