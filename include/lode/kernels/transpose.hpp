/// \file
/// The transpose of a matrix.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstddef>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// Transposes a matrix of floats. A value that shares its kernels with its copies. Thread-safe.
class Transpose {
public:
    /// Compiles and loads the kernel for 1,024 rows of 1,024 columns, with the compiler's options.
    /// Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<Transpose> load(const VariantLoader& loader,
                                                const CompileOptions& options = {});

    /// Enqueues `to` = `from` with rows and columns exchanged, and doesn't wait. `from` is `rows`
    /// rows of `columns` elements, at most 4,194,240. Both have no gaps between rows, start at a
    /// multiple of 16 bytes and don't overlap. Needs no workspace; may be captured after a run of
    /// this size. Errors: invalid_argument for other sizes, and for memory or a stream of another
    /// device; those of load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const float> from, DeviceSpan<float> to,
                             std::size_t rows, std::size_t columns) const;

private:
    explicit Transpose(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
