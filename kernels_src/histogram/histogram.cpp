#include "histogram/histogram.hpp"

#include <lode/kernels/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <lode_embedded/histogram.hpp>

namespace LODE_NAMESPACE::kernels {
namespace histogram {
namespace {

constexpr std::uint32_t threads = 512;
// As in histogram_packed.cu.
constexpr std::uint32_t packed_threads = 1024;
constexpr std::uint64_t packed_values_per_thread = 16;  // At a time.
constexpr std::uint64_t most_fields = 8;
constexpr std::uint64_t barrier_words = 4;
constexpr std::uint32_t packed_static_bytes = 16384 + 256;
constexpr std::uint64_t most_packed_bins = 262144;
constexpr std::uint32_t packed_shared_bytes =
    most_packed_bins / most_fields * 4 + packed_static_bytes;
constexpr std::uint32_t blocks_per_multiprocessor = 4;
constexpr std::uint32_t values_per_thread = 16;
constexpr std::uint64_t bins_of_a_block = 48 * 1024 / 4;  // The maximum without opt-in.

LaunchShape global_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = multiprocessors_of(properties) * blocks_per_multiprocessor;
    const auto wanted = ceil_div(problem.x, std::uint64_t{threads} * values_per_thread);
    return {.grid = {std::clamp(wanted, 1U, most)}, .block = {threads}};
}

LaunchShape shared_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    LaunchShape shape = global_shape(problem, properties);
    shape.dynamic_shared_bytes = static_cast<std::uint32_t>(problem.y * 4);
    return shape;
}

std::uint32_t packed_blocks(const Problem& problem, const VariantDeviceProperties& properties) {
    return std::clamp(ceil_div(problem.x, packed_threads * packed_values_per_thread), 1U,
                      multiprocessors_of(properties));
}

/// Whether equally frequent bins all but never overflow fields of this number: the mean is far
/// below the range, in units of its root.
bool is_roomy(std::uint32_t fields, double mean) {
    const int bits = static_cast<int>(32 / fields);
    const double range = std::ldexp(1.0, bits);
    return mean + 8 * std::sqrt(mean) + 8 < range && mean <= range / (bits >= 8 ? 2 : 4);
}

/// The words of a block: as many fields to a word as the values allow, because every word of every
/// block is written and read once more, but at least as many as the shared memory demands. Fields
/// of whole bytes or half ones are added up faster than others.
std::uint32_t packed_words(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = (properties.shared_bytes_per_block - packed_static_bytes) / 4;
    const double mean = static_cast<double>(problem.x) / packed_blocks(problem, properties) /
                        static_cast<double>(problem.y);
    auto fields = static_cast<std::uint32_t>(most_fields);
    while (fields > 1 && !is_roomy(fields, mean))
        fields /= 2;
    const auto least = ceil_div(problem.y, most / 4 * 4);
    if (fields < least) {
        fields = static_cast<std::uint32_t>(most_fields);
        while (fields > least && !is_roomy(fields, mean))
            --fields;
    }
    return ceil_div(ceil_div(problem.y, fields), 4) * 4;
}

LaunchShape packed_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    return {.grid = {packed_blocks(problem, properties)},
            .block = {packed_threads},
            .dynamic_shared_bytes = packed_words(problem, properties) * 4,
            .cooperative = true};
}

std::optional<std::string> refuses_above(const Problem& problem, std::uint64_t most,
                                         std::string_view holder) {
    if (problem.y <= most) return std::nullopt;
    return text_of(problem.y, " bins exceed the ", most, " that ", holder, " holds");
}

std::optional<std::string> refuses_more_than_a_block(const Problem& problem) {
    return refuses_above(problem, bins_of_a_block, "a block");
}

std::optional<std::string> refuses_more_than_packed(const Problem& problem) {
    return refuses_above(problem, most_packed_bins, "a block with eight counters to a word");
}

}  // namespace

KernelFamily family() {
    return {"histogram",
            {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "histogram/variants.def"
#undef LODE_VARIANT
            },
            lode_embedded::histogram()};
}

detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType&) {
    if (!variant.row.needs.cooperative_launch) return {};
    const auto& properties = variant.device_properties;
    const std::size_t zero = barrier_words + std::size_t{ceil_div(problem.y, 4)} * 4;
    const std::size_t blocks =
        std::size_t{packed_blocks(problem, properties)} * packed_words(problem, properties);
    return {.bytes = (zero + blocks) * 4, .cleared = zero * 4, .layout = problem.y};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* values, DeviceSpan<std::uint32_t> counts, void* workspace) {
    // The cooperative row stores its counts, the others add to them.
    if (!variant.row.needs.cooperative_launch) {
        if (auto zeroed = counts.zero_async(stream); !zeroed) return zeroed;
    }
    return launch_with(variant, stream, problem, values, counts.data(), workspace,
                       static_cast<unsigned long long>(problem.x),
                       static_cast<unsigned>(problem.y));
}

}  // namespace histogram

Result<Histogram> Histogram::load(const VariantLoader& loader, const CompileOptions& options) {
    return detail::Operation::load(loader, histogram::family(), options,
                                   detail::number_type<std::uint32_t>, &histogram::need,
                                   {1U << 20, 256})
        .map([](detail::OperationPointer operation) { return Histogram(std::move(operation)); });
}

Result<std::size_t> Histogram::workspace_bytes(std::size_t count, std::size_t bins) const {
    return detail::workspace_bytes(*operation_, {count, bins});
}

Status Histogram::run(StreamRef stream, DeviceSpan<const std::uint32_t> values,
                      DeviceSpan<std::uint32_t> counts, Workspace* workspace) const {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    if (counts.empty() || counts.size() > most) {
        return fail(Errc::invalid_argument,
                    text_of("A histogram has 1 to ", most, " bins, not ", counts.size(), "."));
    }
    if (values.empty()) return counts.zero_async(stream);
    if (auto aligned = detail::check_aligned("The output of a histogram", counts); !aligned)
        return aligned;
    const Problem problem{values.size(), counts.size()};
    return operation_->run(stream, problem, {values, counts}, workspace,
                           [&](const LoadedVariant& variant, void* work) {
                               return histogram::launch(variant, stream, problem, values.data(),
                                                        counts, work);
                           });
}

}  // namespace LODE_NAMESPACE::kernels
