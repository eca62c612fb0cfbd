/// \file
/// Softmax over the rows of a matrix.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstddef>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// Softmax over each row of a matrix of floats: the exponentials, divided by their sum. A value
/// that shares its kernels with its copies. Thread-safe.
class Softmax {
public:
    /// Compiles and loads the kernel for 1,024 rows of 1,024 columns, with the compiler's options.
    /// Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<Softmax> load(const VariantLoader& loader,
                                              const CompileOptions& options = {});

    /// Enqueues `to` = the softmax of each row of `from`, and doesn't wait.
    /// Both are rows of `columns` elements without gaps, start at a multiple of 16 bytes and don't
    /// overlap. Needs no workspace; may be captured after a run of this size. Errors:
    /// invalid_argument for other sizes, and for memory or a stream of another device; those of
    /// load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                             std::size_t rows, std::size_t columns) const;

private:
    explicit Softmax(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
