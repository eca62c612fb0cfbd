#include "softmax/softmax.hpp"

#include "lode_kernels/matrix.hpp"
#include "lode_kernels/row_shapes.hpp"

#include <lode/kernels/softmax.hpp>

#include <lode_embedded/softmax.hpp>

namespace LODE_NAMESPACE::kernels {
namespace softmax {
namespace {

// A multiprocessor of 9.0 has this much shared memory; a block takes a KiB more than it asks for.
constexpr std::uint32_t shared_bytes_of_90 = 228 * 1024;
constexpr std::uint32_t shared_bytes_besides = 1024 + 256;  // With its static variables.
constexpr std::uint32_t shared_granularity = 128;

/// Blocks of rows of up to 2,048 columns ask for shared memory that they don't use, so that a
/// multiprocessor of 9.0 holds 48 KiB of rows at a time: with more under way, memory is slower.
LaunchShape narrow_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    constexpr std::uint64_t least_columns = 1024;
    constexpr std::uint64_t most_columns = 2048;
    constexpr std::uint64_t columns_under_way = 12288;
    auto shape = registers_shape<8>(problem, properties);
    if (properties.cc != ComputeCapability{9, 0} || problem.y <= least_columns ||
        problem.y > most_columns)
        return shape;
    const auto blocks = static_cast<std::uint32_t>(columns_under_way / problem.y);
    shape.dynamic_shared_bytes = (shared_bytes_of_90 / blocks - shared_bytes_besides) /
                                 shared_granularity * shared_granularity;
    return shape;
}

// As in softmax_sm90.cu.
constexpr std::uint32_t split_bytes_per_thread = 64;
constexpr std::uint32_t split_static_bytes = 512;
constexpr std::uint32_t split_shared_bytes = 1024 * split_bytes_per_thread + split_static_bytes;

LaunchShape split_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    auto shape = cluster_shape(problem, properties);
    shape.dynamic_shared_bytes = shape.block.x * split_bytes_per_thread;
    return shape;
}

}  // namespace

KernelFamily family() {
    return {"softmax",
            {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "softmax/variants.def"
#undef LODE_VARIANT
            },
            lode_embedded::softmax()};
}

}  // namespace softmax

Result<Softmax> Softmax::load(const VariantLoader& loader, const CompileOptions& options) {
    return detail::Operation::load(loader, softmax::family(), options, detail::number_type<float>,
                                   &detail::no_workspace, {1024, 1024})
        .map([](detail::OperationPointer operation) { return Softmax(std::move(operation)); });
}

Status Softmax::run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                    std::size_t rows, std::size_t columns) const {
    const Problem problem{rows, columns};
    auto valid = detail::check_matrices("a softmax", from, to, rows, columns);
    if (!valid || from.empty()) return valid;
    return operation_->run(
        stream, problem, {from, to}, nullptr, [&](const LoadedVariant& variant, void*) {
            return detail::launch_on_matrix(variant, stream, problem, from.data(), to.data());
        });
}

}  // namespace LODE_NAMESPACE::kernels
