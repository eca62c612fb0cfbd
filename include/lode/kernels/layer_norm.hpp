/// \file
/// The layer normalization of the rows of a matrix.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstddef>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// Normalizes each row of a matrix of floats to mean 0 and variance 1, then scales and shifts its
/// columns. A value that shares its kernels with its copies. Thread-safe.
class LayerNorm {
public:
    /// Compiles and loads the kernel for 1,024 rows of 1,024 columns, with the compiler's options.
    /// Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<LayerNorm> load(const VariantLoader& loader,
                                                const CompileOptions& options = {});

    /// Enqueues `to` = (`from` - mean) / sqrt(variance + epsilon) · scale + shift for each row, and
    /// doesn't wait. Scales and shifts have an element for each column.
    /// Matrices are rows of `columns` elements without gaps, and don't overlap; all four start at a
    /// multiple of 16 bytes. Needs no workspace; may be captured after a run of this size. Errors:
    /// invalid_argument for other sizes, and for memory or a stream of another device; those of
    /// load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                             DeviceSpan<const float> scales, DeviceSpan<const float> shifts,
                             std::size_t rows, std::size_t columns, float epsilon = 1e-5F) const;

private:
    explicit LayerNorm(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
