#include "layer_norm/layer_norm.hpp"

#include "lode_kernels/matrix.hpp"
#include "lode_kernels/row_shapes.hpp"

#include <lode/kernels/layer_norm.hpp>

#include <lode_embedded/layer_norm.hpp>

namespace LODE_NAMESPACE::kernels {
namespace layer_norm {

KernelFamily family() {
    return {"layer_norm",
            {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "layer_norm/variants.def"
#undef LODE_VARIANT
            },
            lode_embedded::layer_norm()};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, const void* scales, const void* shifts, float epsilon) {
    return launch_with(variant, stream, problem, from, to, scales, shifts, epsilon,
                       static_cast<unsigned>(problem.x), static_cast<unsigned>(problem.y));
}

}  // namespace layer_norm

Result<LayerNorm> LayerNorm::load(const VariantLoader& loader, const CompileOptions& options) {
    return detail::Operation::load(loader, layer_norm::family(), options,
                                   detail::number_type<float>, &detail::no_workspace, {1024, 1024})
        .map([](detail::OperationPointer operation) { return LayerNorm(std::move(operation)); });
}

Status LayerNorm::run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                      DeviceSpan<const float> scales, DeviceSpan<const float> shifts,
                      std::size_t rows, std::size_t columns, float epsilon) const {
    const Problem problem{rows, columns};
    auto valid = detail::check_matrices("a layer normalization", from, to, rows, columns);
    if (valid) valid = detail::check_count("The scales of a row", scales.size(), columns);
    if (valid) valid = detail::check_count("The shifts of a row", shifts.size(), columns);
    if (valid) valid = detail::check_aligned("The scales of a row", scales);
    if (valid) valid = detail::check_aligned("The shifts of a row", shifts);
    if (!valid || from.empty()) return valid;
    return operation_->run(stream, problem, {from, to, scales, shifts}, nullptr,
                           [&](const LoadedVariant& variant, void*) {
                               return layer_norm::launch(variant, stream, problem, from.data(),
                                                         to.data(), scales.data(), shifts.data(),
                                                         epsilon);
                           });
}

}  // namespace LODE_NAMESPACE::kernels
