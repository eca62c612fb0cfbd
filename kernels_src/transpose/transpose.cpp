#include "transpose/transpose.hpp"

#include "lode_kernels/matrix.hpp"

#include <lode/kernels/transpose.hpp>

#include <lode_embedded/transpose.hpp>

namespace LODE_NAMESPACE::kernels {
namespace transpose {
namespace {

LaunchShape tile_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {ceil_div(problem.y, 32), ceil_div(problem.x, 32)}, .block = {32, 8}};
}

LaunchShape vec16_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {ceil_div(problem.x, 64), ceil_div(problem.y, 64)}, .block = {16, 32}};
}

LaunchShape any_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {ceil_div(problem.x, 64), ceil_div(problem.y, 64)}, .block = {512}};
}

std::optional<std::string> refuses_unless_fours(const Problem& problem) {
    if (problem.x % 4 == 0 && problem.y % 4 == 0) return std::nullopt;
    return text_of(problem.x, " x ", problem.y, " isn't a multiple of 4 in both extents");
}

}  // namespace

KernelFamily family() {
    return {"transpose",
            {
#define LODE_VARIANT(...) make_row(__VA_ARGS__),
#include "transpose/variants.def"
#undef LODE_VARIANT
            },
            lode_embedded::transpose()};
}

}  // namespace transpose

Result<Transpose> Transpose::load(const VariantLoader& loader, const CompileOptions& options) {
    return detail::Operation::load(loader, transpose::family(), options, detail::number_type<float>,
                                   &detail::no_workspace, {1024, 1024})
        .map([](detail::OperationPointer operation) { return Transpose(std::move(operation)); });
}

Status Transpose::run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                      std::size_t rows, std::size_t columns) const {
    const Problem problem{rows, columns};
    auto valid = detail::check_matrices("a transpose", from, to, rows, columns);
    if (!valid || from.empty()) return valid;
    return operation_->run(
        stream, problem, {from, to}, nullptr, [&](const LoadedVariant& variant, void*) {
            return detail::launch_on_matrix(variant, stream, problem, from.data(), to.data());
        });
}

}  // namespace LODE_NAMESPACE::kernels
